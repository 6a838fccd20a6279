"""What was heard of names."""

from sqlite_utils import Database as SqliteUtilsDatabase

from memory_store.migrations.registry import migrations

_SCHEMA = (
    # About a face or voice, else about a person, else about whoever speaks the line `node_id` now.
    """CREATE TABLE name_evidence (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        person_id INTEGER REFERENCES persons (id) ON DELETE CASCADE,
        subject_id INTEGER REFERENCES nodes (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        clip_id INTEGER NOT NULL REFERENCES clips (id),
        node_id INTEGER NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
        weight REAL NOT NULL,
        source TEXT NOT NULL,
        created_utc_s REAL NOT NULL,
        CHECK (person_id IS NULL OR subject_id IS NULL))""",
    "CREATE INDEX name_evidence_node ON name_evidence (node_id)",
    "CREATE INDEX name_evidence_subject ON name_evidence (subject_id)",
    "CREATE INDEX name_evidence_person ON name_evidence (person_id)",
)


@migrations(name="m004_name_evidence")
def m004_name_evidence(db: SqliteUtilsDatabase) -> None:
    """What was heard of people's names."""
    for statement in _SCHEMA:
        db.execute(statement)
