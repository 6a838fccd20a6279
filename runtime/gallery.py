"""The known faces or voices as vectors, and the rule that decides: known, unsure or new.

Matching follows DESIGN section 6: several exemplars per identity, never their mean alone; a match must pass the model's
threshold and beat the second-best person by a margin. Which exemplars are kept is left to runtime/exemplars.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memory_store.records import Exemplar

Verdict = Literal["known", "unsure", "new"]


@dataclass(frozen=True)
class MatchRule:
    """A model's thresholds, cosine similarities: at least `match` is known, below `unsure` is new."""

    match: float
    unsure: float
    margin: float


@dataclass(frozen=True)
class Match:
    """The best identity for a query. `node_id` is None when nobody is known; `runner_up`: the next person's score."""

    verdict: Verdict
    node_id: int | None
    similarity: float
    runner_up: float


@dataclass(frozen=True, eq=False)
class Example:
    """One exemplar in memory; `exemplar_id` is None until it is stored."""

    exemplar_id: int | None
    vector: NDArray[np.float32]
    quality: float


@dataclass(eq=False)
class _Identity:
    person_id: int | None
    examples: list[Example] = field(default_factory=list)
    negatives: list[NDArray[np.float32]] = field(default_factory=list)


class Gallery:
    """Exemplars of one space, grouped by node (one face or voice id) and person.

    negatives: pairs of a node and a vector that a resident said is not theirs; middle: the share that the cosine to the
    middle of somebody's exemplars has in their score, beside that to the nearest one.
    """

    def __init__(
        self,
        exemplars: Iterable[Exemplar],
        negatives: Iterable[tuple[int, NDArray[np.float32]]] = (),
        middle: float = 0.0,
    ) -> None:
        self._middle = middle
        self._identities: dict[int, _Identity] = {}
        for exemplar in exemplars:
            example = Example(exemplar.id, exemplar.vector, exemplar.quality)
            self._identity(exemplar.node_id, exemplar.person_id).examples.append(example)
        for node_id, vector in negatives:
            if node_id in self._identities:
                self._identities[node_id].negatives.append(vector)

    def _identity(self, node_id: int, person_id: int | None) -> _Identity:
        return self._identities.setdefault(node_id, _Identity(person_id))

    def hold(self, node_id: int, person_id: int | None, examples: Iterable[Example]) -> None:
        """Let exactly these examples stand for the node from now on."""
        self._identity(node_id, person_id).examples = list(examples)

    def examples(self, node_id: int) -> list[Example]:
        """The node's exemplars, oldest first; empty for an unknown node."""
        identity = self._identities.get(node_id)
        return list(identity.examples) if identity else []

    def nodes_of(self, person_id: int) -> list[int]:
        """The ids in this gallery that belong to a person."""
        return [node for node, identity in self._identities.items() if identity.person_id == person_id]

    def same_person(self, node_ids: Iterable[int]) -> set[int]:
        """These ids and all others of the same people."""
        found = set(node_ids)
        people = {self._identities[node].person_id for node in found if node in self._identities} - {None}
        return found | {node for node, one in self._identities.items() if one.person_id in people}

    def scores(self, queries: NDArray[np.float32], barred: Collection[int] = ()) -> dict[int, float]:
        """For each node not barred: the mean over `queries` (n, d) of the likeness to its exemplars.

        A node of which a negative lies at least as near as its own exemplars is left out.
        """
        found = {}
        for node, identity in self._identities.items():
            if node in barred or not identity.examples:
                continue
            own = np.stack([example.vector for example in identity.examples])
            nearest = float((queries @ own.T).max(axis=1).mean())
            if identity.negatives:
                against = float((queries @ np.stack(identity.negatives).T).max(axis=1).mean())
                if against >= nearest:
                    continue
            found[node] = nearest + self._middle * (to_the_middle(queries, own) - nearest)
        return found

    def decide(self, scores: dict[int, float], rule: MatchRule) -> Match:
        """Apply the rule to scores from `scores`, raised or lowered by what else is known."""
        if not scores:
            return Match("new", None, 0.0, 0.0)
        best = min(scores, key=lambda node: (-scores[node], node))
        similarity = scores[best]
        runner_up = self.best_other(scores, best)
        if similarity >= rule.match and similarity - runner_up >= rule.margin:
            return Match("known", best, similarity, runner_up)
        verdict: Verdict = "new" if similarity < rule.unsure else "unsure"
        return Match(verdict, best, similarity, runner_up)

    def best_other(self, scores: dict[int, float], node_id: int) -> float:
        """The best score of anybody but the node's person; 0 where there is nobody."""
        person = self._identities[node_id].person_id
        others = (
            score
            for node, score in scores.items()
            if node != node_id and (person is None or self._identities[node].person_id != person)
        )
        return max(others, default=0.0)


def to_the_middle(queries: NDArray[np.float32], own: NDArray[np.float32]) -> float:
    """The mean cosine of the queries (n, d) to the direction of the mean of unit vectors (m, d)."""
    middle = own.mean(axis=0)
    length = float(np.linalg.norm(middle))
    return float((queries @ middle).mean()) / length if length > 0 else 0.0


def usable(vector: NDArray[np.float32]) -> bool:
    """Whether a vector can be compared at all: finite, and of length 1 within rounding."""
    return bool(np.isfinite(vector).all()) and abs(float(np.linalg.norm(vector)) - 1.0) < 1e-3
