"""Reads a photo, upright, from a file or as bytes."""

from io import BytesIO
from pathlib import Path

import av
import av.error
import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.media import DriverError

MOST_BYTES = 100_000_000
MOST_PIXELS = 64_000_000
_TELLS_ITS_SIZE = (b"\xff\xd8", b"\x89PNG", b"RIFF", b"BM")  # JPEG, PNG, WebP, BMP


def read_photo(path: Path) -> NDArray[np.uint8]:
    """The picture as uint8 BGR (h, w, 3), turned as its EXIF says. Raises DriverError naming the file."""
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise DriverError(f"{path} has {size} bytes, too many for a photo: give at most {MOST_BYTES}")
        data = path.read_bytes()
    except OSError as error:
        raise DriverError(f"cannot read the photo {path}: {error.strerror}") from error
    return decode_photo(data, str(path))


def decode_photo(data: bytes, name: str) -> NDArray[np.uint8]:
    """As `read_photo`, of a file's bytes. Raises DriverError with this name, also for a picture that is cut off."""
    if _is_too_large(data):
        raise DriverError(
            f"{name} has more than {MOST_PIXELS // 1_000_000} million pixels: give a smaller one"
        )
    try:
        image = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR) if data else None
    except cv2.error as error:
        raise DriverError(f"the photo {name} cannot be decoded ({error.err}): give a JPEG or PNG") from error
    if image is None:
        raise DriverError(
            f"{name} is no photo, or only part of one: give a JPEG, PNG or another picture file"
        )
    return np.asarray(image, dtype=np.uint8)


def _is_too_large(data: bytes) -> bool:
    """By its head alone: a few bytes of one colour can be a picture that fills the memory."""
    if not data.startswith(_TELLS_ITS_SIZE):
        return False
    try:
        with av.open(BytesIO(data)) as container:
            codec = container.streams.video[0].codec_context
            return not 0 < codec.width * codec.height <= MOST_PIXELS  # 0: beyond what the library reads
    except (av.error.FFmpegError, IndexError):
        return False  # no picture: decoding it says so
