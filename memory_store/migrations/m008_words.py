"""The text index by words, and look-ups by place and object class."""

from sqlite_utils import Database as SqliteUtilsDatabase

from memory_store.migrations.registry import migrations
from memory_store.words import indexed_words

# Stemmed words rank far better than trigrams (`bench locomo_recall`), find no "cup" in "occupy", and Chinese of two
# characters is found without reading every text. `indexed_words` is memory_store/words.py, known to every connection
# that memory_store/database.py opens; who rebuilds the table `nodes` drops and makes this view anew around that.
_SCHEMA = (
    "DROP TRIGGER IF EXISTS nodes_inserted",
    "DROP TRIGGER IF EXISTS nodes_deleted",
    "DROP TRIGGER IF EXISTS nodes_text_changed",
    "DROP TABLE nodes_fts",
    "CREATE VIEW node_words (id, text) AS SELECT id, indexed_words(text) FROM nodes",
    """CREATE VIRTUAL TABLE nodes_fts USING fts5(
        text, content = 'node_words', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2')""",
    """CREATE TRIGGER nodes_inserted AFTER INSERT ON nodes BEGIN
        INSERT INTO nodes_fts (rowid, text) VALUES (new.id, indexed_words(new.text));
    END""",
    """CREATE TRIGGER nodes_deleted AFTER DELETE ON nodes BEGIN
        INSERT INTO nodes_fts (nodes_fts, rowid, text) VALUES ('delete', old.id, indexed_words(old.text));
    END""",
    """CREATE TRIGGER nodes_text_changed AFTER UPDATE OF text ON nodes BEGIN
        INSERT INTO nodes_fts (nodes_fts, rowid, text) VALUES ('delete', old.id, indexed_words(old.text));
        INSERT INTO nodes_fts (rowid, text) VALUES (new.id, indexed_words(new.text));
    END""",
    "INSERT INTO nodes_fts (nodes_fts) VALUES ('rebuild')",
    # What the filters for an object class and a place look up.
    "CREATE INDEX nodes_object_class ON nodes (json_extract(provenance, '$.class')) WHERE kind = 'object'",
    "CREATE INDEX clips_place ON clips (place COLLATE NOCASE)",
)


@migrations(name="m008_words")
def m008_words(db: SqliteUtilsDatabase) -> None:
    """The text index by words instead of trigrams; indexes for two filters."""
    db.conn.create_function("indexed_words", 1, indexed_words, deterministic=True)
    for statement in _SCHEMA:
        db.execute(statement)
