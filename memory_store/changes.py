"""Records every row that changes during a correction, and turns such a record back exactly.

The recording is done by SQLite itself, by temporary triggers, so that no writing path can be forgotten.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from memory_store.database import Database
from memory_store.errors import ChangeContradicted

_TRACKED = (
    "persons",
    "person_nodes",
    "nodes",
    "node_clips",
    "edges",
    "vectors",
    "votes",
    "negatives",
    "name_evidence",
    "facts",
)
# What later clips go on changing, and what follows from other rows: never compared, and put back only for a face
# or voice that no clip speaks for, since nothing else tells of it then.
_DERIVED = {
    "nodes": ("weight", "start_utc_s", "end_utc_s", "first_seen_utc_s", "last_seen_utc_s"),
    "edges": ("last_activated_utc_s", "activation_count"),
}

# Of these a row may go at any time, for instance an example for a better one: then there is nothing to put back.
_REPLACEABLE = ("vectors", "negatives", "votes")

Literals = dict[str, str]  # SQL literals by column, as SQLite's quote() writes them


@dataclass(frozen=True)
class Change:
    """One row inserted, updated or deleted: its key, and the columns that matter before and after.

    The operation "derived" is an update of derived columns alone.
    """

    operation: str
    table: str
    key: Literals
    before: Literals
    after: Literals


class Changes:
    """Records and reverts changes, inside the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.recording = False

    @contextmanager
    def recorded(self) -> Iterator[list[Change]]:
        """A list that holds, after the block, all that changed in it, in order."""
        found: list[Change] = []
        tables = self._tables()
        self._start(tables)
        self.recording = True
        try:
            yield found
        except BaseException:  # the transaction may go on all the same
            self._stop(tables)
            raise
        finally:
            self.recording = False
        rows = self._database.rows("SELECT operation, name, before, after FROM recorded_changes ORDER BY id")
        for operation, name, before, after in rows:
            change = _change(operation, name, tables[name], json.loads(before), json.loads(after))
            if change is not None:
                found.append(change)
        self._stop(tables)

    def revert(self, changes: Sequence[Change]) -> None:
        """Put back what the changes changed, last one first.

        Raises ChangeContradicted, naming what stands against it, where a row was changed again since.
        """
        self._database.write("PRAGMA defer_foreign_keys = ON")
        put_back: list[Change] = []
        for change in reversed([change for change in changes if change.operation != "derived"]):
            where = _matching(change.key)
            exists = self._database.row(f"SELECT 1 FROM {change.table} WHERE {where}") is not None
            if not exists and change.operation != "delete" and change.table in _REPLACEABLE:
                continue
            if exists == (change.operation == "delete"):
                raise ChangeContradicted(_contradiction(change))
            if change.operation == "insert":
                self._refuse_referred(change)
                self._database.write(f"DELETE FROM {change.table} WHERE {where}")
            elif change.operation == "delete":
                columns, values = ", ".join(change.before), ", ".join(change.before.values())
                # an edge may have been drawn anew since, under another id
                self._database.write(f"INSERT OR IGNORE INTO {change.table} ({columns}) VALUES ({values})")
                put_back.append(change)
            else:
                values = ", ".join(f"{column} = {value}" for column, value in change.before.items())
                sql = f"UPDATE {change.table} SET {values} WHERE {where} AND {_matching(change.after)}"
                if self._database.write(sql).rowcount == 0:
                    raise ChangeContradicted(_contradiction(change))

        for change in put_back:
            self._refuse_orphan(change)
        for change in reversed([change for change in changes if change.operation == "derived"]):
            values = ", ".join(f"{column} = {value}" for column, value in change.before.items())
            clips = f"SELECT 1 FROM node_clips WHERE node_id = {change.key['id']}"
            sql = f"UPDATE nodes SET {values} WHERE {_matching(change.key)} AND NOT EXISTS ({clips})"
            self._database.write(sql)

    def _refuse_orphan(self, change: Change) -> None:
        """A row put back needs what it refers to; one of an example or vote goes again where that is gone."""
        if self._database.row(f"SELECT 1 FROM {change.table} WHERE {_matching(change.key)}") is None:
            return  # made and unmade by the same change, so that taking back its making took it away again
        for reference in self._database.rows(f"PRAGMA foreign_key_list({change.table})"):
            value = change.before[reference["from"]]
            sql = f"SELECT 1 FROM {reference['table']} WHERE {reference['to']} IS {value}"
            if value == "NULL" or self._database.row(sql) is not None:
                continue
            if change.table not in _REPLACEABLE:
                raise ChangeContradicted(f"what {_row_name(change)} refers to is gone since")
            self._database.write(f"DELETE FROM {change.table} WHERE {_matching(change.key)}")

    def _tables(self) -> dict[str, dict[str, bool]]:
        """The columns of each tracked table, and whether each is part of the key."""
        tables = {}
        for table in _TRACKED:
            columns = self._database.rows(f"PRAGMA table_info({table})")
            if columns:
                tables[table] = {row["name"]: bool(row["pk"]) for row in columns}
        return tables

    def _start(self, tables: dict[str, dict[str, bool]]) -> None:
        write = self._database.write
        write(
            """CREATE TEMP TABLE recorded_changes
            (id INTEGER PRIMARY KEY, operation TEXT, name TEXT, before TEXT, after TEXT)"""
        )
        for table, columns in tables.items():
            old, new = (
                "json_object(" + ", ".join(f"'{name}', quote({row}.{name})" for name in columns) + ")"
                for row in ("old", "new")
            )
            values = {"insert": ("'{}'", new), "update": (old, new), "delete": (old, "'{}'")}
            for operation, (before, after) in values.items():
                write(
                    f"""CREATE TEMP TRIGGER record_{operation}_{table} AFTER {operation} ON main.{table} BEGIN
                    INSERT INTO recorded_changes (operation, name, before, after)
                    VALUES ('{operation}', '{table}', {before}, {after}); END"""
                )

    def _stop(self, tables: dict[str, dict[str, bool]]) -> None:
        for table in tables:
            for operation in ("insert", "update", "delete"):
                self._database.write(f"DROP TRIGGER IF EXISTS record_{operation}_{table}")
        self._database.write("DROP TABLE IF EXISTS recorded_changes")

    def _refuse_referred(self, change: Change) -> None:
        """A row that others have come to refer to since is not taken away."""
        for table in self._tables():
            for reference in self._database.rows(f"PRAGMA foreign_key_list({table})"):
                if reference["table"] != change.table:
                    continue
                sql = f"SELECT 1 FROM {table} WHERE {reference['from']} IS {change.key[reference['to']]}"
                if self._database.row(sql) is not None:
                    raise ChangeContradicted(
                        f"{_row_name(change)} was made by it, and newer memories speak of it"
                    )


