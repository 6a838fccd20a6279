"""The first schema."""

from sqlite_utils import Database as SqliteUtilsDatabase

from memory_store.migrations.registry import APPLICATION_ID, migrations

_SCHEMA = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    """CREATE TABLE clips (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        source_key TEXT NOT NULL UNIQUE,
        source_name TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        media_start_s REAL NOT NULL,
        media_end_s REAL NOT NULL,
        start_utc_s REAL NOT NULL,
        end_utc_s REAL NOT NULL,
        time_known INTEGER NOT NULL,
        place TEXT NOT NULL,
        has_video INTEGER NOT NULL,
        has_audio INTEGER NOT NULL,
        dropped_frames INTEGER NOT NULL,
        audio_gap_s REAL NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('grounded', 'described', 'description_failed')))""",
    "CREATE INDEX clips_start ON clips (start_utc_s, id)",
    """CREATE TABLE nodes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL CHECK (kind IN
            ('face', 'voice', 'object', 'episodic', 'semantic', 'procedural', 'place', 'image')),
        text TEXT NOT NULL,
        weight REAL NOT NULL DEFAULT 1.0,
        clip_id INTEGER REFERENCES clips (id),
        start_utc_s REAL NOT NULL,
        end_utc_s REAL NOT NULL,
        first_seen_utc_s REAL NOT NULL,
        last_seen_utc_s REAL NOT NULL,
        tier TEXT NOT NULL DEFAULT 'hot',
        provenance TEXT NOT NULL DEFAULT '{}')""",
    "CREATE INDEX nodes_kind_start ON nodes (kind, start_utc_s)",
    "CREATE INDEX nodes_start ON nodes (start_utc_s)",
    "CREATE INDEX nodes_clip ON nodes (clip_id)",
    # Which clips a node rests on, with the weight and time span each contributed.
    """CREATE TABLE node_clips (
        node_id INTEGER NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
        clip_id INTEGER NOT NULL REFERENCES clips (id),
        weight REAL NOT NULL,
        start_utc_s REAL NOT NULL,
        end_utc_s REAL NOT NULL,
        PRIMARY KEY (node_id, clip_id)) WITHOUT ROWID""",
    "CREATE INDEX node_clips_clip ON node_clips (clip_id)",
    "CREATE INDEX node_clips_start ON node_clips (start_utc_s, end_utc_s)",
    """CREATE TABLE edges (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        source INTEGER NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
        target INTEGER NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
        relation TEXT NOT NULL CHECK (relation IN ('entity_link', 'temporal', 'semantic', 'equivalence',
            'mentions', 'derived_from', 'cannot_link')),
        detail TEXT NOT NULL DEFAULT '',
        weight REAL NOT NULL,
        created_utc_s REAL NOT NULL,
        last_activated_utc_s REAL NOT NULL,
        activation_count INTEGER NOT NULL DEFAULT 0,
        UNIQUE (source, target, relation, detail))""",
    "CREATE INDEX edges_target ON edges (target, relation)",
    """CREATE TABLE vectors (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        space TEXT NOT NULL,
        model TEXT NOT NULL,
        node_id INTEGER NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
        clip_id INTEGER REFERENCES clips (id),
        exemplar INTEGER NOT NULL,
        quality REAL,
        vector BLOB NOT NULL)""",
    "CREATE INDEX vectors_space ON vectors (space, model, id)",
    "CREATE INDEX vectors_node ON vectors (node_id)",
    "CREATE UNIQUE INDEX vectors_one_a_model ON vectors (node_id, space, model) WHERE exemplar = 0",
    # How many rows a space holds and the newest id, so that a cache can tell in O(1) whether it is current.
    """CREATE TABLE vector_counts (
        space TEXT NOT NULL,
        model TEXT NOT NULL,
        count INTEGER NOT NULL,
        last_id INTEGER NOT NULL,
        PRIMARY KEY (space, model)) WITHOUT ROWID""",
    """CREATE TRIGGER vectors_inserted AFTER INSERT ON vectors BEGIN
        INSERT INTO vector_counts VALUES (new.space, new.model, 1, new.id)
        ON CONFLICT (space, model) DO UPDATE SET count = count + 1, last_id = new.id;
    END""",
    """CREATE TRIGGER vectors_deleted AFTER DELETE ON vectors BEGIN
        UPDATE vector_counts SET count = count - 1 WHERE space = old.space AND model = old.model;
    END""",
    """CREATE TRIGGER vectors_immutable BEFORE UPDATE OF id, space, model, vector ON vectors BEGIN
        SELECT RAISE(ABORT, 'a stored vector is never changed: delete it and add a new one');
    END""",
    """CREATE VIRTUAL TABLE nodes_fts USING fts5(
        text, content = 'nodes', content_rowid = 'id', tokenize = 'trigram')""",
    """CREATE TRIGGER nodes_inserted AFTER INSERT ON nodes BEGIN
        INSERT INTO nodes_fts (rowid, text) VALUES (new.id, new.text);
    END""",
    """CREATE TRIGGER nodes_deleted AFTER DELETE ON nodes BEGIN
        INSERT INTO nodes_fts (nodes_fts, rowid, text) VALUES ('delete', old.id, old.text);
    END""",
    """CREATE TRIGGER nodes_text_changed AFTER UPDATE OF text ON nodes BEGIN
        INSERT INTO nodes_fts (nodes_fts, rowid, text) VALUES ('delete', old.id, old.text);
        INSERT INTO nodes_fts (rowid, text) VALUES (new.id, new.text);
    END""",
    """CREATE TABLE persons (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT,
        consent TEXT NOT NULL DEFAULT 'unknown' CHECK (consent IN
            ('resident', 'guest', 'unknown', 'do_not_remember')),
        tentative INTEGER NOT NULL,
        created_utc_s REAL NOT NULL,
        merged_into INTEGER REFERENCES persons (id))""",
    """CREATE TABLE person_nodes (
        node_id INTEGER PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
        person_id INTEGER NOT NULL REFERENCES persons (id))""",
    "CREATE INDEX person_nodes_person ON person_nodes (person_id)",
    # Every binding, naming and merge, with what is needed to undo it.
    """CREATE TABLE person_history (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        created_utc_s REAL NOT NULL,
        action TEXT NOT NULL,
        person_id INTEGER NOT NULL REFERENCES persons (id),
        detail TEXT NOT NULL)""",
    """CREATE TABLE votes (
        face_id INTEGER NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
        voice_id INTEGER NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
        clip_id INTEGER NOT NULL REFERENCES clips (id),
        weight REAL NOT NULL,
        PRIMARY KEY (face_id, voice_id, clip_id)) WITHOUT ROWID""",
    """CREATE TABLE traces (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        created_utc_s REAL NOT NULL,
        question TEXT NOT NULL,
        answer TEXT NOT NULL,
        trace TEXT NOT NULL)""",
)


@migrations(name="m001_schema")
def m001_schema(db: SqliteUtilsDatabase) -> None:
    """Clips, nodes, edges, vectors, people, votes, traces and the text index."""
    for statement in _SCHEMA:
        db.execute(statement)
