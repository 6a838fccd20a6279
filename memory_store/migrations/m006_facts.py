"""Facts read as subject, relation and object, and the clips of a node by time."""

from sqlite_utils import Database as SqliteUtilsDatabase

from memory_store.migrations.registry import migrations

_SCHEMA = (
    # A semantic node whose text was read as a triple. It is about the face or voice `subject_id`, or, where `subject`
    # holds a word ("brother"), about that somebody of theirs; without a face or voice about whoever is called so.
    """CREATE TABLE facts (
        node_id INTEGER PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
        subject_id INTEGER REFERENCES nodes (id) ON DELETE CASCADE,
        subject TEXT NOT NULL,
        relation TEXT NOT NULL,
        object TEXT NOT NULL,
        polarity INTEGER NOT NULL CHECK (polarity IN (-1, 1)),
        CHECK (subject_id IS NOT NULL OR subject <> ''))""",
    "CREATE INDEX facts_subject ON facts (subject_id, relation)",
    "CREATE INDEX facts_named ON facts (subject, relation)",
    # Which event of a person came before another, found without reading all of them.
    "CREATE INDEX node_clips_time ON node_clips (node_id, start_utc_s)",
)


@migrations(name="m006_facts")
def m006_facts(db: SqliteUtilsDatabase) -> None:
    """Facts as subject, relation and object."""
    for statement in _SCHEMA:
        db.execute(statement)
