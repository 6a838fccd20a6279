"""Taking over what the files of a vector index hold, as far as the database bears it out."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memory_store.database import Database
from memory_store.index_build import remove
from memory_store.index_file import Ids, IndexFile
from memory_store.nearest import stored_rows
from memory_store.segment import Segment
from memory_store.vectors import decoded

logger = logging.getLogger(__name__)

_SAMPLES = 16


def load(database: Database, file: IndexFile, last_id: int) -> list[Segment]:
    """The segments that agree with the database and do not overlap; all other files are deleted.

    `last_id` is the newest vector's: a segment with a newer one is of another memory, or a backup was restored.
    """
    found, useless = list[Segment](), list[str]()
    for name in file.names():
        stored = file.load(name)
        if isinstance(stored, str):
            logger.info("a part of the vector index is built anew: %s", stored)
            useless.append(name)
            continue
        segment = Segment(stored)
        if _holds_the_same(database, file, segment, last_id):
            found.append(segment)
        else:
            logger.warning("%s is of another memory: it is built anew", name)
            useless.append(name)
    chosen = list[Segment]()
    for segment in sorted(found, key=lambda segment: -len(segment.ids)):
        if any(segment.overlaps(other) for other in chosen):  # one that was built of it is there as well
            useless.append(str(segment.stored.name))
        else:
            chosen.append(segment)
    if not database.read_only:
        clean(file, useless)
    return sorted(chosen, key=lambda segment: int(segment.ids[0]))


def built_elsewhere(
    database: Database, file: IndexFile, held: Sequence[Segment], last_id: int
) -> list[Segment]:
    """The segments that another connection built since, of vectors that this one knows of; nothing is deleted."""
    known = {segment.stored.name for segment in held}
    loaded = [file.load(name) for name in file.names() if name not in known]
    segments = [Segment(stored) for stored in loaded if not isinstance(stored, str)]
    return [segment for segment in segments if _holds_the_same(database, file, segment, last_id)]


def _holds_the_same(database: Database, file: IndexFile, segment: Segment, last_id: int) -> bool:
    """Whether a sample, the newest included, is what the database holds under those ids."""
    ids = segment.ids
    if len(ids) == 0 or ids[-1] > last_id:
        return False
    sample = np.unique(np.append(ids[:: max(1, len(ids) // _SAMPLES)], ids[-1]))
    rows = stored_rows(database, file.space, sample, "id, vector")
    if not rows:
        return False
    at, vectors = segment.vectors_of(np.array([row["id"] for row in rows], np.int64))
    return len(at) == len(rows) and np.array_equal(vectors, decoded(rows, file.space.dimension))


def scrubbed(segment: Segment, stored: Ids, file: IndexFile) -> Segment:
    """The segment, and its file, without the vectors of ids that are no longer stored; `stored` ascends."""
    name = segment.stored.name
    if segment.alive == len(segment.ids) or name is None:
        return segment
    if segment.alive == 0:
        remove(segment, file)
        return segment
    rows, duplicates = segment.unneeded(stored)
    if len(rows) == 0 and len(duplicates) == len(segment.stored.duplicates):
        return segment
    try:
        file.scrub(name, rows, duplicates)
    except OSError as error:
        logger.warning("a part of the vector index was not scrubbed: %s", error)
        return segment
    rest = Segment(replace(segment.stored, duplicates=duplicates))
    rest.alive = segment.alive
    return rest


def clean(file: IndexFile, names: Sequence[str]) -> None:
    """Delete those graphs, and what else is of no graph."""
    try:
        file.clean(names)
    except OSError as error:
        logger.warning("old files of the vector index of %s were not deleted: %s", file.space.name, error)
