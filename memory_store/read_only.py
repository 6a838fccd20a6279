"""Opening a memory that may not be written: on a read-only disk, or owned by somebody else."""

import shutil
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote


def connect_read_only(
    path: Path, busy_timeout_s: float
) -> tuple[sqlite3.Connection, TemporaryDirectory[str] | None]:
    """A connection that reads all that was committed, and the directory of a copy where one was needed.

    A file in WAL mode wants to write its log's index even for reading. Where that may not be done and no log
    lies beside it, the file is opened as immutable: a process with the right to write must not start meanwhile.
    A log that was never folded in holds committed memories, so that file and log are read from a copy.
    Raises sqlite3.Error and OSError.
    """
    uri = f"file:{quote(str(path.absolute()))}"
    try:
        return _connected(f"{uri}?mode=ro", busy_timeout_s), None
    except sqlite3.OperationalError as error:
        if (
            error.sqlite_errorname not in ("SQLITE_CANTOPEN", "SQLITE_READONLY_DIRECTORY")
            or not path.exists()
        ):
            raise
    log = path.with_name(path.name + "-wal")
    if not log.exists() or not log.stat().st_size:
        return _connected(f"{uri}?mode=ro&immutable=1", busy_timeout_s), None
    copy = TemporaryDirectory(prefix="hearsight-")
    for file in (path, log):
        shutil.copyfile(file, Path(copy.name) / file.name)
    return _connected(f"file:{quote(copy.name)}/{quote(path.name)}?mode=rw", busy_timeout_s), copy


def _connected(uri: str, busy_timeout_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri, uri=True, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.execute("PRAGMA temp_store = MEMORY")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
