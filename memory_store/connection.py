"""What a connection to a memory file needs before its first query: settings, and the schema brought up to date."""

import sqlite3
import time
from pathlib import Path

import sqlite_utils

from memory_store.errors import DatabaseBusy, DatabaseUnusable, NewerSchema
from memory_store.migrations import APPLICATION_ID, migrations
from memory_store.words import indexed_words


def require_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Raise DatabaseUnusable for a SQLite file of another program."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    if tables and application_id != APPLICATION_ID:
        raise DatabaseUnusable(f"{path} is a SQLite file of another program: name another directory")


def configure(connection: sqlite3.Connection, path: Path, busy_timeout_s: float) -> None:
    """Set what each connection needs; raises DatabaseBusy where the file stays locked."""
    require_ours(connection, path)
    deadline = time.monotonic() + busy_timeout_s
    while not _uses_log(connection):  # for this step SQLite itself does not wait
        if time.monotonic() > deadline:
            raise DatabaseBusy(f"{path} stayed locked by another process: try again, or stop that process")
        time.sleep(0.02)
    connection.execute("PRAGMA synchronous = FULL")  # a clip that was acknowledged survives a power cut
    connection.execute(f"PRAGMA journal_size_limit = {64 << 20}")  # what a long reader made grow goes again
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten with zeros
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.create_function("indexed_words", 1, indexed_words, deterministic=True)


def _uses_log(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith("SQLITE_BUSY"):
            return False
        raise
    return True


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Apply the pending migrations as one transaction, so that two processes may open at once."""
    db = sqlite_utils.Database(connection, execute_plugins=False)
    if is_current(db, path):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        migrations.apply(db)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:  # it did not come to the commit
            connection.execute("ROLLBACK")


def is_current(db: sqlite_utils.Database, path: Path) -> bool:
    """Whether the schema is current; raises NewerSchema for a migration this code does not know."""
    known = {migration.name for migration in migrations._migrations}
    applied = {migration.name for migration in migrations.applied(db)}
    unknown = sorted(applied - known)
    if unknown:
        raise NewerSchema(
            f"{path} has migration {unknown[-1]} of a newer Hearsight: update this program, or name another directory"
        )
    return applied == known
