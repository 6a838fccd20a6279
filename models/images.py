"""What counts as a picture here: uint8, blue-green-red, (height, width, 3); the rest is refused by name."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError

Image = NDArray[np.uint8]


def check_image(image: NDArray[Any]) -> Image:
    """Give the picture back when it is one. Raises ModelError that says what is wrong with it."""
    if not isinstance(image, np.ndarray):
        raise ModelError(f"a picture must be a numpy array, not {type(image).__name__}")
    if image.ndim != 3 or image.shape[2] != 3:
        raise ModelError(
            f"a picture must have the shape (height, width, 3), not {image.shape}; convert it to BGR"
        )
    if image.dtype != np.uint8:
        raise ModelError(f"a picture must be uint8 (0 to 255), not {image.dtype}; scale and convert it")
    if image.size == 0:
        raise ModelError(f"the picture is empty: its shape is {image.shape}")
    return image
