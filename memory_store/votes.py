"""Votes that a face and a voice belong together: one per pair and clip."""

import json
import math
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from memory_store.database import Database
from memory_store.errors import InvalidValue, UnknownId

DAY_S = 86400.0


@dataclass(frozen=True)
class Votes:
    """Casting and summing votes."""

    database: Database

    def add(self, face_id: int, voice_id: int, clip_id: int, weight: float) -> bool:
        """Cast a vote; False, and nothing changed, where this clip already voted for the pair."""
        if not math.isfinite(weight):
            raise InvalidValue(f"a vote of weight {weight}: give a finite number")
        for node_id, kind in ((face_id, "face"), (voice_id, "voice")):
            row = self.database.row("SELECT kind FROM nodes WHERE id = ?", (node_id,))
            if row is None or row["kind"] != kind:
                raise UnknownId(f"no {kind} node {node_id} in this memory")
        if self.database.row("SELECT 1 FROM clips WHERE id = ?", (clip_id,)) is None:
            raise UnknownId(f"no clip {clip_id} in this memory")
        sql = "INSERT INTO votes VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        return self.database.write(sql, (face_id, voice_id, clip_id, weight)).rowcount == 1

    def totals(self) -> dict[tuple[int, int], float]:
        """The sum of votes of each (face, voice) pair."""
        rows = self.database.rows(
            "SELECT face_id, voice_id, sum(weight) AS total FROM votes GROUP BY face_id, voice_id"
        )
        return {(row["face_id"], row["voice_id"]): row["total"] for row in rows}

    def of_node(self, node_id: int, now_utc_s: float, half_life_s: float) -> dict[int, float]:
        """What stands for each partner of a face or voice now: a vote halves in `half_life_s`, by whole days.

        Votes from after now count whole. Sorted by the partner's id.
        """
        rows = self.database.rows(
            """SELECT voice_id AS partner, day, weight FROM vote_days WHERE face_id = ?1
            UNION ALL SELECT face_id, day, weight FROM vote_days WHERE voice_id = ?1 ORDER BY 1, 2""",
            (node_id,),
        )
        today = math.floor(now_utc_s / DAY_S)
        found: dict[int, float] = defaultdict(float)
        for row in rows:
            age_s = max(0, today - row["day"]) * DAY_S
            found[row["partner"]] += row["weight"] * 0.5 ** (age_s / half_life_s)
        return {partner: weight for partner, weight in found.items() if weight > 0.0}

    def any_of(self, face_ids: Collection[int], voice_id: int, least: float) -> bool:
        """Whether a single vote of at least `least` stands between a voice and one of the faces."""
        row = self.database.row(
            """SELECT 1 FROM votes WHERE voice_id = ? AND weight >= ?
            AND face_id IN (SELECT value FROM json_each(?)) LIMIT 1""",
            (voice_id, least, json.dumps(sorted(face_ids))),
        )
        return row is not None

    def below(self, face_id: int, voice_id: int, weight: float) -> float:
        """The sum of a pair's votes that each weigh less than `weight`."""
        row = self.database.row(
            "SELECT coalesce(sum(weight), 0.0) AS total FROM votes WHERE face_id = ? AND voice_id = ? AND weight < ?",
            (face_id, voice_id, weight),
        )
        return 0.0 if row is None else float(row["total"])
