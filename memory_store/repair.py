"""Repairs a memory: mends what can be read, saves what a damaged file still gives, and names what is lost."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memory_store import switch
from memory_store.database import Database
from memory_store.directory_lock import DirectoryLock
from memory_store.errors import DatabaseUnusable, InvalidValue, ReadOnlyStorage, StorageFull
from memory_store.index_file import IndexFile
from memory_store.mend import Mending
from memory_store.records import ForgetReceipt, VectorSpace
from memory_store.salvage import Salvaged, salvage
from memory_store.verify import Fault, verify

DeleteFiles = Callable[[Path, ForgetReceipt], object]


@dataclass(frozen=True)
class Repaired:
    """What a repair did, one sentence a step. lost: ids of rows that are gone for good, by table.

    unread: tables of which more may be gone than is known. set_aside: where the damaged file lies, if there was one.
    left: the faults that stay.
    """

    done: tuple[str, ...]
    lost: Mapping[str, tuple[int, ...]]
    unread: tuple[str, ...]
    set_aside: Path | None
    left: tuple[Fault, ...]


def repair(
    directory: Path, spaces: Sequence[VectorSpace], delete_files: DeleteFiles, now_utc_s: float
) -> Repaired:
    """Put right what can be put right; a memory without faults is left as it is, but for its indexes.

    Vector index files that disagree are deleted: the memory builds them when it is opened next. The caller sees to
    it that no daemon runs. Raises MemoryStoreError.
    """
    if not (directory / "memory.db").is_file() and not switch.is_unfinished(directory):
        raise InvalidValue(f"no memory in {directory}: nothing to repair")
    try:
        switch.carry_on(directory, 1.0)
        with DirectoryLock(directory, alone=True, timeout_s=1.0):
            return _repaired(directory, spaces, delete_files, now_utc_s)
    except OSError as error:
        if error.errno in (28, 122):  # no space, or none of the quota
            raise StorageFull(
                f"no space left in {directory} to repair the memory: free some space"
            ) from error
        raise ReadOnlyStorage(
            f"cannot repair: {error.filename or directory}: {error.strerror}; check its owner and mode"
        ) from error


def _repaired(
    directory: Path, spaces: Sequence[VectorSpace], delete_files: DeleteFiles, now_utc_s: float
) -> Repaired:
    done: list[str] = []
    saved, aside = Salvaged(), None
    if _is_damaged(directory):
        saved, aside = _saved(directory, done, now_utc_s)
    with closing(Database.open(directory / "memory.db")) as database:
        faults = verify(database, directory, spaces)
        if any(fault.repair and fault.what != "vector index" for fault in faults):
            mending = Mending(database, directory, now_utc_s)
            with database.transaction():
                mending.everything()
            done += mending.done
            for receipt in mending.forgotten:
                delete_files(directory, receipt)
            if mending.forgotten:
                database.scrub()
        if done or any(fault.what == "vector index" for fault in faults):
            for file in (IndexFile(directory / "index", space) for space in spaces):
                file.clean(file.names())
            done.append("the index of vectors is built anew")
        left = tuple(verify(database, directory, spaces))
    lost = {table: tuple(ids) for table, ids in saved.lost.items() if ids}
    return Repaired(tuple(done), lost, tuple(saved.unread), aside, left)


def _is_damaged(directory: Path) -> bool:
    """Whether the file cannot be mended in place."""
    try:
        with closing(Database.open(directory / "memory.db")) as database:
            return any(
                "fts" not in row[0] for row in database.rows("PRAGMA integrity_check(5)") if row[0] != "ok"
            )
    except DatabaseUnusable:
        return True


def _saved(directory: Path, done: list[str], now_utc_s: float) -> tuple[Salvaged, Path]:
    """A new file with what could be read in the damaged one's place, which is kept."""
    size = sum(path.stat().st_size for path in directory.glob("memory.db*"))
    if shutil.disk_usage(directory).free < 3 * size:
        raise StorageFull(
            f"no space left in {directory}: saving what can be read needs {(3 * size) >> 20} MiB"
        )
    prepared = switch.clear(directory)
    target = prepared / "memory.db"
    try:
        saved = salvage(directory / "memory.db", target)
        if not any(saved.copied.values()) and not any(saved.from_pages.values()):
            raise DatabaseUnusable(
                f"{directory / 'memory.db'} holds nothing that can be read: restore a backup with `hearsight restore`"
            )
        with closing(Database.open(target)) as database:
            mending = Mending(database, directory, now_utc_s)
            with database.transaction():
                mending.everything()
        with open(target, "rb") as file:
            os.fsync(file.fileno())
    except BaseException:
        shutil.rmtree(prepared, ignore_errors=True)
        raise
    done += [f"{sum(saved.copied.values())} rows were copied into a new file", *mending.done]
    if saved.from_pages:
        done.append(f"{sum(saved.from_pages.values())} rows that were cut off were read from their pages")
    aside = switch.switch(
        directory, f"damaged-{datetime.fromtimestamp(now_utc_s, UTC):%Y%m%dT%H%M%S}", kept=("media",)
    )
    return saved, aside
