"""A picture or a sound as the query of a search: in which vector space it is looked for, and by which vector."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drivers.photo import read_photo
from models.appearance import AppearanceEmbedder
from models.faces import FaceEmbedder, align_face
from runtime.compose import Parts, face_detector
from runtime.compose_enroll import voice_files
from runtime.errors import HearsightError


@dataclass(frozen=True, eq=False)
class MediaQuery:
    """`what` was found in the file; `vector` has the length of `space`."""

    space: str
    vector: NDArray[np.float32]
    what: str


def picture_query(parts: Parts, path: Path, spaces: tuple[str, ...]) -> MediaQuery:
    """The largest face in a picture; without one the picture as a whole, where this memory compares pictures.

    Raises DriverError for what is no picture, HearsightError where nothing in it can be looked for.
    """
    image = read_photo(path)
    boxes = face_detector(parts).detect(image)
    if boxes:
        largest = max(boxes, key=lambda box: box.width * box.height)
        embedder = FaceEmbedder(parts.directory(parts.entry("face_embedding")))
        vector = embedder.embed([align_face(image, largest.landmarks)])[0]
        return MediaQuery("face", vector, "the largest face" if len(boxes) > 1 else "the face")
    if "image" not in spaces:
        raise HearsightError(f"{path} shows no face, and this memory does not compare whole pictures")
    looks = AppearanceEmbedder(parts.directory(parts.entry("appearance")))
    return MediaQuery("image", looks.embed([image])[0], "the whole picture")


def sound_query(parts: Parts, path: Path) -> MediaQuery:
    """The voice in a sound file. Raises EnrollError for too little speech, DriverError for what is no sound."""
    return MediaQuery("voice", voice_files(parts).samples([path])[0].vector, "the voice")
