"""Bringing a backup back: checked whole before anything changes, and without what was forgotten since."""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memory_store import switch, tombstones
from memory_store.backup_file import DATABASE, BackupManifest, extract, read_manifest
from memory_store.database import Database
from memory_store.directory_lock import DirectoryLock
from memory_store.errors import (
    BackupUnusable,
    InvalidValue,
    MemoryStoreError,
    NewerSchema,
    ReadOnlyStorage,
    StorageFull,
)
from memory_store.facts import Facts
from memory_store.forget import Forgetting
from memory_store.graph import Graph
from memory_store.identity import Identity
from memory_store.migrations import migrations
from memory_store.records import ForgetReceipt
from memory_store.tombstones import Tombstone
from memory_store.vectors import Vectors

DeleteFiles = Callable[[Path, ForgetReceipt], object]


@dataclass(frozen=True)
class Restored:
    """What a restore did. set_aside: where the memory before lies, None where there was none.

    forgotten: the receipts of those who were forgotten after the backup was made, and now again. warning: why the
    memory before could not be asked whom it had forgotten, besides the file beside it; else empty.
    """

    manifest: BackupManifest
    set_aside: Path | None
    forgotten: tuple[ForgetReceipt, ...]
    warning: str


@dataclass(frozen=True)
class _Before:
    """What of the present memory matters to the one that takes its place."""

    memory: str
    stones: Mapping[str, Tombstone]
    sequences: Mapping[str, int]
    warning: str = ""


def restore(archive: Path, directory: Path, delete_files: DeleteFiles, now_utc_s: float) -> Restored:
    """Put the memory of a backup in the place of the one in the directory, which is kept beside it.

    delete_files: deletes the media files that a receipt names, under the directory given. Needs room for the
    memory twice. The caller sees to it that no daemon runs. Raises MemoryStoreError; nothing was changed then.
    """
    if not archive.is_file():
        raise InvalidValue(f"{archive} is no file: name a backup that `hearsight backup` made")
    try:
        manifest = read_manifest(archive)
        _require_known(archive, manifest)
        with DirectoryLock(directory, alone=True, timeout_s=1.0):
            return _restored(archive, manifest, directory, delete_files, now_utc_s)
    except OSError as error:
        if error.errno in (28, 122):  # no space, or none of the quota
            raise StorageFull(
                f"no space left in {directory} to restore {archive}: free some space"
            ) from error
        raise ReadOnlyStorage(
            f"cannot restore: {error.filename or directory}: {error.strerror}; check its owner and mode"
        ) from error


def _require_known(archive: Path, manifest: BackupManifest) -> None:
    unknown = sorted(set(manifest.migrations) - {migration.name for migration in migrations._migrations})
    if unknown:
        raise NewerSchema(f"{archive} has migration {unknown[-1]} of a newer Hearsight: update this program")


def _restored(
    archive: Path, manifest: BackupManifest, directory: Path, delete_files: DeleteFiles, now_utc_s: float
) -> Restored:
    if switch.is_unfinished(directory):
        switch.finish(directory)
    database_bytes = next(entry.bytes for entry in manifest.files if entry.path == DATABASE)
    if shutil.disk_usage(directory).free < manifest.bytes + 2 * database_bytes:
        raise StorageFull(
            f"no space left in {directory}: restoring needs {(manifest.bytes + 2 * database_bytes) >> 20} MiB"
        )
    before = _before(directory)
    had_one = (directory / DATABASE).exists()
    with switch.preparing(directory) as prepared:
        extract(archive, prepared)
        receipts = _prepare(prepared, manifest, before, now_utc_s)
        for receipt in receipts:
            delete_files(prepared, receipt)
    aside = switch.switch(directory, f"replaced-{datetime.fromtimestamp(now_utc_s, UTC):%Y%m%dT%H%M%S}")
    if not had_one and not any(aside.iterdir()):
        aside.rmdir()
    return Restored(manifest, aside if aside.exists() else None, tuple(receipts), before.warning)


def _before(directory: Path) -> _Before:
    """Whom the present memory has forgotten, and the ids it has given; what cannot be read is done without."""
    stones = tombstones.beside(directory)
    if not (directory / DATABASE).exists():
        return _Before("", stones, {})
    try:
        with closing(Database.open_read_only(directory / DATABASE)) as database:
            sequences = {
                row["name"]: row["seq"] for row in database.rows("SELECT name, seq FROM sqlite_sequence")
            }
            stones |= tombstones.in_database(database)
            return _Before(tombstones.memory_uuid(database), stones, sequences)
    except MemoryStoreError as error:
        return _Before("", stones, {}, str(error))


def _prepare(
    prepared: Path, manifest: BackupManifest, before: _Before, now_utc_s: float
) -> list[ForgetReceipt]:
    """Bring the copy up to date, forget again, build its text index anew, and check it."""
    with closing(Database.open(prepared / DATABASE)) as database:
        for table, count in manifest.counts.items():
            row = database.row(f"SELECT count(*) FROM {table}") if table.isidentifier() else None
            if table != "_sqlite_migrations" and (row is None or row[0] != count):
                raise BackupUnusable(
                    f"the backup's {table} are not the {count} of its manifest: use another one"
                )
        with database.transaction():
            own = tombstones.memory_uuid(database)
            later = [
                stone
                for uuid, stone in before.stones.items()
                if stone.memory == own and uuid not in tombstones.in_database(database)
            ]
            forgetting = _forgetting(database, now_utc_s)
            receipts = [forgetting.again(stone) for stone in sorted(later, key=lambda s: s.forgotten_utc_s)]
            _never_reuse_ids(database, before.sequences if before.memory == own else {}, later)
            database.write("INSERT INTO nodes_fts (nodes_fts) VALUES ('rebuild')")
        if receipts:
            database.scrub()
        faults = database.check()
    if faults:
        raise BackupUnusable(f"the backup's database is damaged ({faults[0]}): use another one")
    with open(prepared / DATABASE, "rb") as file:
        os.fsync(file.fileno())
    return receipts


def _forgetting(database: Database, now_utc_s: float) -> Forgetting:
    def clock() -> float:
        return now_utc_s

    vectors = Vectors(database, {})
    graph = Graph(database, vectors, clock)
    return Forgetting(database, graph, Identity(database, clock), Facts(database, graph, vectors), clock)


def _never_reuse_ids(database: Database, sequences: Mapping[str, int], later: list[Tombstone]) -> None:
    """Let ids go on after the highest that was ever given, so that a tombstone never means somebody new."""
    given = dict(sequences)
    for stone in later:
        for table, ids in (
            ("persons", stone.persons),
            ("nodes", (*stone.nodes, *stone.rewritten)),
            ("traces", stone.traces),
            ("person_history", stone.history),
            ("name_evidence", stone.name_evidence),
            ("clips", (*stone.clips, *stone.sound_clips)),
        ):
            given[table] = max(given.get(table, 0), *ids, 0)
    for table, number in given.items():
        if database.row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)) is None:
            continue
        if (
            database.write(
                "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (number, table)
            ).rowcount
            == 0
        ):
            database.write("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, number))
