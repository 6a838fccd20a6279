"""What the vector index needs to tell cheaply whether it is current."""

from sqlite_utils import Database as SqliteUtilsDatabase

from memory_store.migrations.registry import migrations

_SCHEMA = (
    # `restored` grows when a vector is put back under an id that is not new, so that it lies below the newest id.
    "ALTER TABLE vector_counts ADD COLUMN restored INTEGER NOT NULL DEFAULT 0",
    "DROP TRIGGER vectors_inserted",
    """CREATE TRIGGER vectors_inserted AFTER INSERT ON vectors BEGIN
        INSERT INTO vector_counts (space, model, count, last_id) VALUES (new.space, new.model, 1, new.id)
        ON CONFLICT (space, model) DO UPDATE SET count = count + 1, revision = revision + (new.id <= last_id),
        restored = restored + (new.id <= last_id), last_id = max(last_id, new.id);
    END""",
    # Ids and nodes are read without reading the vectors, which fill most of the file.
    "CREATE INDEX vectors_space_node ON vectors (space, model, id, node_id)",
    "DROP INDEX vectors_space",
    "CREATE INDEX vectors_node_space ON vectors (node_id, space, model)",
    "DROP INDEX vectors_node",
)


@migrations(name="m009_vector_cache")
def m009_vector_cache(db: SqliteUtilsDatabase) -> None:
    """A counter of vectors put back, and indexes that hold ids and nodes."""
    for statement in _SCHEMA:
        db.execute(statement)
