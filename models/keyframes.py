"""Pictures worth keeping: how much a scene has changed, and pictures as JPEG files."""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError
from models.images import Image, check_image

_THUMBNAIL_PX = (64, 36)


def thumbnail(image: Image) -> NDArray[np.float32]:
    """The picture's grey shape, (36, 64) in [0, 255], to be compared with `scene_change`."""
    small = cv2.resize(check_image(image), _THUMBNAIL_PX, interpolation=cv2.INTER_AREA)
    return cv2.cvtColor(small, cv2.COLOR_BGR2GRAY).astype(np.float32)


def scene_change(before: NDArray[np.float32], after: NDArray[np.float32]) -> float:
    """Mean absolute difference of two thumbnails after taking out a change of overall light, in [0, 255]."""
    difference = after - before
    return float(np.abs(difference - np.median(difference)).mean())


def encode_jpeg(image: Image, *, longest_side_px: int | None = None, quality: int = 88) -> bytes:
    """The picture as a JPEG file, shrunk where it is larger than `longest_side_px`.

    Raises ModelError for an array that is no picture.
    """
    picture: NDArray[Any] = check_image(image)
    longest = max(picture.shape[:2])
    if longest_side_px is not None and longest > longest_side_px:
        size = [max(1, round(side * longest_side_px / longest)) for side in picture.shape[1::-1]]
        picture = cv2.resize(picture, (size[0], size[1]), interpolation=cv2.INTER_AREA)
    done, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise ModelError(f"a picture of shape {picture.shape} could not be written as JPEG")
    return bytes(data)
