"""Corrections by residents."""

from sqlite_utils import Database as SqliteUtilsDatabase

from memory_store.migrations.registry import migrations

# Corrections: who made a binding, vectors that are not of somebody, and a history from which all can be put back.
# `revision` grows with every change of a space's vectors that its count and newest id do not tell of.
_SCHEMA = (
    "ALTER TABLE person_nodes ADD COLUMN source TEXT NOT NULL DEFAULT 'code' CHECK (source IN ('code', 'resident'))",
    "ALTER TABLE persons ADD COLUMN name_source TEXT NOT NULL DEFAULT 'code'",
    "UPDATE persons SET name_source = 'resident' WHERE name IS NOT NULL",
    """CREATE TABLE negatives (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        node_id INTEGER NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
        space TEXT NOT NULL,
        model TEXT NOT NULL,
        clip_id INTEGER REFERENCES clips (id),
        source TEXT NOT NULL,
        origin_id INTEGER REFERENCES nodes (id) ON DELETE CASCADE,
        vector BLOB NOT NULL)""",
    "CREATE INDEX negatives_node ON negatives (node_id)",
    "CREATE INDEX negatives_origin ON negatives (origin_id)",
    "ALTER TABLE person_history RENAME TO person_history_1",
    # A person whose making is undone is gone; the history still tells of them, so it refers to nobody.
    """CREATE TABLE person_history (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        created_utc_s REAL NOT NULL,
        action TEXT NOT NULL,
        person_id INTEGER NOT NULL,
        detail TEXT NOT NULL,
        source TEXT NOT NULL DEFAULT 'code' CHECK (source IN ('code', 'resident')),
        changes TEXT,
        undone_by INTEGER)""",
    """INSERT INTO person_history (id, created_utc_s, action, person_id, detail)
        SELECT id, created_utc_s, action, person_id, detail FROM person_history_1""",
    "DROP TABLE person_history_1",
    "CREATE INDEX person_history_person ON person_history (person_id)",
    "ALTER TABLE vector_counts ADD COLUMN revision INTEGER NOT NULL DEFAULT 0",
    "DROP TRIGGER vectors_inserted",
    """CREATE TRIGGER vectors_inserted AFTER INSERT ON vectors BEGIN
        INSERT INTO vector_counts (space, model, count, last_id) VALUES (new.space, new.model, 1, new.id)
        ON CONFLICT (space, model) DO UPDATE SET count = count + 1, revision = revision + (new.id < last_id),
        last_id = max(last_id, new.id);
    END""",
    "DROP TRIGGER vectors_deleted",
    """CREATE TRIGGER vectors_deleted AFTER DELETE ON vectors BEGIN
        UPDATE vector_counts SET count = count - 1, revision = revision + 1
        WHERE space = old.space AND model = old.model;
    END""",
    """CREATE TRIGGER vectors_moved AFTER UPDATE OF node_id ON vectors BEGIN
        UPDATE vector_counts SET revision = revision + 1 WHERE space = new.space AND model = new.model;
    END""",
)


@migrations(name="m002_corrections")
def m002_corrections(db: SqliteUtilsDatabase) -> None:
    """Bindings by residents, negatives, and a history from which every change can be put back."""
    for statement in _SCHEMA:
        db.execute(statement)
