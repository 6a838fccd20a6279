"""Objects of the 80 COCO classes, found with SSD-MobileNetV2, which OpenCV reads as a TensorFlow graph.

OpenCV counts threads for the whole process, so they are not set here; the model always runs on the CPU.
"""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError
from models.images import Image, check_image

GRAPH_FILE = "frozen_inference_graph.pb"
CONFIG_FILE = "ssd_mobilenet_v2_coco_2018_03_29.pbtxt"

# The model's class numbers are COCO's original 1 to 90; numbers that COCO never used stay empty.
LABELS = (
    *("", "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat"),
    *(
        "traffic light",
        "fire hydrant",
        "",
        "stop sign",
        "parking meter",
        "bench",
        "bird",
        "cat",
        "dog",
        "horse",
    ),
    *("sheep", "cow", "elephant", "bear", "zebra", "giraffe", "", "backpack", "umbrella", ""),
    *(
        "",
        "handbag",
        "tie",
        "suitcase",
        "frisbee",
        "skis",
        "snowboard",
        "sports ball",
        "kite",
        "baseball bat",
    ),
    *(
        "baseball glove",
        "skateboard",
        "surfboard",
        "tennis racket",
        "bottle",
        "",
        "wine glass",
        "cup",
        "fork",
    ),
    *("knife", "spoon", "bowl", "banana", "apple", "sandwich", "orange", "broccoli", "carrot", "hot dog"),
    *("pizza", "donut", "cake", "chair", "couch", "potted plant", "bed", "", "dining table", ""),
    *("", "toilet", "", "tv", "laptop", "mouse", "remote", "keyboard", "cell phone", "microwave"),
    *("oven", "toaster", "sink", "refrigerator", "", "book", "clock", "vase", "scissors", "teddy bear"),
    *("hair drier", "toothbrush"),
)
_INPUT_SIDE_PX = 300
_ROW_LENGTH = 7  # picture, class, score, left, top, right, bottom (fractions of the picture)


@dataclass(frozen=True)
class ObjectBox:
    """An object in a picture: COCO label, score in [0, 1], box in pixels inside the picture."""

    label: str
    score: float
    x: float
    y: float
    width: float
    height: float


class ObjectDetector:
    """SSD-MobileNetV2 of the TensorFlow model zoo (2018-03-29); the graph scales and drops doubles itself."""

    provider = "cv2.dnn"

    def __init__(self, directory: Path, *, score_threshold: float = 0.5) -> None:
        graph, config = directory / GRAPH_FILE, directory / CONFIG_FILE
        for path in (graph, config):
            if not path.is_file():
                raise ModelError(f"model file {path} is missing; run `hearsight models fetch`")
        try:
            self._net = cv2.dnn.readNetFromTensorflow(str(graph), str(config))
        except cv2.error as error:
            raise ModelError(
                f"model file {graph} cannot be opened ({error.err}); run `hearsight models verify` to check it"
            ) from error
        self._score_threshold = score_threshold

    def detect(self, image: Image) -> list[ObjectBox]:
        """Objects in the picture, best score first. Raises ModelError for an array that is not a picture."""
        check_image(image)
        blob = cv2.dnn.blobFromImage(image, size=(_INPUT_SIDE_PX, _INPUT_SIDE_PX), swapRB=True)
        try:
            self._net.setInput(blob)
            rows = np.asarray(self._net.forward(), dtype=np.float32).reshape(-1, _ROW_LENGTH)
        except cv2.error as error:
            raise ModelError(
                f"{GRAPH_FILE} failed on a picture of shape {image.shape}: {error.err}"
            ) from error
        height, width = image.shape[:2]
        boxes = [_object_box(row, width, height) for row in rows if row[2] >= self._score_threshold]
        return sorted(
            (box for box in boxes if box.label and box.width > 0 and box.height > 0),
            key=lambda box: (-box.score, box.label, box.x, box.y),
        )


def _object_box(row: NDArray[np.float32], width: int, height: int) -> ObjectBox:
    number = int(row[1])
    left, top, right, bottom = (min(max(float(value), 0.0), 1.0) for value in row[3:])
    return ObjectBox(
        label=LABELS[number] if 0 < number < len(LABELS) else "",
        score=float(row[2]),
        x=left * width,
        y=top * height,
        width=(right - left) * width,
        height=(bottom - top) * height,
    )
