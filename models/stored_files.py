"""Model files on disk: whether each is whole and right, hashed once and again only after it has changed."""

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models.errors import ModelError

log = logging.getLogger(__name__)

State = Literal["missing", "partial", "ok", "corrupt"]
VERIFIED = ".verified.json"  # sidecar in an entry's directory: file name → size, mtime and sha256 when hashed
_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class ModelFile:
    """A file of a model; size and sha256 are absent where they are not known."""

    name: str
    bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class FileCheck:
    """What was found of a file; `problem` says in words what is wrong, and is empty when nothing is."""

    state: State
    bytes: int
    problem: str = ""


def hash_file(path: Path, progress: Callable[[int], None] | None = None) -> str:
    """The sha256 of a file in hex; `progress` is told the bytes read so far."""
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while block := stream.read(_READ_BYTES):
            digest.update(block)
            done += len(block)
            if progress is not None:
                progress(done)
    return digest.hexdigest()


def check_file(directory: Path, file: ModelFile, *, rehash: bool = False) -> FileCheck:
    """Compare a file with what the manifest says of it: existence, size, sha256.

    A file that was hashed before and has kept size and modification time is not hashed again, unless `rehash`.
    Without a sha256 in the manifest, the one given when the file was fetched counts.
    """
    path = directory / file.name
    try:
        status = path.stat()
        if file.bytes is not None and status.st_size != file.bytes:
            state: State = "partial" if status.st_size < file.bytes else "corrupt"
            return FileCheck(
                state, status.st_size, f"file {file.name} has {status.st_size} of {file.bytes} bytes"
            )
        known = _read_verified(directory).get(file.name)
        wanted = file.sha256 or (known[2] if known else None)
        if wanted is None:
            problem = f"file {file.name} has no known sha256 to compare with"
            return FileCheck("corrupt", status.st_size, problem)
        stamp = (status.st_size, status.st_mtime_ns, wanted)
        if known == stamp and not rehash:
            return FileCheck("ok", status.st_size)
        found = hash_file(path)
    except FileNotFoundError:
        return FileCheck("missing", 0, f"file {file.name} is missing")
    except OSError as error:
        raise ModelError(f"cannot read the model file {path}: {error.strerror}") from error
    if found != wanted:
        problem = f"file {file.name} has sha256 {found[:12]}…, not {wanted[:12]}…"
        return FileCheck("corrupt", status.st_size, problem)
    if known != stamp:
        _write_verified(directory, file.name, stamp)
    return FileCheck("ok", status.st_size)


def mark_verified(directory: Path, name: str, sha256: str) -> None:
    """Note that the file as it now is has this hash."""
    status = (directory / name).stat()
    _write_verified(directory, name, (status.st_size, status.st_mtime_ns, sha256))


def put_in_place(part: Path, target: Path) -> None:
    """Make a finished .part file durable and give it its name."""
    with part.open("rb+") as stream:
        os.fsync(stream.fileno())
    os.replace(part, target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _read_verified(directory: Path) -> dict[str, tuple[int, int, str]]:
    try:
        stored = json.loads((directory / VERIFIED).read_text(encoding="utf-8"))
        return {str(name): (int(row[0]), int(row[1]), str(row[2])) for name, row in stored.items()}
    except (FileNotFoundError, ValueError, AttributeError, TypeError, IndexError):
        return {}  # a lost or damaged sidecar costs one hashing


def _write_verified(directory: Path, name: str, stamp: tuple[int, int, str]) -> None:
    rows = _read_verified(directory) | {name: stamp}
    part = directory / f"{VERIFIED}.{os.getpid()}.part"
    try:
        part.write_text(json.dumps(rows, indent=1, sort_keys=True), encoding="utf-8")
        os.replace(part, directory / VERIFIED)
    except OSError as error:
        log.debug("cannot note verified files in %s (%s): they are hashed at each start", directory, error)
        with contextlib.suppress(FileNotFoundError, PermissionError):
            part.unlink()
