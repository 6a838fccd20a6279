"""When the clock was set or jumped, and how many clips were dated anew."""

from sqlite_utils import Database as SqliteUtilsDatabase

from memory_store.migrations.registry import migrations

_SCHEMA = (
    # Until enough clips newer than `last_clip_id` agree about the time, nothing is let go of by its age.
    """CREATE TABLE clock_steps (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        stepped_utc_s REAL NOT NULL,
        moved_clips INTEGER NOT NULL,
        last_clip_id INTEGER NOT NULL)""",
    # The votes of a clip that is dated anew go from one day to another; summing a pair's votes over all clips for
    # each of them would take as long as the square of their number.
    "CREATE INDEX votes_clip ON votes (clip_id)",
    "DROP TRIGGER votes_of_clip_moved",
    """CREATE TRIGGER votes_of_clip_moved AFTER UPDATE OF start_utc_s ON clips
    WHEN CAST(old.start_utc_s / 86400 AS INTEGER) <> CAST(new.start_utc_s / 86400 AS INTEGER) BEGIN
        UPDATE vote_days SET votes = votes - 1, weight = weight - (SELECT weight FROM votes v
            WHERE v.clip_id = new.id AND v.face_id = vote_days.face_id AND v.voice_id = vote_days.voice_id)
        WHERE day = CAST(old.start_utc_s / 86400 AS INTEGER)
        AND (face_id, voice_id) IN (SELECT face_id, voice_id FROM votes WHERE clip_id = new.id);
        DELETE FROM vote_days WHERE votes <= 0
        AND (face_id, voice_id) IN (SELECT face_id, voice_id FROM votes WHERE clip_id = new.id);
        INSERT INTO vote_days SELECT face_id, voice_id, CAST(new.start_utc_s / 86400 AS INTEGER), weight, 1
        FROM votes WHERE clip_id = new.id
        ON CONFLICT (face_id, voice_id, day) DO UPDATE SET weight = weight + excluded.weight, votes = votes + 1;
    END""",
)


@migrations(name="m012_clock_steps")
def m012_clock_steps(db: SqliteUtilsDatabase) -> None:
    """When the clock was set or jumped."""
    for statement in _SCHEMA:
        db.execute(statement)
