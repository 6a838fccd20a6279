"""The SQLite connection: opening, migrating, transactions and errors that say what to do."""

import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from operator import methodcaller
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import sqlite_utils
from numpy.typing import NDArray

from memory_store.connection import configure, is_current, migrate, require_ours
from memory_store.errors import (
    DatabaseBusy,
    DatabaseUnusable,
    MemoryStoreError,
    ReadOnlyStorage,
    TransactionRequired,
)
from memory_store.read_only import connect_read_only
from memory_store.sqlite_errors import NOT_STORABLE, read_only, refused, translate
from memory_store.words import indexed_words

Row = sqlite3.Row

# Ids and scores may come as numpy's numbers; without these SQLite refuses them.
for _number in (np.int32, np.int64, np.float32):
    sqlite3.register_adapter(_number, methodcaller("item"))


class Database:
    """One connection to one memory file; to be used from one thread at a time.

    Writes need `transaction()`. Other processes may read and write the same file: readers see what
    is committed, a writer waits up to the busy timeout for its turn. With `read_only` there are no writes;
    `copy` is the directory of a copy that is read in the file's place.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        *,
        read_only: bool = False,
        copy: TemporaryDirectory[str] | None = None,
    ) -> None:
        self._connection = connection
        self.path = path
        self.read_only = read_only
        self._copy = copy
        self.in_write = False  # whether a writing transaction is open

    @classmethod
    def open(cls, path: Path, *, busy_timeout_s: float = 10.0) -> "Database":
        """Open or create the file and bring its schema up to date; raises MemoryStoreError."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ReadOnlyStorage(
                f"{path.parent} cannot be made ({error.strerror}): name another directory"
            ) from error
        try:
            connection = sqlite3.connect(
                path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise translate(error, path) from error
        try:
            connection.row_factory = sqlite3.Row
            configure(connection, path, busy_timeout_s)
            migrate(connection, path)
        except sqlite3.Error as error:
            connection.close()
            raise translate(error, path) from error
        except MemoryStoreError:
            connection.close()
            raise
        return cls(connection, path)

    @classmethod
    def open_read_only(cls, path: Path, *, busy_timeout_s: float = 10.0) -> "Database":
        """Open a file that may not be written; raises MemoryStoreError, also for one of an older schema."""
        try:
            connection, copy = connect_read_only(path, busy_timeout_s)
        except sqlite3.Error as error:
            raise translate(error, path) from error
        except OSError as error:
            raise ReadOnlyStorage(
                f"{error.filename or path} cannot be read or copied ({error.strerror}): check its owner and mode"
            ) from error
        connection.row_factory = sqlite3.Row
        connection.create_function("indexed_words", 1, indexed_words, deterministic=True)
        database = cls(connection, path, read_only=True, copy=copy)
        try:
            require_ours(connection, path)
            if not is_current(sqlite_utils.Database(connection, execute_plugins=False), path):
                raise ReadOnlyStorage(
                    f"{path} is of an older Hearsight and cannot be brought up to date, since it can only be "
                    "read here: check its owner and mode, or copy it"
                )
        except sqlite3.Error as error:
            database.close()
            raise translate(error, path) from error
        except MemoryStoreError:
            database.close()
            raise
        return database

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        except NOT_STORABLE as error:
            raise refused(error) from error

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Generator[Row, None, None]:
        """The rows of a query one by one, for whoever may not need them all; to be closed within its `snapshot`."""
        try:
            with closing(self._connection.execute(sql, parameters)) as cursor:
                yield from cursor
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        except NOT_STORABLE as error:
            raise refused(error) from error

    def row(self, sql: str, parameters: Sequence[Any] = ()) -> Row | None:
        """The first row of a query, or None."""
        rows = self.rows(sql, parameters)
        return rows[0] if rows else None

    def ids(self, sql: str, parameters: Sequence[Any] = ()) -> NDArray[np.int64]:
        """The column `id` of a query, ascending; read as one text, which takes a fifth of the time of rows."""
        row = self.row(f"SELECT coalesce(group_concat(id), '') AS ids FROM ({sql})", parameters)
        if row is None or not row["ids"]:
            return np.empty(0, np.int64)
        return np.sort(np.fromstring(row["ids"], np.int64, sep=","))

    def write(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run one writing statement; raises TransactionRequired outside of `transaction()`."""
        self.require_transaction()
        try:
            return self._connection.execute(sql, parameters)
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        except NOT_STORABLE as error:
            raise refused(error) from error

    def insert(self, table: str, values: dict[str, Any]) -> int:
        """Insert one row and return its id."""
        columns = ", ".join(values)
        marks = ", ".join("?" * len(values))
        cursor = self.write(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(values.values()))
        return int(cursor.lastrowid or 0)

    def require_transaction(self) -> None:
        """Raise TransactionRequired unless a transaction is open."""
        if not self.in_write:
            raise TransactionRequired(
                "a write outside of a transaction: put it inside `with store.transaction():`"
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything written inside is kept, or, when an exception leaves the block, nothing of it."""
        if self.read_only:
            raise read_only(self.path)
        if self._connection.in_transaction:
            raise TransactionRequired("a transaction inside another: end the first one, they do not nest")
        self._execute("BEGIN IMMEDIATE")
        self.in_write = True
        try:
            yield
            self._execute("COMMIT")
        finally:
            self._rollback()  # nothing is left to roll back after the commit
            self.in_write = False

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several reads that all see the same committed state; inside a transaction, that transaction's."""
        if self._connection.in_transaction:
            yield
            return
        self._execute("BEGIN")
        try:
            yield
        finally:
            self._rollback()

    def check(self) -> list[str]:
        """What is wrong with the file, one line a fault; empty when it is sound. Reads the whole file."""
        try:
            faults = [str(row[0]) for row in self.rows("PRAGMA integrity_check(20)") if row[0] != "ok"]
            for row in self.rows("PRAGMA foreign_key_check"):
                faults.append(f"row {row[1]} of {row[0]} refers to a missing row of {row[2]}")
            if not self.read_only:  # FTS5 checks its index by a statement that counts as a write
                with self.transaction():
                    self.write("INSERT INTO nodes_fts (nodes_fts, rank) VALUES ('integrity-check', 1)")
        except DatabaseUnusable as error:
            return [str(error)]
        return faults

    def scrub(self) -> bool:
        """Rewrite the file without a trace of what was deleted, and empty its log; needs as much room again.

        False where another process kept reading or writing for longer than the busy timeout.
        """
        try:
            self._execute("PRAGMA temp_store = FILE")  # a large memory may not fit into RAM twice
            self._execute("VACUUM")
            row = self.row("PRAGMA wal_checkpoint(TRUNCATE)")
        except DatabaseBusy:
            return False
        finally:
            self._execute("PRAGMA temp_store = MEMORY")
        return row is not None and row[0] == 0

    def copy_to(self, path: Path) -> None:
        """Write all that is committed into a new file without a trace of what was deleted; others write on."""
        try:
            self._connection.execute("VACUUM INTO ?", (str(path),))
        except sqlite3.Error as error:
            corrupt = (error.sqlite_errorname or "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
            raise translate(error, self.path if corrupt else path) from error

    def version(self) -> tuple[int, int]:
        """Two numbers of which one changes whenever another connection commits, or this one writes."""
        row = self.row("PRAGMA data_version")
        return (int(row[0]) if row is not None else 0, self._connection.total_changes)

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def _execute(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except sqlite3.Error as error:
            raise translate(error, self.path) from error

    def _rollback(self) -> None:
        if self._connection.in_transaction:  # a full disk may have ended the transaction already
            self._execute("ROLLBACK")
