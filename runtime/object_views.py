"""Keyframes and the objects in them: which detector boxes count, and what each of them looks like.

Whose id an object has is left to runtime/object_identity.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError
from models.images import Image
from models.object_looks import ObjectLooks, crop_of
from models.objects import ObjectBox

MIN_SIDE_PX = 12.0
MOST_VIEWS = 24  # objects of one picture that are looked at closely, best score first
SAME_BOX = 0.7  # overlap (over union) from which two boxes of any class are one thing
WITHIN = 0.85  # share of a box inside another of the same class from which they are one thing


@dataclass(frozen=True, eq=False)
class ObjectView:
    """One look at an object: its box in pixels, its look (2624,), and its crop."""

    box: ObjectBox
    vector: NDArray[np.float32]
    crop: Image

    @property
    def quality(self) -> float:
        """How good a picture it is: the detector's score, times its size up to 64 pixels."""
        return self.box.score * min(1.0, min(self.box.width, self.box.height) / 64.0)


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A full picture kept because something changed.

    views: the objects that were looked at closely; people: the boxes of people; size: width and height in pixels;
    vector: what the whole picture looks like, (576,).
    """

    time_s: float
    jpeg: bytes
    objects: tuple[ObjectBox, ...]
    views: tuple[ObjectView, ...] = ()
    size: tuple[int, int] = (0, 0)
    vector: NDArray[np.float32] | None = field(default=None)

    @property
    def people(self) -> tuple[ObjectBox, ...]:
        """The boxes of people."""
        return tuple(box for box in self.objects if box.label == "person")


def overlap(one: ObjectBox, other: ObjectBox) -> float:
    """Intersection over union."""
    shared = _shared(one, other)
    total = one.width * one.height + other.width * other.height - shared
    return shared / total if total > 0 else 0.0


def share_within(one: ObjectBox, other: ObjectBox) -> float:
    """The share of a box that lies inside another."""
    area = one.width * one.height
    return _shared(one, other) / area if area > 0 else 0.0


def _shared(one: ObjectBox, other: ObjectBox) -> float:
    width = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    height = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
    return max(0.0, width) * max(0.0, height)


def distinct(boxes: Sequence[ObjectBox]) -> tuple[ObjectBox, ...]:
    """The boxes that stand for a thing each, best score first, without those that cannot be boxes.

    The detector calls one thing a cup and a bowl at once, or finds it whole and in part: the better box stays.
    """
    kept: list[ObjectBox] = []
    for box in sorted(filter(_possible, boxes), key=lambda box: (-box.score, box.label, box.x, box.y)):
        if not any(_same_thing(box, other) for other in kept):
            kept.append(box)
    return tuple(kept)


def _possible(box: ObjectBox) -> bool:
    return all(map(math.isfinite, (box.x, box.y, box.width, box.height))) and min(box.width, box.height) > 0


def _same_thing(one: ObjectBox, other: ObjectBox) -> bool:
    if (one.label == "person") != (other.label == "person"):
        return False
    if overlap(one, other) >= SAME_BOX:
        return True
    return one.label == other.label and max(share_within(one, other), share_within(other, one)) >= WITHIN


def look_at(
    looks: ObjectLooks, image: Image, boxes: Sequence[ObjectBox]
) -> tuple[tuple[ObjectView, ...], NDArray[np.float32] | None]:
    """The objects among distinct boxes seen closely, and the whole picture's look, where they have one.

    What has no look, such as a picture of one pixel, is left out.
    """
    try:
        vector = looks.picture(image)
    except ModelError:
        vector = None
    things = [box for box in boxes if box.label != "person" and min(box.width, box.height) >= MIN_SIDE_PX]
    cut = [(box, crop) for box in things[:MOST_VIEWS] if (crop := crop_of(image, box)) is not None]
    if not cut:
        return (), vector
    try:
        vectors = looks.objects(image, [crop for _, crop in cut])
    except ModelError:
        return (), vector
    seen = (
        ObjectView(box, row, crop.copy())
        for (box, crop), row in zip(cut, vectors, strict=True)
        if np.isfinite(row).all() and float(np.linalg.norm(row)) > 0.99
    )
    return tuple(seen), vector
