"""The numbered migrations of the schema: append-only, a published one is never edited."""

from sqlite_utils import Database as SqliteUtilsDatabase
from sqlite_utils.migrations import Migrations

APPLICATION_ID = 0x48454152  # "HEAR": tells a Hearsight memory from any other SQLite file

migrations = Migrations("memory_store")

_SCHEMA_1 = (
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
    for statement in _SCHEMA_1:
        db.execute(statement)


# Corrections: who made a binding, vectors that are not of somebody, and a history from which all can be put back.
# `revision` grows with every change of a space's vectors that its count and newest id do not tell of.
_SCHEMA_2 = (
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
    for statement in _SCHEMA_2:
        db.execute(statement)


# Votes summed by day, so that their fading is computed from a few rows; triggers keep it true to `votes`.
_VOTE_DAY = "CAST((SELECT start_utc_s FROM clips WHERE id = {row}.clip_id) / 86400 AS INTEGER)"

_SCHEMA_3 = (
    """CREATE TABLE vote_days (
        face_id INTEGER NOT NULL,
        voice_id INTEGER NOT NULL,
        day INTEGER NOT NULL,
        weight REAL NOT NULL,
        votes INTEGER NOT NULL,
        PRIMARY KEY (face_id, voice_id, day)) WITHOUT ROWID""",
    "CREATE INDEX vote_days_voice ON vote_days (voice_id)",
    "CREATE INDEX votes_voice ON votes (voice_id)",
    f"""INSERT INTO vote_days SELECT face_id, voice_id, {_VOTE_DAY.format(row="votes")}, sum(weight), count(*)
        FROM votes GROUP BY 1, 2, 3""",
    f"""CREATE TRIGGER votes_inserted AFTER INSERT ON votes BEGIN
        INSERT INTO vote_days VALUES (new.face_id, new.voice_id, {_VOTE_DAY.format(row="new")}, new.weight, 1)
        ON CONFLICT (face_id, voice_id, day) DO UPDATE SET weight = weight + new.weight, votes = votes + 1;
    END""",
    f"""CREATE TRIGGER votes_deleted AFTER DELETE ON votes BEGIN
        UPDATE vote_days SET weight = weight - old.weight, votes = votes - 1
        WHERE face_id = old.face_id AND voice_id = old.voice_id AND day = {_VOTE_DAY.format(row="old")};
        DELETE FROM vote_days WHERE face_id = old.face_id AND voice_id = old.voice_id AND votes <= 0;
    END""",
    # The time of a clip that was taken before the clock was set is put right later.
    """CREATE TRIGGER votes_of_clip_moved AFTER UPDATE OF start_utc_s ON clips BEGIN
        DELETE FROM vote_days
        WHERE (face_id, voice_id) IN (SELECT face_id, voice_id FROM votes WHERE clip_id = new.id);
        INSERT INTO vote_days SELECT v.face_id, v.voice_id, CAST(c.start_utc_s / 86400 AS INTEGER),
        sum(v.weight), count(*) FROM votes v JOIN clips c ON c.id = v.clip_id
        WHERE (v.face_id, v.voice_id) IN (SELECT face_id, voice_id FROM votes WHERE clip_id = new.id)
        GROUP BY 1, 2, 3;
    END""",
)


@migrations(name="m003_vote_days")
def m003_vote_days(db: SqliteUtilsDatabase) -> None:
    """Votes summed by day."""
    for statement in _SCHEMA_3:
        db.execute(statement)


_SCHEMA_4 = (
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
    for statement in _SCHEMA_4:
        db.execute(statement)