def to_json(changes: Sequence[Change]) -> str:
    """The changes as text for the database."""
    rows = [[change.operation, change.table, change.key, change.before, change.after] for change in changes]
    return json.dumps(rows, ensure_ascii=False)


def from_json(text: str) -> list[Change]:
    """What `to_json` wrote."""
    return [Change(*row) for row in json.loads(text)]


def _change(operation: str, table: str, columns: dict[str, bool], before: Any, after: Any) -> Change | None:
    row = after if operation == "insert" else before
    key = {name: row[name] for name, in_key in columns.items() if in_key}
    if operation == "insert":
        return Change(operation, table, key, {}, {})
    if operation == "delete":
        return Change(operation, table, key, before, {})
    changed = [
        name for name in columns if before[name] != after[name] and name not in _DERIVED.get(table, ())
    ]
    if not changed:
        derived = {name: before[name] for name in _DERIVED.get(table, ())}
        return Change("derived", table, key, derived, {}) if table == "nodes" else None
    return Change(
        operation,
        table,
        {name: after[name] for name in key},
        {name: before[name] for name in changed},
        {name: after[name] for name in changed},
    )


def _matching(literals: Literals) -> str:
    return " AND ".join(f"{column} IS {value}" for column, value in literals.items())


def _row_name(change: Change) -> str:
    name = {"persons": "person_{id}", "nodes": "memory {id}", "person_nodes": "face or voice {node_id}"}
    return name.get(change.table, f"a row of {change.table}").format(**change.key)


def _contradiction(change: Change) -> str:
    verb = "was given to somebody else" if change.table == "person_nodes" else "was changed again"
    return f"{_row_name(change)} {verb} since"
