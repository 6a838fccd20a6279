"""Clips in the database: the spans of sensing that all memories rest on."""

import math
from dataclasses import dataclass
from typing import Any, get_args

from memory_store.database import Database, Row
from memory_store.errors import DuplicateClip, InvalidValue, UnknownId
from memory_store.records import Clip, ClipState


@dataclass(frozen=True)
class Clips:
    """Adding and reading clips."""

    database: Database

    def add(self, **values: Any) -> int:
        """Insert a clip; raises DuplicateClip where the source key is already remembered."""
        _check_state(values["state"])
        start, end = values["start_utc_s"], values["end_utc_s"]
        if not (math.isfinite(start) and math.isfinite(end) and start <= end):
            raise InvalidValue(
                f"a clip from {start} to {end}: times are finite seconds since 1970, start first"
            )
        existing = self.find(values["source_key"])
        if existing is not None:
            raise DuplicateClip(
                f"clip {existing.id} already holds {values['source_key']!r}: look with find_clip() and skip it"
            )
        return self.database.insert("clips", values)

    def find(self, source_key: str) -> Clip | None:
        """The clip of this source key, or None."""
        row = self.database.row("SELECT * FROM clips WHERE source_key = ?", (source_key,))
        return None if row is None else _clip(row)

    def get(self, clip_id: int) -> Clip:
        """One clip; raises UnknownId."""
        row = self.database.row("SELECT * FROM clips WHERE id = ?", (clip_id,))
        if row is None:
            raise UnknownId(f"no clip {clip_id} in this memory")
        return _clip(row)

    def select(
        self,
        *,
        after_utc_s: float | None = None,
        before_utc_s: float | None = None,
        state: ClipState | None = None,
        limit: int | None = None,
    ) -> list[Clip]:
        """Clips that overlap [after, before), in clip order; a limit keeps the latest."""
        conditions, parameters = ["1"], list[float | str | int]()
        if after_utc_s is not None:
            conditions.append("(end_utc_s > ? OR start_utc_s >= ?)")
            parameters += [after_utc_s, after_utc_s]
        if before_utc_s is not None:
            conditions.append("start_utc_s < ?")
            parameters.append(before_utc_s)
        if state is not None:
            conditions.append("state = ?")
            parameters.append(state)
        sql = (
            f"SELECT * FROM clips WHERE {' AND '.join(conditions)} ORDER BY start_utc_s DESC, id DESC LIMIT ?"
        )
        rows = self.database.rows(sql, (*parameters, -1 if limit is None else limit))
        return [_clip(row) for row in reversed(rows)]

    def around(self, clip_id: int, before: int, after: int) -> list[Clip]:
        """A clip with the `before` clips that precede it and the `after` that follow, in clip order."""
        clip = self.get(clip_id)
        sql = (
            """SELECT * FROM clips WHERE (start_utc_s, id) {} (?, ?) ORDER BY start_utc_s {}, id {} LIMIT ?"""
        )
        at = (clip.start_utc_s, clip.id)
        earlier = self.database.rows(sql.format("<", "DESC", "DESC"), (*at, max(0, before)))
        later = self.database.rows(sql.format(">", "ASC", "ASC"), (*at, max(0, after)))
        return [*(_clip(row) for row in reversed(earlier)), clip, *(_clip(row) for row in later)]

    def by_key(self, prefix: str) -> list[Clip]:
        """The clips whose source key begins so, by id."""
        sql = "SELECT * FROM clips WHERE source_key BETWEEN ? AND ? ORDER BY id"
        return [_clip(row) for row in self.database.rows(sql, (prefix, prefix + "\U0010ffff"))]

    def of_node(self, node_id: int) -> list[Clip]:
        """The clips a node rests on, in clip order."""
        sql = """SELECT clips.* FROM node_clips JOIN clips ON clips.id = node_clips.clip_id
            WHERE node_clips.node_id = ? ORDER BY clips.start_utc_s, clips.id"""
        return [_clip(row) for row in self.database.rows(sql, (node_id,))]

    def set_state(self, clip_id: int, state: ClipState) -> None:
        """Record how far the clip was described; raises UnknownId."""
        _check_state(state)
        if self.database.write("UPDATE clips SET state = ? WHERE id = ?", (state, clip_id)).rowcount == 0:
            raise UnknownId(f"no clip {clip_id} in this memory")


def _check_state(state: str) -> None:
    if state not in get_args(ClipState):
        raise InvalidValue(f"clip state {state!r}: one of {', '.join(get_args(ClipState))}")


def _clip(row: Row) -> Clip:
    values = dict(row)
    for flag in ("time_known", "has_video", "has_audio"):
        values[flag] = bool(values[flag])
    return Clip(**values)
