"""Building the parts of a vector index beside everything else: what to build next, and the thread that does it."""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory_store.index_file import Ids, IndexFile
from memory_store.records import Vector
from memory_store.segment import Segment, build_graph

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """Vectors to build one segment of, and the segments that it replaces."""

    ids: Ids  # ascending
    vectors: Vector | None  # None: those of the replaced segments
    replaces: tuple[Segment, ...]
    restored: int  # how often vectors had been put back when this was asked for

    def all_vectors(self) -> Vector:
        """The vectors of `ids`, (n, dimension)."""
        if self.vectors is not None:
            return self.vectors
        vectors = np.empty((len(self.ids), self.replaces[0].stored.vectors.shape[1]), np.float32)
        for segment in self.replaces:
            at, found = segment.vectors_of(self.ids)
            vectors[at] = found
        return vectors


def to_merge(segments: Sequence[Segment], size: int) -> list[Segment]:
    """Segments to build anew as one of at most `size` vectors, or none.

    Small ones are merged when there are four, or enough for a whole one, so that each vector is built into a
    graph twice; one that has lost a quarter of its vectors is built anew.
    """
    small = [segment for segment in segments if 2 * segment.alive <= size]
    if len(small) >= 4 or sum(segment.alive for segment in small) >= size:
        chosen, total = list[Segment](), 0
        for segment in small:
            if total + segment.alive > size:
                break
            chosen.append(segment)
            total += segment.alive
        if len(chosen) > 1:
            return chosen
    return [segment for segment in segments if 4 * segment.alive < 3 * len(segment.ids)][:1]


class Building:
    """A segment being built and saved by a thread of its own."""

    def __init__(self, job: Job, file: IndexFile) -> None:
        self.job = job
        self.segment: Segment | None = None
        self._file = file
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"index-{file.space.name}", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether the thread has ended."""
        return not self._thread.is_alive()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until it is built, at most that long."""
        self._thread.join(timeout_s)

    def stop(self) -> None:
        """End the thread soon, and wait for that; what was built already stays."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        started_s = time.monotonic()
        stored = build_graph(self._file.space, self.job.ids, self.job.all_vectors(), self._stop)
        if stored is None:
            return
        saved = save(Segment(stored), self._file)
        for segment in self.job.replaces:
            remove(segment, self._file, but=saved.stored.name)
        self.segment = saved
        logger.debug("%d vectors indexed in %.1f s", len(self.job.ids), time.monotonic() - started_s)


def save(segment: Segment, file: IndexFile) -> Segment:
    """The segment as stored in its file; a cache that cannot be written is logged and done without."""
    try:
        return Segment(file.save(segment.stored))
    except OSError as error:
        logger.warning("a part of the vector index of %s was not saved: %s", file.space.name, error)
        return segment


def remove(segment: Segment, file: IndexFile, *, but: str | None = None) -> None:
    """Delete the segment's file, if it has one of another name than `but`."""
    name = segment.stored.name
    if name is None or name == but:
        return
    try:
        file.remove(name)
    except OSError as error:
        logger.warning("an old part of the vector index was not deleted: %s", error)
