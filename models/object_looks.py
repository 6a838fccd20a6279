"""What an object looks like, as one vector: its shape and texture (MobileNetV3) beside its colours.

The network is made to tell kinds of things apart and hardly sees colour, which is most of what tells two cups apart:
a fifth of the likeness is the network's, the rest the colours'.
"""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from models.appearance import EMBEDDING_SIZE, AppearanceEmbedder
from models.images import Image, check_image
from models.objects import ObjectBox

_COLOUR_STEPS, _LIGHT_STEPS = 16, 8
COLOUR_SIZE = _COLOUR_STEPS**2 * _LIGHT_STEPS
LOOK_SIZE = EMBEDDING_SIZE + COLOUR_SIZE
LOOK_MODEL = "colour-2"  # names this way of counting colours; another way is another model

_SIDE_PX = 32
_SOFTNESS = 0.7  # width of a colour step's slope, in steps
_REACH = 0.6  # how far from grey colours are told apart: a*, b* / 110
_SHAPE = 0.2  # the network's share of the likeness
_GREY_TARGET = 120.0
_CENTRE = 0.4  # the middle of a crop counts most: what is behind the thing stands at its edges


def crop_of(image: Image, box: ObjectBox) -> Image | None:
    """The box cut out of a picture; None where less than 2 by 2 pixels of it lie inside."""
    height, width = image.shape[:2]
    values = (box.x, box.y, box.x + box.width, box.y + box.height)
    if not np.isfinite(values).all():
        return None
    left, top = max(0, int(values[0])), max(0, int(values[1]))
    right, bottom = min(width, int(np.ceil(values[2]))), min(height, int(np.ceil(values[3])))
    if right - left < 2 or bottom - top < 2:
        return None
    return np.asarray(image[top:bottom, left:right], np.uint8)


def white_balance(image: Image) -> NDArray[np.float32]:
    """Factors (3,) that bring the picture's mean colour to one grey, so that another lamp changes little."""
    mean = check_image(image).reshape(-1, image.shape[-1])[:, :3].mean(axis=0)
    return np.asarray(np.clip(_GREY_TARGET / np.maximum(mean, 1.0), 0.5, 2.0), np.float32)


def colours(crop: Image, balance: NDArray[np.float32]) -> NDArray[np.float32]:
    """How much of which colour, (2048,), length 1: square roots of a soft histogram over CIELAB."""
    top, left = crop.shape[0] // 10, crop.shape[1] // 10
    inner = crop[top : crop.shape[0] - top, left : crop.shape[1] - left]
    small = cv2.resize(inner, (_SIDE_PX, _SIDE_PX), interpolation=cv2.INTER_AREA).astype(np.float32)
    balanced = np.asarray(np.clip(small * balance / 255, 0, 1), np.float32)
    lab = np.asarray(cv2.cvtColor(balanced, cv2.COLOR_BGR2LAB), np.float32)
    lab = lab.reshape(-1, 3)
    light = _soft(lab[:, 0] / 100, 0.1, 0.9, _LIGHT_STEPS)
    red_green = _soft(lab[:, 1] / 110, -_REACH, _REACH, _COLOUR_STEPS)
    yellow_blue = _soft(lab[:, 2] / 110, -_REACH, _REACH, _COLOUR_STEPS)
    axis = np.linspace(-1, 1, _SIDE_PX, dtype=np.float32)
    centre = np.exp(-(axis[:, np.newaxis] ** 2 + axis**2) / (2 * _CENTRE**2)).reshape(-1, 1, 1)
    hues = (centre * red_green[:, :, np.newaxis] * yellow_blue[:, np.newaxis]).reshape(len(lab), -1)
    counts = (hues.T @ light).ravel()
    return np.asarray(np.sqrt(counts / counts.sum()), np.float32)


def _soft(values: NDArray[np.floating[Any]], low: float, high: float, steps: int) -> NDArray[np.float32]:
    """Each value's share in each of `steps` steps between `low` and `high`; what lies beyond counts as the end."""
    middles = np.linspace(low, high, steps, dtype=np.float32)
    width = _SOFTNESS * (middles[1] - middles[0])
    near = np.exp(-0.5 * ((np.clip(values, low, high)[..., np.newaxis] - middles) / width) ** 2)
    return np.asarray(near / near.sum(axis=-1, keepdims=True), np.float32)


class ObjectLooks:
    """Looks of objects, and of whole pictures. One network call for each."""

    def __init__(self, embedder: AppearanceEmbedder) -> None:
        self._embedder = embedder
        self.provider = embedder.provider

    def picture(self, image: Image) -> NDArray[np.float32]:
        """The whole picture, (576,), length 1."""
        return np.asarray(self._embedder.embed([image])[0], np.float32)

    def objects(self, image: Image, crops: Sequence[Image]) -> NDArray[np.float32]:
        """Vectors (n, 2624) of length 1 of crops of the picture."""
        if not crops:
            return np.empty((0, LOOK_SIZE), np.float32)
        balance = white_balance(image)
        shapes = self._embedder.embed([_square(crop) for crop in crops])
        colour = np.stack([colours(crop, balance) for crop in crops])
        return np.asarray(np.hstack([shapes * np.sqrt(_SHAPE), colour * np.sqrt(1 - _SHAPE)]), np.float32)


def _square(crop: Image) -> Image:
    """The crop in the middle of a grey square, so that a slim bottle stays slim."""
    height, width = crop.shape[:2]
    side = max(height, width)
    square = np.full((side, side, 3), 124, np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = crop
    return square
