"""Every row of a damaged database that can be read, copied into a new file; and which rows were lost.

By SQL in ranges of keys that shrink around a damaged page, then, for what a damaged tree cuts off, page by page.
Triggers do not run and references are not checked meanwhile: `mend` puts both right afterwards.
"""

import shutil
import sqlite3
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from memory_store.columns import Column, columns_of, completed, first_key, fits, has_rowid, is_sound
from memory_store.database import Database
from memory_store.raw_pages import RawPages
from memory_store.tables import plain_tables

_KEYS = 512  # read at once
_MOST_FAILURES = 3000  # in one table; a tree whose root is damaged is left to the raw pages
_MOST_KEYS = 10_000_000  # looked at where the database does not tell how many it has given
_CAUGHT = (sqlite3.DatabaseError, OverflowError)
_REFUSED = (sqlite3.IntegrityError, sqlite3.InterfaceError)


@dataclass
class Salvaged:
    """Rows copied by table; lost: the keys of rows that were there and could not be read, as far as these are known.

    unread: tables of which more may be lost than is known. from_pages: rows that only their pages still gave.
    """

    copied: dict[str, int] = field(default_factory=dict)
    failed: dict[str, set[int]] = field(default_factory=dict)  # keys at which reading met a damaged page
    from_pages: dict[str, int] = field(default_factory=dict)
    lost: dict[str, list[int]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


def salvage(damaged: Path, target: Path) -> Salvaged:
    """Make a new memory at `target` of what can be read of `damaged`. Raises MemoryStoreError and OSError.

    The damaged file, with its log, is only read; a copy beside the target is used and deleted.
    """
    copy = target.with_name("damaged.db")
    for suffix in ("", "-wal"):
        source = damaged.with_name(damaged.name + suffix)
        if source.exists():
            shutil.copyfile(source, copy.with_name(copy.name + suffix))
    Database.open(target).close()
    source_db, target_db = _opened(copy), sqlite3.connect(target, isolation_level=None)
    try:
        target_db.execute("PRAGMA foreign_keys = OFF")
        target_db.execute("BEGIN IMMEDIATE")
        triggers = target_db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            target_db.execute(f"DROP TRIGGER {name}")
        done = _copy_all(source_db, target_db, copy)
        for _, sql in triggers:
            target_db.execute(sql)
        target_db.execute("COMMIT")
    finally:
        if source_db is not None:
            source_db.close()
        target_db.close()
        for suffix in ("", "-wal", "-shm"):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    return done


def _opened(copy: Path) -> sqlite3.Connection | None:
    """The copy with its log folded in; None where SQLite cannot open it at all."""
    connection = sqlite3.connect(copy, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        connection.execute("PRAGMA cell_size_check = ON")
    except sqlite3.DatabaseError:
        connection.close()
        return None
    return connection


def _copy_all(source: sqlite3.Connection | None, target: sqlite3.Connection, copy: Path) -> Salvaged:
    done = Salvaged()
    tables = [table for table in plain_tables(target) if table != "_sqlite_migrations"]
    for table in tables:
        target.execute(f"DELETE FROM {table}")
    if source is not None:
        for table in tables:
            complete = _copy_by_key(source, target, table, done)
            if not complete:
                done.unread.append(table)
        _copy_sequences(source, target)
    with_rowid = {table: columns_of(target, table) for table in tables if has_rowid(target, table)}
    _copy_from_pages(copy, source, target, with_rowid, done)
    if source is None:
        done.unread = tables
    else:
        _find_lost(source, target, with_rowid, done)
    return done


def _copy_by_key(source: sqlite3.Connection, target: sqlite3.Connection, table: str, done: Salvaged) -> bool:
    """Copy what the table's tree leads to; whether nothing stood in the way."""
    here = {column.name for column in columns_of(target, table)}
    try:
        there = [column.name for column in columns_of(source, table)]
    except _CAUGHT:
        return False
    columns = [name for name in there if name in here]
    if not columns:
        return True  # a table that the older schema did not have
    key = "rowid" if has_rowid(target, table) else first_key(target, table)
    kinds = {column.name: column for column in columns_of(target, table)}
    newest = _newest(source, table)
    complete, copied = True, 0
    failed = done.failed.setdefault(table, set())
    for rows in _ranges(source, table, columns, key, failed):
        if rows is None:
            complete = False
            continue
        sound = [row for row in rows if is_sound(row, [kinds[name] for name in columns], newest)]
        added = _insert(target, table, columns, sound)
        complete &= added == len(rows)  # a row that comes twice stands where another one was
        copied += added
    done.copied[table] = copied
    return complete


def _highest(source: sqlite3.Connection) -> int:
    """No key of any table is above this: they all are ids that some table has given."""
    try:
        row = source.execute("SELECT max(seq) FROM sqlite_sequence WHERE seq < 1 << 40").fetchone()
    except _CAUGHT:
        return _MOST_KEYS
    return _MOST_KEYS if row is None or row[0] is None else int(row[0])


def _newest(source: sqlite3.Connection, table: str) -> int | None:
    """The highest id that was ever given in a table, where the database keeps that."""
    try:
        row = source.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    except _CAUGHT:
        return None
    return None if row is None else int(row[0])


def _ranges(
    source: sqlite3.Connection, table: str, columns: Sequence[str], key: str, failed: set[int]
) -> Iterator[list[tuple[Any, ...]] | None]:
    """Rows in the order of the key; None for each part that cannot be read, whose keys are added to `failed`."""
    select = f"SELECT {', '.join(columns)} FROM {table}"
    try:
        bounds = source.execute(f"SELECT min({key}), max({key}) FROM {table}").fetchone()
    except _CAUGHT:
        bounds = (1, _newest(source, table))
        yield None
    if None in bounds:
        return
    if not all(isinstance(bound, int) for bound in bounds):
        try:
            yield source.execute(select).fetchall()
        except _CAUGHT:
            yield None
        return
    low, high = max(bounds[0], 0), min(bounds[1], _highest(source))
    if (low, high) != tuple(bounds):
        yield None  # a page of rubbish gave the first or last key
    bounds = (low, high)
    failures = 0
    parts = [(low, min(low + _KEYS - 1, bounds[1])) for low in range(bounds[0], bounds[1] + 1, _KEYS)][::-1]
    while parts and failures < _MOST_FAILURES:
        low, high = parts.pop()
        try:
            yield source.execute(f"{select} WHERE {key} BETWEEN ? AND ?", (low, high)).fetchall()
        except _CAUGHT:
            failures += 1
            if low == high:
                failed.add(low)
                yield None
            else:
                middle = (low + high) // 2
                parts += [(middle + 1, high), (low, middle)]
    if parts:
        yield None


def _insert(
    target: sqlite3.Connection, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> int:
    """Insert rows that the schema takes and that are not there yet; how many."""
    marks = ", ".join("?" * len(columns))
    sql = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})"
    before = target.total_changes
    try:
        target.executemany(sql, rows)
    except _REFUSED:  # a row of rubbish: each by itself, those that are there already stay
        for row in rows:
            with suppress(*_REFUSED):
                target.execute(sql, row)
    return target.total_changes - before


def _copy_sequences(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """No id is ever given again, also not one that was lost."""
    try:
        rows = source.execute("SELECT name, seq FROM sqlite_sequence").fetchall()
    except _CAUGHT:
        return
    for name, number in rows:
        if (
            target.execute(
                "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (number, name)
            ).rowcount
            == 0
        ):
            target.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, number))


