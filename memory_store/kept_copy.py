"""A changed copy of a memory, kept in a temporary directory until another is asked for or the memory changes."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from memory_store.database import Database
from memory_store.errors import InvalidValue

if TYPE_CHECKING:
    from memory_store.store import MemoryStore


class KeptCopy:
    """Makes copies of a database and opens them as memories of their own, to be read only."""

    def __init__(self, database: Database, opener: "Callable[[Path], MemoryStore]") -> None:
        self._database = database
        self._opener = opener
        self._key: tuple[object, ...] = ()
        self._directory: TemporaryDirectory[str] | None = None
        self._store: MemoryStore | None = None

    def made(self, name: object, change: Callable[[Path], None]) -> "MemoryStore":
        """The copy of that name; where it is not the one that is kept, copied anew and changed in its file.

        Takes as long as a copy. Raises InvalidValue within a transaction.
        """
        if self._database.in_write:
            raise InvalidValue("a copy of the memory cannot be asked for while writing: end the transaction")
        key = (name, *self._database.version())
        if self._store is None or key != self._key:
            self.close()
            self._directory = TemporaryDirectory(prefix="hearsight-")
            path = Path(self._directory.name) / "memory.db"
            self._database.copy_to(path)
            change(path)
            self._store, self._key = self._opener(path.parent), key
        return self._store

    def close(self) -> None:
        """Close and delete the copy, if there is one."""
        if self._store is not None:
            self._store.close()
        if self._directory is not None:
            self._directory.cleanup()
        self._store = self._directory = None
