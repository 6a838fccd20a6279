"""The columns of a table, and whether values that were read from a damaged file can be a row of it."""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_store.raw_pages import RawRow

_KINDS: Mapping[str, tuple[type, ...]] = {
    "INTEGER": (int,),
    "REAL": (int, float),
    "TEXT": (str,),
    "BLOB": (bytes,),
    "": (int, float, str, bytes),
}


@dataclass(frozen=True)
class Column:
    """One column as the schema declares it; `key` is its place in the primary key, from 1 on, or 0."""

    name: str
    type: str
    required: bool
    default: Any
    key: int


def completed(row: RawRow, columns: Sequence[Column]) -> list[Any]:
    """Rowid and columns but for the key that is the rowid; columns added after the row was written have defaults."""
    values = [row.rowid]
    for number, column in enumerate(columns):
        if column.key == 1 and column.type == "INTEGER":
            continue
        values.append(row.values[number] if number < len(row.values) else column.default)  # type: ignore[arg-type]
    return values


def fits(row: RawRow, columns: Sequence[Column]) -> bool:
    """Whether a row can be one of a table: its kinds of values, and a key that is the rowid stored as NULL."""
    added = columns[len(row.values) :]
    if len(row.values) > len(columns) or any(column.required and column.default is None for column in added):
        return False
    for value, column in zip(row.values, columns, strict=False):
        if column.key == 1 and column.type == "INTEGER":
            if value is not None:
                return False
        elif value is None:
            if column.required:
                return False
        elif not isinstance(value, _KINDS[column.type]):
            return False
    return len(row.values) > 1 or len(columns) == 1


def columns_of(connection: sqlite3.Connection, table: str) -> list[Column]:
    """The columns of a table, in their order."""
    rows = connection.execute(f"PRAGMA table_info({table})").fetchall()
    return [Column(row[1], row[2].upper(), bool(row[3]), _literal(row[4]), row[5]) for row in rows]


def _literal(default: str | None) -> Any:
    if default is None:
        return None
    if re.fullmatch(r"-?\d+", default):
        return int(default)
    if re.fullmatch(r"-?\d+\.\d*", default):
        return float(default)
    return default.strip("'")


def first_key(connection: sqlite3.Connection, table: str) -> str:
    """The first column of a table's primary key."""
    return next(column.name for column in columns_of(connection, table) if column.key == 1)


def has_rowid(connection: sqlite3.Connection, table: str) -> bool:
    """Whether the rows of a table have ids of their own."""
    sql = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    return "WITHOUT ROWID" not in sql.upper()


def is_sound(row: Sequence[Any], columns: Sequence[Column], newest: int | None) -> bool:
    """Whether a row that was read can be one of its table; a page of another one gives other kinds of values."""
    for value, column in zip(row, columns, strict=True):
        if value is None:
            if column.required:
                return False
        elif not isinstance(value, _KINDS[column.type]) or (
            column.key == 1 and newest is not None and isinstance(value, int) and value > newest
        ):
            return False
    return True
