"""A backup of a memory in one file: a consistent copy, also while the daemon writes."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memory_store.backup_file import DATABASE, FORMAT, BackupEntry, BackupManifest, BackupWriter, writing
from memory_store.database import Database
from memory_store.errors import DatabaseUnusable, InvalidValue, ReadOnlyStorage, StorageFull
from memory_store.sqlite_errors import translate
from memory_store.tables import plain_tables
from memory_store.tombstones import memory_uuid


@dataclass(frozen=True)
class Backup:
    """A backup that was made, and what it holds."""

    path: Path
    manifest: BackupManifest


def back_up(database: Database, target: Path, now_utc_s: float) -> Backup:
    """Write a backup to a new file, or to a file named after the time in a directory that is there.

    The database is copied within one read transaction, so that others write on; needs room for the copy and the
    archive. Vector indexes are left out: a restore builds them anew. Raises MemoryStoreError.
    """
    made = datetime.fromtimestamp(now_utc_s, UTC)
    if target.is_dir():
        target = target / f"hearsight-{made:%Y%m%dT%H%M%SZ}.zip"
    if target.exists():
        raise InvalidValue(f"{target} exists already: name another file, or a directory")
    copy = target.with_name(f".{target.name}.db.part")
    try:
        copy.unlink(missing_ok=True)
        with writing(target) as writer:
            database.copy_to(copy)
            manifest = _written(writer, database, copy, made)
    except OSError as error:
        if error.errno in (28, 122):  # no space, or none of the quota
            raise StorageFull(
                f"no space left to write {target}: no backup was made; free some space"
            ) from error
        raise ReadOnlyStorage(f"cannot write {target}: {error.strerror}; name another file") from error
    finally:
        if copy.parent.is_dir():
            copy.unlink(missing_ok=True)
    return Backup(target, manifest)


def _written(writer: BackupWriter, database: Database, copy: Path, made: datetime) -> BackupManifest:
    connection = sqlite3.connect(copy, isolation_level=None)
    try:
        fault = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if fault != "ok":
            raise DatabaseUnusable(
                f"{database.path} is damaged ({fault}): no backup was made; run `hearsight memory repair`"
            )
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in plain_tables(connection)
        }
        migrations = tuple(
            row[0] for row in connection.execute("SELECT name FROM _sqlite_migrations ORDER BY name")
        )
        named = dict(_named_media(connection))
    except sqlite3.Error as error:
        raise translate(error, database.path) from error
    finally:
        connection.close()
    writer.add(DATABASE, copy)
    stored = {entry.path: entry.sha256 for entry in _media(writer, database.path.parent)}
    manifest = BackupManifest(
        format=FORMAT,
        memory=memory_uuid(database),
        made_utc=made.isoformat(timespec="seconds"),
        migrations=migrations,
        counts=counts,
        missing=tuple(sorted(path for path, sha256 in named.items() if stored.get(path) != sha256)),
        files=tuple(writer.entries),
    )
    writer.finish(manifest)
    return manifest


def _named_media(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """The media files that nodes name, and their sha256."""
    yield from connection.execute(
        """SELECT json_extract(provenance, '$.file.path'), json_extract(provenance, '$.file.sha256') FROM nodes
        WHERE json_extract(provenance, '$.file.path') IS NOT NULL"""
    )


def _media(writer: BackupWriter, directory: Path) -> Iterator[BackupEntry]:
    """Add all media files; one that goes meanwhile is left out."""
    for file in sorted((directory / "media").rglob("*")):
        if file.suffix == ".part" or not file.is_file():
            continue
        try:
            yield writer.add(file.relative_to(directory).as_posix(), file)
        except FileNotFoundError:
            continue
