"""Reads a photo from a file, upright."""

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.media import DriverError

MOST_BYTES = 100_000_000


def read_photo(path: Path) -> NDArray[np.uint8]:
    """The picture as uint8 BGR (h, w, 3), turned as its EXIF says. Raises DriverError naming the file."""
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise DriverError(f"{path} has {size} bytes, too many for a photo: give at most {MOST_BYTES}")
        data = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    except OSError as error:
        raise DriverError(f"cannot read the photo {path}: {error.strerror}") from error
    try:
        image = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    except cv2.error as error:
        raise DriverError(f"the photo {path} cannot be decoded ({error.err}): give a JPEG or PNG") from error
    if image is None:
        raise DriverError(f"{path} is no photo: give a JPEG, PNG or another picture file")
    return np.asarray(image, dtype=np.uint8)
