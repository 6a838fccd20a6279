"""A file of JSON lines that is only ever appended to: what is written stays, whatever kills the process."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from offline_tools.evaluate.errors import EvaluateError
from offline_tools.evaluate.reading import faults_of

T = TypeVar("T")


class LinesFile(Generic[T]):
    """Records of one kind, a line each. To be used in a `with` block, in which no other process may write to it."""

    def __init__(self, path: Path, kind: type[T]) -> None:
        """Opens and locks the file, which is made where it is missing. Raises EvaluateError."""
        self._path = path
        self._form = TypeAdapter(kind)
        self._one_at_a_time = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b")
        except OSError as error:
            raise EvaluateError(f"cannot write {path}: {error.strerror}; choose another place") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise EvaluateError(f"another evaluation is writing {path}: let it finish first") from error
        except OSError as error:
            self._file.close()
            raise EvaluateError(
                f"cannot lock {path}: {error.strerror}; choose a disk of this machine"
            ) from error
        try:
            self._records = self._read()
        except EvaluateError:
            self._file.close()
            raise

    def __enter__(self) -> LinesFile[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def records(self) -> list[T]:
        """All records, in the order in which they were written."""
        return list(self._records)

    def append(self, record: T) -> None:
        """Write one more; it is in the file when this returns. Raises EvaluateError where the disk takes no more."""
        told = json.dumps(asdict(record), ensure_ascii=False)  # type: ignore[call-overload]
        with self._one_at_a_time:
            try:
                self._file.write(told.encode("utf-8", "replace") + b"\n")
                self._file.flush()
            except OSError as error:
                raise EvaluateError(
                    f"cannot write {self._path}: {error.strerror}; all before is kept"
                ) from error
            self._records.append(record)

    def _read(self) -> list[T]:
        """The records; what a killed run left of a line is cut off. Raises EvaluateError with all broken lines."""
        self._file.seek(0)
        data = self._file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(self._path, whole)
        return _records(self._path, data[:whole], self._form)


def read_lines(path: Path, kind: type[T]) -> list[T]:
    """The records of a file that somebody may be writing; none where there is no file. Raises EvaluateError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise EvaluateError(f"cannot read {path}: {error.strerror}") from error
    return _records(path, data[: data.rfind(b"\n") + 1], TypeAdapter(kind))


def _records(path: Path, data: bytes, form: TypeAdapter[T]) -> list[T]:
    records, faults = list[T](), list[str]()
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            records.append(form.validate_json(line, strict=True))
        except ValidationError as error:
            faults.append(f"  line {number}: {next(faults_of(error))}")
    if faults:
        raise EvaluateError("\n".join([f"{path} has broken lines; mend or delete them:", *faults]))
    return records


def write_json(path: Path, document: Any) -> None:
    """Write a document whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)
