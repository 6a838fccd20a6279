"""Faces: found with YuNet (five landmarks), aligned, and embedded with SFace (128 numbers).

Whose face it is, and whether it is good enough to be remembered, is left to others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError
from models.images import Image, check_image
from models.sessions import Accelerator, normalised, open_session

DETECTOR_FILE = "face_detection_yunet_2023mar.onnx"
EMBEDDER_FILE = "face_recognition_sface_2021dec.onnx"
CROP_SIDE_PX = 112
EMBEDDING_SIZE = 128

# ArcFace's landmarks in a 112 x 112 crop, from the picture's left: two eyes, nose, two corners of the mouth
_TEMPLATE = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]],
    dtype=np.float64,
)
_STRIDES = (8, 16, 32)
_GRID_PX = 32
# A picture smaller than this is a cut-out face rather than a scene, and YuNet finds 18 of 200 such faces (23 x 28
# px) as they are, all 200 enlarged to this side. Larger pictures are never enlarged: it costs time and finds no more.
_SMALLEST_SIDE_PX = 112


@dataclass(frozen=True, eq=False)
class FaceBox:
    """A face in a picture: box and landmarks in pixels of that picture, score in [0, 1].

    landmarks: float32 (5, 2), the eye on the picture's left, the other eye, nose tip, the two mouth corners.
    """

    x: float
    y: float
    width: float
    height: float
    score: float
    landmarks: NDArray[np.float32]


class FaceDetector:
    """YuNet 2023mar. Reads BGR 0 to 255 without mean or scale; only a picture under 112 px is enlarged."""

    def __init__(
        self,
        directory: Path,
        *,
        input_side_px: int = 640,
        score_threshold: float = 0.7,
        overlap_threshold: float = 0.3,
        threads: int = 1,
        accelerator: Accelerator = "cpu",
    ) -> None:
        if input_side_px < _GRID_PX:
            raise ModelError(f"input_side_px is {input_side_px}; give at least {_GRID_PX}")
        self._session = open_session(
            directory / DETECTOR_FILE,
            threads=threads,
            accelerator=accelerator,
            input_shapes={"input": (1, 3, "height", "width")},
        )
        self.provider = self._session.provider
        self._input_side_px = input_side_px
        self._score_threshold = score_threshold
        self._overlap_threshold = overlap_threshold

    def detect(self, image: Image) -> list[FaceBox]:
        """Faces in the picture, best score first. Raises ModelError for an array that is not a picture."""
        padded, scale = _fit(check_image(image), self._input_side_px)
        feed = np.ascontiguousarray(padded.transpose(2, 0, 1)[np.newaxis], dtype=np.float32)
        outputs = self._session.run({"input": feed})
        rows = _decode(outputs, padded.shape[0], padded.shape[1], self._score_threshold)
        if not len(rows):
            return []
        kept = cv2.dnn.NMSBoxes(
            rows[:, :4].tolist(), rows[:, 14].tolist(), self._score_threshold, self._overlap_threshold
        )
        faces = [_face_box(rows[int(index)], scale) for index in np.asarray(kept).reshape(-1)]
        return sorted(faces, key=lambda face: (-face.score, face.x, face.y))


class FaceEmbedder:
    """SFace 2021dec: aligned 112 x 112 crops to vectors of length 1; the inner product is the similarity."""

    def __init__(self, directory: Path, *, threads: int = 1, accelerator: Accelerator = "cpu") -> None:
        self._session = open_session(
            directory / EMBEDDER_FILE,
            threads=threads,
            accelerator=accelerator,
            input_shapes={"data": ("batch", 3, CROP_SIDE_PX, CROP_SIDE_PX)},
        )
        self.provider = self._session.provider

    def embed(self, crops: Sequence[Image]) -> NDArray[np.float32]:
        """Vectors (n, 128), in the order of the crops. Raises ModelError for a crop of another size."""
        vectors = np.empty((len(crops), EMBEDDING_SIZE), dtype=np.float32)
        for row, crop in enumerate(crops):
            if check_image(crop).shape[:2] != (CROP_SIDE_PX, CROP_SIDE_PX):
                raise ModelError(f"a face crop must be 112 x 112, not {crop.shape}; use align_face")
            feed = np.ascontiguousarray(crop[:, :, ::-1].transpose(2, 0, 1)[np.newaxis], dtype=np.float32)
            vectors[row] = self._session.run({"data": feed})["fc1"][0]
        return normalised(vectors, "SFace")


def align_face(image: Image, landmarks: NDArray[np.float32]) -> Image:
    """The face moved, turned and scaled so that its landmarks lie on ArcFace's: (112, 112, 3).

    Least-squares similarity after Umeyama (1991). Raises ModelError unless there are five distinct points.
    """
    check_image(image)
    points = np.asarray(landmarks, dtype=np.float64)
    if points.shape != (5, 2) or not np.all(np.isfinite(points)):
        raise ModelError(f"landmarks must be five finite points (5, 2), not {points.shape}")
    matrix = _similarity(points)
    crop = cv2.warpAffine(image, matrix, (CROP_SIDE_PX, CROP_SIDE_PX), flags=cv2.INTER_LINEAR)
    return np.asarray(crop, dtype=np.uint8)


def _similarity(points: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = points - points.mean(axis=0)
    spread = float((centred**2).sum() / len(points))
    if spread < 1e-6:
        raise ModelError("the landmarks are one and the same point; give five distinct ones")
    target = _TEMPLATE - _TEMPLATE.mean(axis=0)
    left, singular, right = np.linalg.svd(target.T @ centred / len(points))
    signs = np.array([1.0, np.sign(np.linalg.det(left) * np.linalg.det(right))])
    rotation = left @ np.diag(signs) @ right
    scale = float((singular * signs).sum() / spread)
    shift = _TEMPLATE.mean(axis=0) - scale * rotation @ points.mean(axis=0)
    return np.hstack([scale * rotation, shift[:, np.newaxis]])


def _fit(image: Image, side_px: int) -> tuple[Image, float]:
    """The picture, shrunk or enlarged to the sides allowed, padded right and below to whole cells; and its scale."""
    height, width = image.shape[:2]
    longer = max(height, width)
    scale = min(max(1.0, min(_SMALLEST_SIDE_PX, side_px) / longer), side_px / longer)
    if scale != 1.0:
        width, height = max(1, round(width * scale)), max(1, round(height * scale))
        method = cv2.INTER_AREA if scale < 1.0 else cv2.INTER_CUBIC
        image = np.asarray(cv2.resize(image, (width, height), interpolation=method), dtype=np.uint8)
    padded = np.zeros(
        (-(-height // _GRID_PX) * _GRID_PX, -(-width // _GRID_PX) * _GRID_PX, 3), dtype=np.uint8
    )
    padded[:height, :width] = image
    return padded, scale


def _decode(
    outputs: dict[str, NDArray[np.float32]], height: int, width: int, score_threshold: float
) -> NDArray[np.float32]:
    """Rows of x, y, width, height, five landmarks, score (15 numbers) for the cells above the threshold."""
    found = []
    for stride in _STRIDES:
        score = np.sqrt(
            np.clip(outputs[f"cls_{stride}"][0, :, 0], 0, 1)
            * np.clip(outputs[f"obj_{stride}"][0, :, 0], 0, 1)
        )
        cells = np.flatnonzero(score >= score_threshold)
        columns = width // stride
        origin = np.stack([cells % columns, cells // columns], axis=1).astype(np.float32)
        box = outputs[f"bbox_{stride}"][0, cells]
        size = np.exp(box[:, 2:4]) * stride
        corner = (origin + box[:, :2]) * stride - size / 2
        points = (outputs[f"kps_{stride}"][0, cells].reshape(-1, 5, 2) + origin[:, np.newaxis]) * stride
        found.append(np.hstack([corner, size, points.reshape(-1, 10), score[cells, np.newaxis]]))
    return np.vstack(found).astype(np.float32)


def _face_box(row: NDArray[np.float32], scale: float) -> FaceBox:
    x, y, width, height = (float(value) / scale for value in row[:4])
    return FaceBox(x, y, width, height, float(row[14]), (row[4:14].reshape(5, 2) / scale).astype(np.float32))
