"""The tables of a memory as the schema itself lists them."""

import sqlite3


def text_indexes(connection: sqlite3.Connection) -> list[str]:
    """The FTS5 tables, each an index that can be rebuilt from other rows."""
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'"
    )
    return sorted(row[0] for row in rows)


def plain_tables(connection: sqlite3.Connection) -> list[str]:
    """The tables that hold the memory: neither text indexes with their shadows, nor SQLite's own."""
    indexes = text_indexes(connection)
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return sorted(
        name
        for (name,) in (tuple(row) for row in rows)
        if not name.startswith("sqlite_")
        and not any(name == index or name.startswith(f"{index}_") for index in indexes)
    )
