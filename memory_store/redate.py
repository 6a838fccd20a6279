"""Dates clips anew when the clock was set after they were taken, with everything that took its time from them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from memory_store.database import Database

# The clips that move, with their old and their new start.
_PREPARE = (
    "CREATE TEMP TABLE IF NOT EXISTS moves (id INTEGER PRIMARY KEY, was REAL NOT NULL, now REAL NOT NULL)",
    "DELETE FROM moves",
)
# A time that stands nearer to the clip's new start was read from the clock after it was set, and stays.
_MOVED = "CASE WHEN abs({0} - m.was) < abs({0} - m.now) THEN {0} + m.now - m.was ELSE {0} END"
_FIRST_MET = """(SELECT pn.person_id, min(n.clip_id) AS clip_id FROM person_nodes pn
    JOIN nodes n ON n.id = pn.node_id GROUP BY pn.person_id)"""
_STATEMENTS = (
    """UPDATE node_clips SET start_utc_s = start_utc_s + m.now - m.was, end_utc_s = end_utc_s + m.now - m.was
    FROM moves m WHERE node_clips.clip_id = m.id""",
    """UPDATE nodes SET (start_utc_s, end_utc_s, first_seen_utc_s, last_seen_utc_s) =
    (SELECT min(start_utc_s), max(end_utc_s), min(start_utc_s), max(end_utc_s)
    FROM node_clips WHERE node_id = nodes.id)
    WHERE id IN (SELECT nc.node_id FROM moves m JOIN node_clips nc ON nc.clip_id = m.id)""",
    f"""UPDATE edges SET created_utc_s = {_MOVED.format("edges.created_utc_s")},
    last_activated_utc_s = {_MOVED.format("edges.last_activated_utc_s")}
    FROM nodes n JOIN moves m ON m.id = n.clip_id WHERE n.id = edges.source""",
    f"""UPDATE name_evidence SET created_utc_s = {_MOVED.format("name_evidence.created_utc_s")}
    FROM moves m WHERE m.id = name_evidence.clip_id""",
    f"""UPDATE person_history SET created_utc_s = {_MOVED.format("person_history.created_utc_s")}
    FROM {_FIRST_MET} met JOIN moves m ON m.id = met.clip_id WHERE met.person_id = person_history.person_id""",
    f"""UPDATE persons SET created_utc_s = {_MOVED.format("persons.created_utc_s")}
    FROM {_FIRST_MET} met JOIN moves m ON m.id = met.clip_id WHERE met.person_id = persons.id""",
    # Last, since the days of votes follow by a trigger.
    """UPDATE clips SET start_utc_s = m.now, end_utc_s = end_utc_s + m.now - m.was, time_known = 1
    FROM moves m WHERE clips.id = m.id""",
)


@dataclass(frozen=True)
class Redating:
    """Moving clips in time, inside the caller's transaction."""

    database: Database

    def move(self, starts: Mapping[int, float], stepped_utc_s: float) -> int:
        """Let clips begin at these UTC seconds, by clip id, and note the step of the clock; how many moved."""
        for statement in _PREPARE:
            self.database.write(statement)
        moved = self.database.write(
            """INSERT INTO moves SELECT c.id, c.start_utc_s, json_extract(m.value, '$[1]')
            FROM json_each(?) m JOIN clips c ON c.id = json_extract(m.value, '$[0]')""",
            (json.dumps(list(starts.items())),),
        ).rowcount
        for statement in _STATEMENTS if moved else ():
            self.database.write(statement)
        last = self.database.row("SELECT coalesce(max(id), 0) AS id FROM clips")
        assert last is not None
        values = {"stepped_utc_s": stepped_utc_s, "moved_clips": moved, "last_clip_id": last["id"]}
        self.database.insert("clock_steps", values)
        return moved

    def last_clip_before_step(self) -> int:
        """The newest clip there was when the clock last stepped, or 0."""
        row = self.database.row("SELECT coalesce(max(last_clip_id), 0) AS id FROM clock_steps")
        return 0 if row is None else int(row["id"])
