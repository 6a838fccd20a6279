"""Appends training rows to a file: a row is there whole or not at all, and a stopped run goes on where it was."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path
from types import TracebackType

from offline_tools.chatml import Row
from offline_tools.errors import OfflineToolError


class RowWriter:
    """One file of rows, held by one process at a time. `known`: the ids of its rows; `folder`: where it lies.

    A line that a kill cut off is cut away when the file is opened again. Raises OfflineToolError where another process
    writes the file, it cannot be written, or it holds a line that is no row.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.folder = path.parent
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise OfflineToolError(f"cannot write {path}: {error.strerror}; choose another file") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise OfflineToolError(
                f"another run writes {path}: wait for it, or choose another file"
            ) from error
        self.known = self._ids()

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append(self, row: Row) -> bool:
        """Write a row durably; False where its id is there already. Raises OfflineToolError when the disk is full."""
        if row.id in self.known:
            return False
        data = row.as_line().encode("utf-8")
        size = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, data)
            if written < len(data):
                raise OSError(0, f"only {written} of {len(data)} bytes were taken")
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, size)
            raise OfflineToolError(f"cannot write {self._path}: {error.strerror}; free some space") from error
        self.known.add(row.id)
        return True

    def close(self) -> None:
        """Let others write the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _ids(self) -> set[str]:
        data = self._path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._file, whole)
        ids: set[str] = set()
        for number, line in enumerate(data[:whole].split(b"\n")[:-1], start=1):
            try:
                ids.add(str(json.loads(line)["id"]))
            except (ValueError, KeyError, TypeError) as error:
                os.close(self._file)
                raise OfflineToolError(
                    f"{self._path}:{number}: is no row: mend or remove the line"
                ) from error
        return ids


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write a whole file of rows in one step, replacing an older one. Raises OfflineToolError."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8") as file:
            file.writelines(row.as_line() for row in rows)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise OfflineToolError(f"cannot write {path}: {error.strerror}; free some space or rights") from error