def _copy_from_pages(
    copy: Path,
    source: sqlite3.Connection | None,
    target: sqlite3.Connection,
    tables: Mapping[str, list[Column]],
    done: Salvaged,
) -> None:
    pages = RawPages(copy)
    for rows in pages.leaves(but=_copied_pages(pages, source, target, tables)):
        fitting = [table for table, columns in tables.items() if all(fits(row, columns) for row in rows)]
        if len(fitting) != 1:
            continue
        (table,) = fitting
        columns = tables[table]
        names = ["rowid", *(column.name for column in columns if column.key != 1 or column.type != "INTEGER")]
        values = [completed(row, columns) for row in rows]
        added = _insert(target, table, names, values)
        if added:
            done.from_pages[table] = done.from_pages.get(table, 0) + added


def _copied_pages(
    pages: RawPages, source: sqlite3.Connection | None, target: sqlite3.Connection, tables: Container[str]
) -> set[int]:
    """The pages of which every row was copied by its key, and those of tables that are not copied."""
    found = set[int]()
    try:
        listed = "SELECT name, rootpage FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        roots = [] if source is None else source.execute(listed).fetchall()
    except _CAUGHT:
        return found
    for table, root in roots:
        sql = f"SELECT count(*) FROM {table} WHERE rowid BETWEEN ? AND ?" if table in tables else ""
        for number, rowids in pages.leaves_under(root):
            bounds = (min(rowids), max(rowids))
            if not sql or target.execute(sql, bounds).fetchone()[0] == len(set(rowids)):
                found.add(number)
    return found


def _find_lost(
    source: sqlite3.Connection, target: sqlite3.Connection, tables: Iterable[str], done: Salvaged
) -> None:
    """Rowids that an index of the damaged file still names, or where reading failed, and that were not copied."""
    for table in tables:
        known = np.array(sorted(done.failed.get(table, ())), np.int64)
        for index in _indexes(source, table):
            named = np.fromiter(_rowids(source, f"{table} INDEXED BY {index}"), np.int64)
            known = np.union1d(known, named)
        gone = np.setdiff1d(known, np.fromiter(_rowids(target, table), np.int64), assume_unique=True)
        newest = _newest(source, table)
        lost = gone.tolist() if newest is None else gone[gone <= newest].tolist()
        if lost:
            done.lost[table] = lost


def _rowids(connection: sqlite3.Connection, table: str) -> Iterator[int]:
    """The rowids that a table or an index of it gives, until it meets a damaged page."""
    try:
        yield from (
            row[0] for row in connection.execute(f"SELECT rowid FROM {table}") if isinstance(row[0], int)
        )
    except _CAUGHT:
        return


def _indexes(source: sqlite3.Connection, table: str) -> list[str]:
    """The indexes that name every row of a table."""
    sql = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql NOT LIKE '%WHERE%'"
    try:
        return [row[0] for row in source.execute(sql, (table,))]
    except _CAUGHT:
        return []
