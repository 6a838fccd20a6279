"""Votes summed by day."""

from sqlite_utils import Database as SqliteUtilsDatabase

from memory_store.migrations.registry import migrations

# Votes summed by day, so that their fading is computed from a few rows; triggers keep it true to `votes`.
_VOTE_DAY = "CAST((SELECT start_utc_s FROM clips WHERE id = {row}.clip_id) / 86400 AS INTEGER)"

_SCHEMA = (
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
    for statement in _SCHEMA:
        db.execute(statement)
