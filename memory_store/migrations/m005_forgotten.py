"""What was forgotten, so that an older backup does not bring it back."""

from sqlite_utils import Database as SqliteUtilsDatabase

from memory_store.migrations.registry import migrations

_SCHEMA = (
    # Which memory this is, whatever file or machine it lies on: ids mean the same rows only within one.
    "CREATE TABLE memory_identity (uuid TEXT NOT NULL)",
    "INSERT INTO memory_identity VALUES (lower(hex(randomblob(16))))",
    # Tombstones: ids and hashes of rows, never a name or anything that somebody said.
    """CREATE TABLE forgotten (
        uuid TEXT PRIMARY KEY,
        memory TEXT NOT NULL,
        forgotten_utc_s REAL NOT NULL,
        detail TEXT NOT NULL) WITHOUT ROWID""",
)


@migrations(name="m005_forgotten")
def m005_forgotten(db: SqliteUtilsDatabase) -> None:
    """Tombstones of forgotten people, and an id of the memory itself."""
    for statement in _SCHEMA:
        db.execute(statement)
