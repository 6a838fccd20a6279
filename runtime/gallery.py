"""The known faces or voices as vectors, and the rule that decides: known, unsure or new.

Matching follows DESIGN section 6: several exemplars per identity, never their mean; a match must pass the model's
threshold and beat the second-best person by a margin.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
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


@dataclass(eq=False)
class _Identity:
    person_id: int | None
    vectors: list[NDArray[np.float32]]


class Gallery:
    """Exemplars of one space, grouped by node (one face or voice id) and person."""

    def __init__(self, exemplars: Iterable[Exemplar]) -> None:
        self._identities: dict[int, _Identity] = {}
        for exemplar in exemplars:
            self.add(exemplar.node_id, exemplar.person_id, exemplar.vector)

    def add(self, node_id: int, person_id: int | None, vector: NDArray[np.float32]) -> None:
        """Let `vector` (d,) stand for the node from now on."""
        identity = self._identities.setdefault(node_id, _Identity(person_id, []))
        identity.vectors.append(vector)

    def vectors(self, node_id: int) -> list[NDArray[np.float32]]:
        """The node's exemplars, oldest first; empty for an unknown node."""
        identity = self._identities.get(node_id)
        return list(identity.vectors) if identity else []

    def nodes_of(self, person_id: int) -> list[int]:
        """The ids in this gallery that belong to a person."""
        return [node for node, identity in self._identities.items() if identity.person_id == person_id]

    def scores(self, queries: NDArray[np.float32], barred: Collection[int] = ()) -> dict[int, float]:
        """For each node not barred: the mean over `queries` (n, d) of the similarity to its nearest exemplar."""
        return {
            node: float((queries @ np.stack(identity.vectors).T).max(axis=1).mean())
            for node, identity in self._identities.items()
            if node not in barred
        }

    def decide(self, scores: dict[int, float], rule: MatchRule) -> Match:
        """Apply the rule to scores from `scores`, raised or lowered by what else is known."""
        if not scores:
            return Match("new", None, 0.0, 0.0)
        best = min(scores, key=lambda node: (-scores[node], node))
        person = self._identities[best].person_id
        others = [
            score
            for node, score in scores.items()
            if node != best and (person is None or self._identities[node].person_id != person)
        ]
        runner_up = max(others, default=0.0)
        similarity = scores[best]
        if similarity >= rule.match and similarity - runner_up >= rule.margin:
            return Match("known", best, similarity, runner_up)
        verdict: Verdict = "new" if similarity < rule.unsure else "unsure"
        return Match(verdict, best, similarity, runner_up)
