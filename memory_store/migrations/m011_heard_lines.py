"""An index of the lines that were heard, by their time."""

from sqlite_utils import Database as SqliteUtilsDatabase

from memory_store.migrations.registry import migrations

# What memory_store/ranking.py looks through around each hit; reading the provenance of every line there would take
# most of the time of a search.
_SCHEMA = (
    """CREATE INDEX nodes_heard ON nodes (start_utc_s, end_utc_s)
        WHERE kind = 'episodic' AND provenance ->> 'event' = 'heard'""",
)


@migrations(name="m011_heard_lines")
def m011_heard_lines(db: SqliteUtilsDatabase) -> None:
    """An index of the lines that were heard."""
    for statement in _SCHEMA:
        db.execute(statement)
