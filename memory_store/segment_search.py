"""Searching several segments as one: what each finds, merged; many are asked by several threads at once."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memory_store.index_file import Ids
from memory_store.records import Vector
from memory_store.segment import Segment

_SEVERAL = 3  # segments or more are asked by several threads
_THREADS = min(4, os.cpu_count() or 1)
_MORE = 16

Found = tuple[Ids, Vector, float]  # ids, cosines, the lowest cosine that was looked at


class SegmentSearch:
    """Asks segments; to be closed for the threads' sake."""

    def __init__(self, space_name: str) -> None:
        self._name = f"index-{space_name}-query"
        self._threads: ThreadPoolExecutor | None = None

    def nearest(
        self, segments: Sequence[Segment], query: Vector, wanted: int
    ) -> tuple[Ids, Vector, float] | None:
        """Ids and cosines of the `wanted` nearest, best first, and the lowest cosine that was looked at.

        None where hnswlib cannot reach as many.
        """
        held = sum(len(segment.ids) for segment in segments)
        # Each is asked for a little more than its share, and once more where that was too little.
        shares = [min(wanted, 3 * wanted * len(segment.ids) // (2 * held) + _MORE) for segment in segments]
        parts = self._asked(segments, query, shares)
        floor = _floor(parts, wanted)
        again = [
            i for i, part in enumerate(parts) if part is not None and part[2] > floor and shares[i] < wanted
        ]
        for i, part in zip(
            again, self._asked([segments[i] for i in again], query, [wanted] * len(again)), strict=True
        ):
            parts[i] = part
        found = [part for part in parts if part is not None]
        if len(found) < len(segments):
            return None
        ids, cosines = (
            np.concatenate([part[0] for part in found]),
            np.concatenate([part[1] for part in found]),
        )
        lowest = max(part[2] for part in found)
        order = np.lexsort((ids, -cosines))
        if len(order) > wanted:
            lowest = max(lowest, float(cosines[order[wanted]]))
            order = order[:wanted]
        return ids[order], cosines[order], lowest

    def close(self) -> None:
        """End the threads."""
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None

    def _asked(self, segments: Sequence[Segment], query: Vector, wanted: Sequence[int]) -> list[Found | None]:
        if len(segments) < _SEVERAL or _THREADS < 2:
            return [segment.nearest(query, count) for segment, count in zip(segments, wanted, strict=True)]
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix=self._name)
        # hnswlib lets go of the interpreter while it searches.
        return list(self._threads.map(lambda segment, count: segment.nearest(query, count), segments, wanted))


def _floor(parts: Sequence[Found | None], wanted: int) -> float:
    """The cosine of the last one wanted; below every cosine where fewer were found."""
    cosines = np.concatenate([part[1] for part in parts if part is not None] or [np.empty(0, np.float32)])
    return float(np.partition(cosines, -wanted)[-wanted]) if len(cosines) >= wanted else -np.inf


def compared(segments: Sequence[Segment], ids: Ids, query: Vector) -> tuple[Ids, Vector]:
    """Positions of those ids that are in a segment, and their exact cosines."""
    found, cosines = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    for segment in segments:
        at, vectors = segment.vectors_of(ids)
        found.append(at)
        cosines.append(vectors @ query)
    return np.concatenate(found), np.concatenate(cosines)
