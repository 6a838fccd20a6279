"""What was in the memory when each clip began."""

from sqlite_utils import Database as SqliteUtilsDatabase

from memory_store.migrations.registry import migrations

_SEQUENCE = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{}'), 0)"
_MARKS = ", ".join(_SEQUENCE.format(table) for table in ("nodes", "edges", "persons", "person_history"))

# The newest id of each table as a clip was added: whatever has a newer one was written in that clip or later. Rows
# from before this migration have no mark below them, and count as always known.
_SCHEMA = (
    """CREATE TABLE clip_marks (
        clip_id INTEGER PRIMARY KEY REFERENCES clips (id) ON DELETE CASCADE,
        node_id INTEGER NOT NULL,
        edge_id INTEGER NOT NULL,
        person_id INTEGER NOT NULL,
        history_id INTEGER NOT NULL)""",
    f"""CREATE TRIGGER clips_marked AFTER INSERT ON clips BEGIN
        INSERT INTO clip_marks VALUES (new.id, {_MARKS});
    END""",
)


@migrations(name="m010_clip_marks")
def m010_clip_marks(db: SqliteUtilsDatabase) -> None:
    """What was in the memory when each clip began, so that it can be asked as it was then."""
    for statement in _SCHEMA:
        db.execute(statement)
