"""Pictures and sound of the memory as files beside the database: written whole, named by clip, with their hash."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import HearsightError


class MediaFileError(HearsightError):
    """A media file could not be written or read."""


@dataclass(frozen=True)
class MediaFile:
    """Where a file lies under the data directory, and what it must hold."""

    path: str
    sha256: str
    size: int

    def as_provenance(self) -> dict[str, str | int]:
        """For a node's provenance."""
        return {"path": self.path, "sha256": self.sha256, "bytes": self.size}


def portrait_name(face_id: int) -> str:
    """The picture that shows a face."""
    return f"faces/{face_id}.jpg"


def object_name(object_id: int, clip_id: int) -> str:
    """The picture that shows an object, taken in a clip; never written over, since its node holds its hash."""
    return f"objects/{object_id}-{clip_id:08d}.jpg"


def keyframe_name(clip_id: int, number: int) -> str:
    """A clip's full pictures, numbered in the order of time."""
    return f"clips/{clip_id:08d}/{number}.jpg"


def sound_name(clip_id: int) -> str:
    """A clip's sound, kept for a model that hears."""
    return f"clips/{clip_id:08d}/sound.flac"


class MediaFiles:
    """The directory `media` under the data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._root = data_dir

    def write(self, name: str, data: bytes) -> MediaFile:
        """Store `data` as media/`name`, durably, replacing an older file of that name.

        Raises MediaFileError naming the file, for instance when the disk is full.
        """
        path = self._root / "media" / name
        part = path.with_name(path.name + ".part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(part, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise MediaFileError(
                f"cannot write {path}: {error.strerror}; free some space or rights"
            ) from error
        return MediaFile(f"media/{name}", hashlib.sha256(data).hexdigest(), len(data))

    def read(self, path: str) -> bytes:
        """The bytes of a file named in a node's provenance. Raises MediaFileError when it is gone."""
        try:
            return (self._root / path).read_bytes()
        except OSError as error:
            raise MediaFileError(f"cannot read {self._root / path}: {error.strerror}") from error

    def delete(self, path: str) -> bool:
        """Delete a file named in a node's provenance, and its directory when that is empty; whether it was there.

        Raises MediaFileError when it cannot be deleted.
        """
        full = self._root / path
        if not full.resolve().is_relative_to((self._root / "media").resolve()):
            raise MediaFileError(f"{path!r} lies outside of the memory's media: it is not deleted")
        try:
            full.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise MediaFileError(f"cannot delete {full}: {error.strerror}; check its rights") from error
        if not any(full.parent.iterdir()):
            full.parent.rmdir()
        return True

    def find(self, name: str) -> bytes | None:
        """The bytes of media/`name`, or None where there is no such file."""
        return self.read(f"media/{name}") if (self._root / "media" / name).exists() else None
