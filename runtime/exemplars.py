"""Which few views of a face, or samples of a voice, stand for it: good ones that differ, and never a stranger's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_store.store import MemoryStore
from runtime.gallery import Example, Gallery

BETTER = 1.5  # how many times better a view must be to take the place of one that shows the same


@dataclass(frozen=True)
class LearnRule:
    """When a profile may change.

    learn: the least similarity to its exemplars; margin: the least lead over anybody else's; redundant: views more
    alike than this show the same; at most `cap` are kept.
    """

    learn: float
    margin: float
    redundant: float
    cap: int


def improved(held: Sequence[Example], new: Example, rule: LearnRule) -> list[Example]:
    """The exemplars to keep of `held` and `new`, in this order; `held` itself where the new one adds nothing.

    A view that shows what a held one shows takes its place when it is much better. Of a full set the two most
    alike are found, and the worse of them goes; of two equally good ones the one nearer to the rest, then the
    younger. Nothing is drawn by chance: the same views in the same order leave the same exemplars.
    """
    if not held:
        return [new]
    alike = np.stack([example.vector for example in held]) @ new.vector
    same = [index for index in range(len(held)) if float(alike[index]) > rule.redundant]
    if same:
        nearest = max(same, key=lambda index: (float(alike[index]), -index))
        better = len(same) == 1 and new.quality >= BETTER * held[nearest].quality
        return [*held[:nearest], *held[nearest + 1 :], new] if better else list(held)
    pool = [*held, new]
    while len(pool) > rule.cap:
        del pool[_most_redundant(pool)]
    return pool


def _most_redundant(pool: Sequence[Example]) -> int:
    vectors = np.stack([example.vector for example in pool])
    alike = vectors @ vectors.T
    np.fill_diagonal(alike, -2.0)
    one, other = (int(index) for index in np.unravel_index(int(alike.argmax()), alike.shape))
    alike[one, other] = alike[other, one] = -2.0
    return max(one, other, key=lambda index: (-pool[index].quality, float(alike[index].max()), index))


class Profiles:
    """Changes the stored exemplars of one space, inside the caller's transaction, and a gallery with them."""

    def __init__(self, store: MemoryStore, space: str, rule: LearnRule) -> None:
        self._store = store
        self._space = space
        self._rule = rule

    def may_learn(self, node_id: int, vector: NDArray[np.float32], known: Gallery) -> bool:
        """Whether a vector is so surely the node's that it may change the profile."""
        scores = known.scores(vector[np.newaxis])
        if node_id not in scores or scores[node_id] < self._rule.learn:
            return False
        return scores[node_id] - known.best_other(scores, node_id) >= self._rule.margin

    def begin(self, views: Sequence[Example]) -> list[Example]:
        """What a new profile of these views holds."""
        held: list[Example] = []
        for view in views:
            held = improved(held, view, self._rule)
        return held

    def learn(self, node_id: int, person_id: int | None, view: Example, clip_id: int, known: Gallery) -> None:
        """Let a sure view change the node's exemplars where it adds something."""
        if self.may_learn(node_id, view.vector, known):
            kept = improved(known.examples(node_id), view, self._rule)
            self.store(node_id, person_id, kept, clip_id, known)

    def store(
        self, node_id: int, person_id: int | None, kept: Sequence[Example], clip_id: int, known: Gallery
    ) -> None:
        """Make these the stored exemplars of the node: new ones are added, missing ones deleted."""
        stay = {example.exemplar_id for example in kept}
        for example in known.examples(node_id):
            if example.exemplar_id is not None and example.exemplar_id not in stay:
                self._store.remove_exemplar(example.exemplar_id)
        held = []
        for example in kept:
            if example.exemplar_id is None:
                number = self._store.add_exemplar(
                    node_id, self._space, example.vector, quality=example.quality, clip_id=clip_id
                )
                example = Example(number, example.vector, example.quality)
            held.append(example)
        known.hold(node_id, person_id, held)


def gallery_of(store: MemoryStore, space: str, middle: float = 0.0) -> Gallery:
    """All known faces or voices, with what residents said they are not."""
    against = [(negative.node_id, negative.vector) for negative in store.negatives(space)]
    return Gallery(store.exemplars(space), against, middle)
