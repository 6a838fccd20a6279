"""Media files opened through PyAV: which streams count, and one sentence for each way a file can be bad."""

import datetime
import hashlib
import os
from pathlib import Path
from typing import Any

import av
import av.error

from drivers.media import DriverError

Container = Any  # av ships partial types; its containers and streams stay opaque here
Stream = Any

_NOT_MEDIA_FORMATS = frozenset({"tty", "bin", "xbin", "idf", "adf"})  # demuxers that draw text files as video
_MP4_ATOMS = frozenset({b"ftyp", b"mdat", b"moov", b"free", b"wide", b"skip"})
_PICTURE_FORMATS = ("image2", "_pipe")


def check_readable(path: Path) -> None:
    """Raise DriverError unless `path` is a non-empty file that this user may read."""
    if not path.exists():
        raise DriverError(f"{path}: there is no such file; check the path and its spelling")
    if path.is_dir():
        raise DriverError(f"{path}: is a directory; name one video or audio file in it")
    if not path.is_file():
        raise DriverError(f"{path}: is not a regular file; copy the recording to a file first")
    if not os.access(path, os.R_OK):
        raise DriverError(f"{path}: may not be read by this user; change its permissions (chmod u+r)")
    if path.stat().st_size == 0:
        raise DriverError(f"{path}: is empty (0 bytes); record or copy it again")


def open_container(path: Path) -> Container:
    """Return the opened file; only local bytes are read, whatever the file itself refers to."""
    options = {"protocol_whitelist": "file", "pattern_type": "none"}
    try:
        container = av.open(f"file:{path.absolute()}", options=options, metadata_errors="replace")
    except (av.error.FFmpegError, OSError, ValueError) as error:
        raise DriverError(_why_not_opened(path, error)) from error
    if container.format.name in _NOT_MEDIA_FORMATS:
        container.close()
        raise DriverError(not_media(path))
    return container


def pick_stream(container: Container, kind: str) -> Stream | None:
    """Return the main stream of `kind` ("video" or "audio"); a cover picture is no video."""
    streams = [stream for stream in getattr(container.streams, kind) if _usable(stream)]
    best = getattr(container.streams, "best")(kind)  # noqa: B009  (absent from the type stubs)
    if best in streams:
        return best
    return streams[0] if streams else None


def is_picture(container: Container) -> bool:
    """Say whether the file is a single still picture rather than a recording."""
    name = str(container.format.name)
    return any(part in name for part in _PICTURE_FORMATS)


def prepare(stream: Stream) -> None:
    """Keep decoding on one core, and let the demuxer skip every other stream."""
    stream.codec_context.thread_count = 1
    stream.codec_context.thread_type = "NONE"


def file_sha256(path: Path) -> str:
    """Return the hex digest, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def recorded_utc_s(path: Path, container: Container) -> float | None:
    """Return when the recording was made, by its own metadata, where that is plausible.

    Plausible is after 2000 and not later than a day after the file was last written.
    """
    keys = ("com.apple.quicktime.creationdate", "creation_time", "date")
    for metadata in (container.metadata, *(stream.metadata for stream in container.streams)):
        for key in keys:
            moment = _parse_time(str(metadata.get(key, "")))
            if moment is not None and 946_684_800.0 < moment <= path.stat().st_mtime + 86_400.0:
                return moment
    return None


def _usable(stream: Stream) -> bool:
    attached = av.stream.Disposition.attached_pic
    return stream.codec_context is not None and not (stream.disposition & attached)


def _parse_time(text: str) -> float | None:
    if len(text) < len("2000-01-01T00:00"):
        return None
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()


def not_media(path: Path) -> str:
    """Return the sentence for a file of another kind."""
    return f"{path}: is not a video, audio or picture file; give one that a player such as VLC opens"


def _why_not_opened(path: Path, error: Exception) -> str:
    if not path.is_file():
        return f"{path}: is gone; put the recording back and replay it again"
    with path.open("rb") as file:
        head = file.read(12)
    if head[4:8] in _MP4_ATOMS and isinstance(error, av.error.InvalidDataError):
        return (
            f"{path}: is an MP4 without its index (the moov part): the recording or the copy was cut short; "
            "copy it again, or have it repaired by a tool for broken MP4 files"
        )
    if isinstance(error, av.error.InvalidDataError):
        return not_media(path)
    return f"{path}: cannot be opened ({error}); check the file and its permissions"
