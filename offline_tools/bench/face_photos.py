"""Photographed faces as vectors, as large as they are or as small as a camera far away would see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from models.face_quality import FaceQuality, face_quality
from models.faces import FaceBox, FaceDetector, FaceEmbedder, align_face
from models.images import Image
from runtime.compose import Parts

PHOTO_SUFFIXES = (".jpg", ".png", ".pgm")
CAMERA = (480, 640)  # rows and columns of the picture in which a small face is looked for
GREY = 110


@dataclass(frozen=True, eq=False)
class Photo:
    """One photographed face: whose, in which file, its unit vector (128,), how good the picture is."""

    person: str
    name: str
    vector: NDArray[np.float32]
    quality: FaceQuality


@dataclass(frozen=True, eq=False)
class PhotoSet:
    """People with several photographs each; `missed`: photographs in which no face was found."""

    people: Mapping[str, Sequence[Photo]]
    missed: int

    @property
    def photos(self) -> list[Photo]:
        return [photo for photos in self.people.values() for photo in photos]


class PhotoReader:
    """Finds, aligns and embeds the face that each photograph is of: the largest near its middle."""

    def __init__(self, parts: Parts) -> None:
        self._detector = FaceDetector(parts.directory(parts.entry("face_detection")))
        self._embedder = FaceEmbedder(parts.directory(parts.entry("face_embedding")))

    def read(self, folder: Path, width_px: int | None = None) -> PhotoSet:
        """All photographs below a folder; with a width, shrunk until the face is so wide, within a camera's picture."""
        people: dict[str, list[Photo]] = {}
        missed = 0
        for path in sorted(folder.rglob("*")):
            if path.suffix not in PHOTO_SUFFIXES:
                continue
            image: Image = np.asarray(cv2.imread(str(path)), dtype=np.uint8)
            box = self._face(image)
            if box is not None and width_px is not None:
                image = _seen_from_afar(image, width_px / box.width)
                box = self._face(image)
            if box is None:
                missed += 1
                continue
            crop = align_face(image, box.landmarks)
            person = path.stem if path.parent == folder else path.parent.name
            vector = self._embedder.embed([crop])[0]
            people.setdefault(person, []).append(Photo(person, path.name, vector, face_quality(crop, box)))
        return PhotoSet(people, missed)

    def _face(self, image: Image) -> FaceBox | None:
        boxes = self._detector.detect(image)
        return max(boxes, key=lambda box: _prominence(box, image)) if boxes else None


def _seen_from_afar(image: Image, scale: float) -> Image:
    height, width = (max(1, round(size * scale)) for size in image.shape[:2])
    method = cv2.INTER_AREA if scale < 1.0 else cv2.INTER_CUBIC
    small = cv2.resize(image, (width, height), interpolation=method)[: CAMERA[0], : CAMERA[1]]
    seen = np.full((*CAMERA, 3), GREY, dtype=np.uint8)
    top, left = (CAMERA[0] - small.shape[0]) // 2, (CAMERA[1] - small.shape[1]) // 2
    seen[top : top + small.shape[0], left : left + small.shape[1]] = small
    return seen


def _prominence(box: FaceBox, image: Image) -> float:
    height, width = image.shape[:2]
    off_x, off_y = box.x + box.width / 2 - width / 2, box.y + box.height / 2 - height / 2
    return float(box.width * box.height - 4 * (off_x**2 + off_y**2))
