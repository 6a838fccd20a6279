"""The history of persons: what was done to whom, by whom, and how it is undone."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from memory_store.changes import Change, Changes, from_json, to_json
from memory_store.database import Database, Row
from memory_store.errors import ChangeContradicted, UnknownId

Source = Literal["code", "resident"]


@dataclass
class Entry:
    """A row of the history while its change is being made; the maker fills in what it learns."""

    person_id: int
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class HistoryRow:
    """One change. `undone_by`: the row that undid it, or None; `undoable`: whether there is anything to put back."""

    id: int
    created_utc_s: float
    action: str
    person_id: int
    source: Source
    detail: dict[str, Any]
    undoable: bool
    undone_by: int | None


class History:
    """Writing, reading and undoing changes, inside the caller's transaction."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock
        self._changes = Changes(database)

    @contextmanager
    def recorded(self, action: str, person_id: int, source: Source, **detail: Any) -> Iterator[Entry]:
        """Make the change of the block undoable; a change that is part of another belongs to that one."""
        entry = Entry(person_id, detail)
        if self._changes.recording:
            yield entry
            return
        with self._changes.recorded() as changes:
            yield entry
        self._insert(action, entry, source, changes)

    def note(self, action: str, person_id: int, source: Source, **detail: Any) -> None:
        """Write a row for what there is no way back from."""
        if not self._changes.recording:
            self._insert(action, Entry(person_id, detail), source, None)

    def rows(self, person_ids: list[int] | None = None) -> list[HistoryRow]:
        """The changes, oldest first; of these persons only where they are given."""
        where, parameters = "", tuple[str, ...]()
        if person_ids is not None:
            where = """WHERE person_id IN (SELECT value FROM json_each(?1)) OR
                json_extract(detail, '$.gone_person_id') IN (SELECT value FROM json_each(?1)) OR
                json_extract(detail, '$.new_person_id') IN (SELECT value FROM json_each(?1))"""
            parameters = (json.dumps(person_ids),)
        return [
            _history_row(row) for row in self._database.rows(f"{_SELECT} {where} ORDER BY id", parameters)
        ]

    def last(self) -> HistoryRow:
        """The last change that a resident made, that is no undo and was not undone; raises UnknownId."""
        row = self._database.row(
            f"""{_SELECT} WHERE source = 'resident' AND action <> 'undo' AND undone_by IS NULL
            AND changes IS NOT NULL ORDER BY id DESC LIMIT 1"""
        )
        if row is None:
            raise UnknownId("there is nothing to undo: no correction by a resident stands")
        return _history_row(row)

    def row(self, history_id: int) -> HistoryRow:
        """One change; raises UnknownId."""
        row = self._database.row(f"{_SELECT} WHERE id = ?", (history_id,))
        if row is None:
            raise UnknownId(
                f"no change {history_id} in the history: `hearsight people show P` lists the changes"
            )
        return _history_row(row)

    def undo(self, row: HistoryRow) -> set[int]:
        """Put back what the change changed; the nodes whose clips that touched.

        Raises ChangeContradicted where that is not possible.
        """
        if row.undone_by is not None:
            raise ChangeContradicted(
                f"change {row.id} ({row.action}) is undone already, by change {row.undone_by}"
            )
        stored = self._database.row("SELECT changes FROM person_history WHERE id = ?", (row.id,))
        if stored is None or stored["changes"] is None:
            raise ChangeContradicted(
                f"change {row.id} ({row.action}) was made by an older version and cannot be undone: use split or merge"
            )
        try:
            changes = from_json(stored["changes"])
            self._changes.revert(changes)
        except ChangeContradicted as error:
            raise ChangeContradicted(
                f"change {row.id} ({row.action}) cannot be undone any more: {error}; undo or correct that first"
            ) from error
        return {int(change.key["node_id"]) for change in changes if change.table == "node_clips"}

    def mark_undone(self, row: HistoryRow) -> int:
        """Note in the undone row that the newest row undid it; a redone change stands again. Its id."""
        newest = self._database.row("SELECT max(id) AS id FROM person_history")
        assert newest is not None
        mark = "UPDATE person_history SET undone_by = ? WHERE id = ?"
        self._database.write(mark, (newest["id"], row.id))
        if row.action == "undo":
            self._database.write(mark, (None, row.detail["undone_id"]))
        return int(newest["id"])

    def _insert(self, action: str, entry: Entry, source: Source, changes: list[Change] | None) -> None:
        values = {
            "created_utc_s": self._clock(),
            "action": action,
            "person_id": entry.person_id,
            "detail": json.dumps(entry.detail, ensure_ascii=False),
            "source": source,
            "changes": None if changes is None else to_json(changes),
        }
        self._database.insert("person_history", values)


_SELECT = """SELECT id, created_utc_s, action, person_id, detail, source, undone_by,
    changes IS NOT NULL AS undoable FROM person_history"""


def _history_row(row: Row) -> HistoryRow:
    return HistoryRow(
        row["id"],
        row["created_utc_s"],
        row["action"],
        row["person_id"],
        row["source"],
        json.loads(row["detail"]),
        bool(row["undoable"]),
        row["undone_by"],
    )
