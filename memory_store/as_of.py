"""The memory as it was before a clip: a copy from which everything later is taken back.

A filter alone would let through what was learned later of what was known then: whose face it is, a name, a merge, a
corrected line, how rare a word is. So the past is a memory of its own, asked like any other.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memory_store.changes import Change, Changes, from_json
from memory_store.database import Database
from memory_store.errors import ChangeContradicted, UnknownId
from memory_store.kept_copy import KeptCopy

if TYPE_CHECKING:
    from memory_store.filters import FilterArguments
    from memory_store.store import MemoryStore

Ids = NDArray[np.int64]


def take_back(path: Path, clip_id: int) -> None:
    """Make the copy of a memory in a file what it was before a clip, by clip order: start time, then id.

    Changes of persons are turned back one by one, newest first, as their history holds them. What was deleted since
    for good (tentative people who expired, whoever was forgotten, examples replaced by better ones) does not come
    back. Raises UnknownId.
    """
    database = Database.open(path)
    try:
        with database.transaction():
            past = _Past(database, clip_id)
            past.revert_history()
            past.drop_later()
            past.drop_late_edges()
            past.recount()
            past.drop_persons()
    finally:
        database.close()


class PastMemory:
    """Keeps the last past that was asked for, until another is, or the memory changes."""

    def __init__(self, database: Database, copy: KeptCopy) -> None:
        self._database = database
        self._copy = copy

    def before(self, clip_id: int) -> "MemoryStore":
        """The memory as it was before a clip, to be read only, and closed by this; takes as long as a copy.

        Raises UnknownId, and InvalidValue within a transaction.
        """
        if self._database.row("SELECT 1 FROM clips WHERE id = ?", (clip_id,)) is None:
            raise UnknownId(f"no clip {clip_id} in this memory")
        return self._copy.made(clip_id, lambda path: take_back(path, clip_id))


def known_then(condition: "FilterArguments", past: "MemoryStore") -> "FilterArguments":
    """The filter for a past memory: nothing passes where it names a person or clip that was not known then."""
    try:
        if condition.get("clip_id") is not None:
            past.clip(condition["clip_id"] or 0)
        if condition.get("person_id") is not None:
            past.person(condition["person_id"] or 0)
    except UnknownId:
        return {"kinds": ()}
    return {**condition, "before_clip": None}


class _Past:
    """The steps, inside of one transaction on the copy."""

    def __init__(self, database: Database, clip_id: int) -> None:
        self._database = database
        clip = database.row("SELECT start_utc_s FROM clips WHERE id = ?", (clip_id,))
        if clip is None:
            raise UnknownId(f"no clip {clip_id} in this memory")
        self._start_utc_s = float(clip["start_utc_s"])
        later = database.rows(
            "SELECT id FROM clips WHERE (start_utc_s, id) >= (?, ?)", (self._start_utc_s, clip_id)
        )
        self._later = json.dumps([row["id"] for row in later])
        self._marks = database.rows("SELECT * FROM clip_marks ORDER BY clip_id")
        self._is_later = np.isin([row["clip_id"] for row in self._marks], [row["id"] for row in later])

    def revert_history(self) -> None:
        """Turn back what was done to persons since; what is gone meanwhile is passed over."""
        rows = self._database.rows("SELECT id, changes FROM person_history ORDER BY id DESC")
        since = self._written_later("history_id", [row["id"] for row in rows])
        for row, later in zip(rows, since, strict=True):
            if not later:
                continue
            changes = from_json(row["changes"]) if row["changes"] else []
            if not self._reverted(changes):
                for change in reversed(changes):
                    self._reverted([change])
            self._database.write(
                "UPDATE person_history SET undone_by = NULL WHERE undone_by = ?", (row["id"],)
            )
            self._database.write("DELETE FROM person_history WHERE id = ?", (row["id"],))

    def _reverted(self, changes: Sequence[Change]) -> bool:
        """Turn changes back, all or none; False where a row of them is gone or was changed again."""
        self._database.write("SAVEPOINT turned_back")
        try:
            Changes(self._database).revert(changes)
        except ChangeContradicted:
            self._database.write("ROLLBACK TO turned_back")
            return False
        finally:
            self._database.write("RELEASE turned_back")
        return True

    def drop_later(self) -> None:
        """Delete the clips from this one on, and all that was first written down in them."""
        write = self._database.write
        write("DELETE FROM nodes WHERE clip_id IN (SELECT value FROM json_each(?))", (self._later,))
        write("DELETE FROM nodes WHERE clip_id IS NULL AND end_utc_s > ?", (self._start_utc_s,))
        for table in self._tables():
            for reference in self._database.rows(f"PRAGMA foreign_key_list({table})"):
                if reference["table"] == "clips":
                    column = reference["from"]
                    write(
                        f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))",
                        (self._later,),
                    )
        write("DELETE FROM traces")
        write("DELETE FROM clips WHERE id IN (SELECT value FROM json_each(?))", (self._later,))

    def drop_late_edges(self) -> None:
        """Delete edges that were drawn later than the clips in which both of their nodes were written down."""
        rows = self._database.rows("SELECT id, source, target FROM edges ORDER BY id")
        edges, *ends = (
            np.array([row[name] for row in rows], np.int64) for name in ("id", "source", "target")
        )
        drawn = self._window("edge_id", edges)
        with_node = drawn <= np.maximum(*(self._window("node_id", nodes) for nodes in ends))
        late = edges[self._in_later(drawn) & ~with_node]
        self._database.write(
            "DELETE FROM edges WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(late.tolist()),)
        )

    def recount(self) -> None:
        """Weight and times of what several clips speak for, from those that are left."""
        self._database.write(
            """UPDATE nodes SET (weight, start_utc_s, end_utc_s, first_seen_utc_s, last_seen_utc_s) =
            (SELECT sum(weight), min(start_utc_s), max(end_utc_s), min(start_utc_s), max(end_utc_s)
            FROM node_clips WHERE node_id = nodes.id)
            WHERE EXISTS (SELECT 1 FROM node_clips WHERE node_id = nodes.id)"""
        )

    def drop_persons(self) -> None:
        """Delete persons who were made since and have no face or voice now."""
        rows = self._database.rows(
            """SELECT id FROM persons WHERE id NOT IN (SELECT person_id FROM person_nodes)
            AND id NOT IN (SELECT merged_into FROM persons WHERE merged_into IS NOT NULL) ORDER BY id"""
        )
        ids = [row["id"] for row in rows]
        gone = [
            person for person, late in zip(ids, self._written_later("person_id", ids), strict=True) if late
        ]
        self._database.write(
            "DELETE FROM persons WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(gone),)
        )

    def _tables(self) -> Iterable[str]:
        return (row[0] for row in self._database.rows("SELECT name FROM sqlite_master WHERE type = 'table'"))

    def _window(self, column: str, ids: Ids) -> Ids:
        """For each row's id, the place among the marks of the newest clip when it was written; -1: of none."""
        marks = np.array([row[column] for row in self._marks], np.int64)
        return np.searchsorted(marks, ids, side="left").astype(np.int64) - 1

    def _in_later(self, windows: Ids) -> NDArray[np.bool_]:
        if not len(self._is_later):
            return np.zeros(len(windows), bool)
        return (windows >= 0) & self._is_later[np.maximum(windows, 0)]

    def _written_later(self, column: str, ids: Sequence[int]) -> NDArray[np.bool_]:
        """Whether each row was written while this clip or a later one was the newest."""
        return self._in_later(self._window(column, np.array(ids, np.int64)))
