"""Repairs a memory: mends what can be read, saves what a damaged file still gives, and names what is lost."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from memory_store import switch
from memory_store.database import Database
from memory_store.directory_lock import DirectoryLock
from memory_store.errors import DatabaseUnusable, InvalidValue, ReadOnlyStorage, StorageFull
from memory_store.index_file import IndexFile
from memory_store.mend import Mending
from memory_store.records import ForgetReceipt, VectorSpace
from memory_store.salvage import salvage
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


@dataclass
class _Report:
    """What was done so far."""

    done: list[str] = field(default_factory=list)
    lost: dict[str, set[int]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    forgotten: list[ForgetReceipt] = field(default_factory=list)
    aside: Path | None = None

    def add(self, mending: Mending) -> None:
        self.done += mending.done
        self.forgotten += mending.forgotten
        for table, ids in mending.lost.items():
            self.lost.setdefault(table, set()).update(ids)


def _repaired(
    directory: Path, spaces: Sequence[VectorSpace], delete_files: DeleteFiles, now_utc_s: float
) -> Repaired:
    report = _Report()
    try:
        useless = _mend_in_place(directory, spaces, now_utc_s, report)
    except DatabaseUnusable:
        report, useless = _Report(), True
        _save(directory, now_utc_s, report)
    for receipt in report.forgotten:
        delete_files(directory, receipt)
    if useless:
        for file in (IndexFile(directory / "index", space) for space in spaces):
            file.clean(file.names())
        report.done.append("the index of vectors is built anew")
    with closing(Database.open(directory / "memory.db")) as database:
        if report.forgotten:
            database.scrub()
        left = tuple(verify(database, directory, spaces))
    lost = {table: tuple(sorted(ids)) for table, ids in report.lost.items() if ids}
    return Repaired(tuple(report.done), lost, tuple(report.unread), report.aside, left)


def _mend_in_place(directory: Path, spaces: Sequence[VectorSpace], now_utc_s: float, report: _Report) -> bool:
    """Mend a file that can be read whole; whether its vector index is useless. Raises DatabaseUnusable for another."""
    with closing(Database.open(directory / "memory.db")) as database:
        faults = verify(database, directory, spaces)
        for fault in faults:
            if fault.what == "database":
                raise DatabaseUnusable(fault.detail)
        if any(fault.repair and fault.what != "vector index" for fault in faults):
            mending = Mending(database, directory, now_utc_s)
            with database.transaction():
                mending.everything()
            report.add(mending)
    return bool(report.done) or any(fault.what == "vector index" for fault in faults)


def _save(directory: Path, now_utc_s: float, report: _Report) -> None:
    """Put a new file with what could be read in the damaged one's place, and keep that."""
    size = sum(path.stat().st_size for path in directory.glob("memory.db*"))
    if shutil.disk_usage(directory).free < 3 * size:
        raise StorageFull(
            f"no space left in {directory}: saving what can be read needs {(3 * size) >> 20} MiB"
        )
    with switch.preparing(directory) as prepared:
        target = prepared / "memory.db"
        saved = salvage(directory / "memory.db", target)
        copied, from_pages = sum(saved.copied.values()), sum(saved.from_pages.values())
        if not copied and not from_pages:
            raise DatabaseUnusable(
                f"{directory / 'memory.db'} holds nothing that can be read: restore a backup with `hearsight restore`"
            )
        with closing(Database.open(target)) as database:
            mending = Mending(database, directory, now_utc_s)
            with database.transaction():
                mending.everything()
            if mending.forgotten:
                database.scrub()
        with open(target, "rb") as file:
            os.fsync(file.fileno())
    report.done.append(f"{copied} rows were copied into a new file")
    if from_pages:
        report.done.append(f"{from_pages} rows that were cut off were read from their pages")
    report.add(mending)
    for table, ids in saved.lost.items():
        report.lost.setdefault(table, set()).update(ids)
    report.unread += saved.unread
    moment = datetime.fromtimestamp(now_utc_s, UTC)
    report.aside = switch.switch(directory, f"damaged-{moment:%Y%m%dT%H%M%S}", kept=("media",))
