"""The reference's published identity rule, for comparison only: mean cosine, best wins, everything is learned.

M3-Agent (arXiv 2508.09736) takes a face or voice for the known one with the highest mean cosine similarity to what
is stored of it, above 0.3 for faces and 0.6 for voices; else it is somebody new. Whatever matched is stored too, and
of more than the cap a random sample is kept.
"""

from __future__ import annotations

import random
from collections.abc import Hashable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

FACE_THRESHOLD = 0.3
VOICE_THRESHOLD = 0.6
FACE_CAP = 10
VOICE_CAP = 20

Id = TypeVar("Id", bound=Hashable)


class ReferenceGallery(Generic[Id]):
    """What is stored of each id, and the rule. `seed` fixes which vectors a full id keeps."""

    def __init__(self, threshold: float, *, cap: int, seed: int = 0) -> None:
        self._threshold = threshold
        self._cap = cap
        self._draw = random.Random(seed)
        self._held: dict[Id, NDArray[np.float32]] = {}

    @property
    def ids(self) -> list[Id]:
        """All ids, oldest first."""
        return list(self._held)

    def best(self, queries: NDArray[np.float32]) -> Id | None:
        """The id with the highest mean cosine to unit vectors (n, d); None where none passes the threshold."""
        scores = {who: float((queries @ held.T).mean()) for who, held in self._held.items()}
        if not scores:
            return None
        who = max(scores, key=lambda one: scores[one])
        return who if scores[who] >= self._threshold else None

    def enroll(self, who: Id, queries: NDArray[np.float32]) -> None:
        """Store the vectors (n, d) with the id; more than the cap are thinned out at random."""
        held = self._held.get(who)
        together = queries if held is None else np.vstack([held, queries])
        if len(together) > self._cap:
            together = together[sorted(self._draw.sample(range(len(together)), self._cap))]
        self._held[who] = together


class ReferenceIdentities:
    """Numbered ids given and taught as the reference does, one face track or utterance after another."""

    def __init__(self, threshold: float, *, cap: int, seed: int = 0) -> None:
        self._gallery: ReferenceGallery[int] = ReferenceGallery(threshold, cap=cap, seed=seed)

    @property
    def count(self) -> int:
        """How many ids there are."""
        return len(self._gallery.ids)

    def meet(self, queries: NDArray[np.float32]) -> int:
        """The id of what is met, unit vectors (n, d): known or new, and stored in any case."""
        who = self._gallery.best(queries)
        number = self.count if who is None else who
        self._gallery.enroll(number, queries)
        return number
