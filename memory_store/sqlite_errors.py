"""SQLite's errors as the store's own, each naming the file and what to do."""

import sqlite3
from pathlib import Path

from memory_store.errors import (
    DatabaseBusy,
    DatabaseUnusable,
    InvalidValue,
    MemoryStoreError,
    ReadOnlyStorage,
    StorageFull,
)

NOT_STORABLE = (OverflowError, UnicodeEncodeError)  # numbers beyond 64 bits, text that is no Unicode


def refused(error: Exception) -> InvalidValue:
    """The store's own error for a value that SQLite cannot hold."""
    return InvalidValue(
        f"no memory holds such a value ({error}): give a smaller number, or text in proper UTF-8"
    )


def read_only(path: Path) -> ReadOnlyStorage:
    """The one sentence with which a write to a read-only memory is refused."""
    return ReadOnlyStorage(
        f"{path} can only be read here, so that nothing new is kept: check its owner and mode, and its disk"
    )


def translate(error: sqlite3.Error, path: Path) -> MemoryStoreError:
    """The store's own error for one of SQLite's, naming the file and what to do."""
    code = getattr(error, "sqlite_errorname", None) or ""
    if code.startswith("SQLITE_FULL"):
        return StorageFull(f"no space left for {path}: nothing of this transaction was kept; free some space")
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return DatabaseBusy(f"{path} stayed locked by another process: try again, or stop that process")
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return ReadOnlyStorage(f"{path} cannot be opened for writing ({error}): check its owner and mode")
    if code.startswith("SQLITE_NOTADB"):
        return DatabaseUnusable(
            f"{path} is not a SQLite database, or its first page is damaged: "
            "restore a backup with `hearsight restore`, save what can be read with `hearsight memory repair`, "
            "or name another directory"
        )
    if code.startswith("SQLITE_CORRUPT") or "invalid fts5" in str(error):
        return DatabaseUnusable(
            f"{path} is damaged ({error}): restore a backup with `hearsight restore`, "
            "or save what can be read with `hearsight memory repair`"
        )
    if code.startswith("SQLITE_IOERR"):
        return DatabaseUnusable(
            f"reading or writing {path} failed ({code}): check the disk and its free space"
        )
    if code.startswith("SQLITE_CONSTRAINT"):
        return InvalidValue(
            f"{path} refused a row ({error}): an id or value in it does not exist or is not legal"
        )
    return MemoryStoreError(f"{path}: {error} ({code or type(error).__name__})")
