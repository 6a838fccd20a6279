"""An index of how long what was seen and heard lasted."""

from sqlite_utils import Database as SqliteUtilsDatabase

from memory_store.migrations.registry import migrations

# The longest span says how far before a time what lasts into it can have begun (memory_store/filters.py).
_SCHEMA = ("CREATE INDEX node_clips_length ON node_clips (end_utc_s - start_utc_s)",)


@migrations(name="m013_span_lengths")
def m013_span_lengths(db: SqliteUtilsDatabase) -> None:
    """An index of the lengths of spans."""
    for statement in _SCHEMA:
        db.execute(statement)
