"""The archive of a backup: a zip file with the database, the media, and a manifest with the sha256 of each."""

import hashlib
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from memory_store.errors import BackupUnusable

FORMAT = 1
DATABASE = "memory.db"
_MANIFEST = "manifest.json"
_BLOCK = 1 << 20
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    TypeError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True)
class BackupEntry:
    """One file of a backup, by its path under the data directory."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class BackupManifest:
    """What a backup holds: which memory, made when (UTC, ISO 8601), its migrations, rows by table, and its files.

    missing: media files that the memory names and that were gone or other than remembered when it was made.
    """

    format: int
    memory: str
    made_utc: str
    migrations: tuple[str, ...]
    counts: Mapping[str, int]
    missing: tuple[str, ...]
    files: tuple[BackupEntry, ...]

    @property
    def bytes(self) -> int:
        """The bytes of all files."""
        return sum(entry.bytes for entry in self.files)


class BackupWriter:
    """Writes the files of a backup one after another, then the manifest."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.entries: list[BackupEntry] = []

    def add(self, path: str, file: Path) -> BackupEntry:
        """Add one file under a path; raises OSError."""
        digest, size = hashlib.sha256(), 0
        info = zipfile.ZipInfo(path)
        info.compress_type = zipfile.ZIP_DEFLATED if path == DATABASE else zipfile.ZIP_STORED
        info._compresslevel = 1  # type: ignore[attr-defined]  # public from Python 3.13 on
        with open(file, "rb") as source, self._archive.open(info, "w", force_zip64=True) as sink:
            while block := source.read(_BLOCK):
                digest.update(block)
                size += len(block)
                sink.write(block)
        self.entries.append(BackupEntry(path, size, digest.hexdigest()))
        return self.entries[-1]

    def finish(self, manifest: BackupManifest) -> None:
        """Add the manifest."""
        self._archive.writestr(_MANIFEST, json.dumps(asdict(manifest), indent=1))


@contextmanager
def writing(target: Path) -> Iterator[BackupWriter]:
    """A backup that appears under its name whole and on disk, or not at all; readable by its owner. Raises OSError."""
    part = target.with_name(f".{target.name}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w") as archive:
                yield BackupWriter(archive)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
        sync_directory(target.parent)
    finally:
        part.unlink(missing_ok=True)  # it has its name already, or never gets one


def read_manifest(path: Path) -> BackupManifest:
    """The manifest, after every file was compared with it. Raises BackupUnusable, or OSError for no such file."""
    with _reading(path) as (archive, manifest):
        for entry in manifest.files:
            for _ in _blocks(archive, entry):
                pass
    return manifest


def extract(path: Path, into: Path) -> None:
    """Write the files of a backup into an empty directory, comparing them once more. Raises as `read_manifest`."""
    with _reading(path) as (archive, manifest):
        for entry in manifest.files:
            file = into / entry.path
            file.parent.mkdir(parents=True, exist_ok=True)
            with open(file, "wb") as sink:
                for block in _blocks(archive, entry):
                    sink.write(block)
                sink.flush()
                os.fsync(sink.fileno())


def sync_directory(directory: Path) -> None:
    """Bring the names in a directory to the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _reading(path: Path) -> Iterator[tuple[zipfile.ZipFile, BackupManifest]]:
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(archive.read(_MANIFEST))
            names = [name for name in archive.namelist() if name != _MANIFEST]
            if sorted(names) != sorted(entry.path for entry in manifest.files):
                raise ValueError("it holds other files than its manifest says")
            yield archive, manifest
    except _UNREADABLE as error:
        reason = error.args[0] if error.args else type(error).__name__
        raise BackupUnusable(
            f"{path} is no whole backup ({reason}): nothing was changed; use another backup"
        ) from error


def _manifest(text: bytes) -> BackupManifest:
    values = json.loads(text)
    if values["format"] != FORMAT:
        raise ValueError(f"it has format {values['format']}, this Hearsight reads {FORMAT}")
    entries = tuple(BackupEntry(**entry) for entry in values.pop("files"))
    for key in ("migrations", "missing"):
        values[key] = tuple(values[key])
    _check_paths(entry.path for entry in entries)
    return BackupManifest(files=entries, **values)


def _check_paths(paths: Iterable[str]) -> None:
    found = list(paths)
    if found.count(DATABASE) != 1 or len(set(found)) != len(found):
        raise ValueError("it does not hold one database, or a file twice")
    for path in found:
        pure = PurePosixPath(path)
        if path != DATABASE and (pure.parts[0] != "media" or ".." in pure.parts or "\\" in path):
            raise ValueError(f"its file {path!r} would lie outside of the memory")


def _blocks(archive: zipfile.ZipFile, entry: BackupEntry) -> Iterator[bytes]:
    if archive.getinfo(entry.path).file_size != entry.bytes:
        raise ValueError(f"{entry.path} has not the {entry.bytes} bytes of the manifest")
    digest = hashlib.sha256()
    with archive.open(entry.path) as source:
        while block := source.read(_BLOCK):
            digest.update(block)
            yield block
    if digest.hexdigest() != entry.sha256:
        raise ValueError(f"{entry.path} has not the sha256 of the manifest")
