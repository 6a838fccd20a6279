"""Searching several segments as one: what each finds, merged; many are asked by several threads at once."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memory_store.index_file import Ids
from memory_store.records import Vector
from memory_store.segment import Segment

_SEVERAL = 8  # segments or more are asked by several threads
_THREADS = min(4, os.cpu_count() or 1)


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
        found = [part for part in self._asked(segments, query, wanted) if part is not None]
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

    def _asked(
        self, segments: Sequence[Segment], query: Vector, wanted: int
    ) -> list[tuple[Ids, Vector, float] | None]:
        if len(segments) < _SEVERAL or _THREADS < 2:
            return [segment.nearest(query, wanted) for segment in segments]
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix=self._name)
        # hnswlib lets go of the interpreter while it searches.
        return list(self._threads.map(lambda segment: segment.nearest(query, wanted), segments))


def compared(segments: Sequence[Segment], ids: Ids, query: Vector) -> tuple[Ids, Vector]:
    """Positions of those ids that are in a segment, and their exact cosines."""
    found, cosines = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    for segment in segments:
        at, vectors = segment.vectors_of(ids)
        found.append(at)
        cosines.append(vectors @ query)
    return np.concatenate(found), np.concatenate(cosines)
