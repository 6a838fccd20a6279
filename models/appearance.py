"""What a picture or an object looks like, as 576 numbers: MobileNetV3-small without its classifier."""

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from models.images import Image, check_image
from models.sessions import Accelerator, normalised, open_session

MODEL_FILE = "mobilenet_v3_small.onnx"
EMBEDDING_SIZE = 576

_SIDE_PX = 224
_MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)  # ImageNet, red green blue
_DEVIATION = np.array([0.229, 0.224, 0.225], dtype=np.float32)


class AppearanceEmbedder:
    """Pictures of any size to vectors of length 1; the inner product is the similarity."""

    def __init__(self, directory: Path, *, threads: int = 1, accelerator: Accelerator = "cpu") -> None:
        self._session = open_session(directory / MODEL_FILE, threads=threads, accelerator=accelerator)
        self.provider = self._session.provider

    def embed(self, images: Sequence[Image]) -> NDArray[np.float32]:
        """Vectors (n, 576), in the order given. Raises ModelError for an array that is not a picture."""
        vectors = np.empty((len(images), EMBEDDING_SIZE), dtype=np.float32)
        for row, image in enumerate(images):
            vectors[row] = self._session.run({"input": _feed(check_image(image))})["embedding"][0]
        return normalised(vectors, "MobileNetV3")


def _feed(image: Image) -> NDArray[np.float32]:
    shrinks = max(image.shape[:2]) > _SIDE_PX
    resized = cv2.resize(
        image, (_SIDE_PX, _SIDE_PX), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    )
    rgb = resized[:, :, ::-1].astype(np.float32) / 255
    return np.ascontiguousarray(((rgb - _MEAN) / _DEVIATION).transpose(2, 0, 1)[np.newaxis], dtype=np.float32)
