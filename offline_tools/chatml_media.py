"""What is wrong with a file that a training row names: missing, other bytes, or nothing that decodes."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Literal

import av
import av.error
import cv2
import numpy as np


def file_sha256(path: Path) -> str:
    """The hash of a file's bytes as 64 hexadecimal digits. Raises OSError."""
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def medium_fault(path: Path, kind: Literal["video", "audio", "image"], expected_sha256: str) -> str:
    """One sentence about a file that cannot be used, or ""."""
    try:
        found = file_sha256(path)
    except OSError as error:
        return f"{kind} {path} cannot be read: {error.strerror}"
    if found != expected_sha256:
        return (
            f"{kind} {path} is another file than the row's: sha256 {found[:12]}…, not {expected_sha256[:12]}…"
        )
    decodes = _shows(path) if kind == "image" else _plays(path, kind)
    return "" if decodes else f"{kind} {path} holds no {kind} that can be decoded"


def _shows(path: Path) -> bool:
    data = np.fromfile(path, np.uint8)
    return bool(data.size) and cv2.imdecode(data, cv2.IMREAD_COLOR) is not None


def _plays(path: Path, kind: Literal["video", "audio"]) -> bool:
    """Whether the beginning of the stream decodes."""
    try:
        with av.open(str(path)) as container:
            return next(iter(container.decode(**{kind: 0})), None) is not None
    except (av.error.FFmpegError, IndexError, ValueError, OSError):
        return False
