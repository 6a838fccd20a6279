"""What ties pictures and objects to somebody follows when a line turns out to be about somebody else."""

from dataclasses import dataclass

from memory_store.database import Database

_TIES = "('held_by', 'used_by', 'belongs_to', 'gift_from')"


@dataclass(frozen=True)
class ObjectLinks:
    """Moves links inside the caller's transaction, after the line's own edges have moved."""

    database: Database

    def leave_pictures(self, clip_id: int, old_id: int, new_id: int | None) -> None:
        """The pictures of a clip show `new_id` (None: nobody known) where they showed `old_id`."""
        pictures = "SELECT id FROM nodes WHERE kind = 'image' AND clip_id = ?"
        self._move(f"relation = 'mentions' AND source IN ({pictures})", (clip_id,), old_id, new_id)

    def follow_line(self, line_id: int, old_id: int, new_id: int | None) -> None:
        """What a line said of objects and `old_id` is so of `new_id`, where no other line says it of `old_id` too."""
        rows = self.database.rows(
            f"""SELECT m.target, m.detail FROM edges m WHERE m.source = ?1 AND m.relation = 'mentions'
            AND m.detail IN {_TIES} AND NOT EXISTS (SELECT 1 FROM edges o JOIN edges a ON a.source = o.source
            WHERE o.target = m.target AND o.relation = 'mentions' AND o.detail = m.detail AND o.source <> ?1
            AND a.target = ?2 AND a.relation = 'mentions' AND a.detail = 'actor')""",
            (line_id, old_id),
        )
        for object_id, detail in rows:
            where = "relation = 'entity_link' AND source = ? AND detail = ?"
            self._move(where, (object_id, detail), old_id, new_id)

    def _move(self, where: str, values: tuple[int | str, ...], old_id: int, new_id: int | None) -> None:
        if new_id is not None:
            sql = f"UPDATE OR IGNORE edges SET target = ? WHERE target = ? AND {where}"
            self.database.write(sql, (new_id, old_id, *values))
        self.database.write(f"DELETE FROM edges WHERE target = ? AND {where}", (old_id, *values))
