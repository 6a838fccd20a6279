"""Pictures for tests: a drawn face that the detector takes for one, real media where present, fetched models."""

import os
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

Image = NDArray[np.uint8]

MEDIA = Path(__file__).resolve().parents[2] / "shared" / "media"


def media(relative: str) -> Path:
    """A real recording beside the checkout; the test is skipped where it is absent."""
    path = MEDIA / relative
    if not path.exists():
        pytest.skip(f"the recording {relative} is not beside this checkout")
    return path


def fetched_model(entry_id: str) -> Path:
    """The directory of a fetched model; the test is skipped where it is absent."""
    cache = Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser()
    directory = cache / "models" / entry_id
    if not directory.is_dir():
        pytest.skip(f"the model {entry_id} is not fetched: run `hearsight models fetch`")
    return directory


def demo_scene() -> Path:
    """The demo scene; the test is skipped where it, or a model that perceiving needs, is absent."""
    for model in ("yunet", "sface", "silero-vad", "campplus-zh-en", "whisper-base", "multilingual-e5-small"):
        fetched_model(model)
    cache = Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser()
    scene = cache / "demo" / "scene.mp4"
    if not scene.exists():
        pytest.skip("the demo scene is not composed: run `make scene`")
    return scene


def drawn_face(side_px: int) -> Image:
    """A simple face in the middle of a grey-blue square picture of 1.6 times the side."""
    picture = np.full((int(side_px * 1.6), int(side_px * 1.6), 3), (200, 180, 160), np.uint8)
    middle = picture.shape[0] // 2

    def at(x: float, y: float) -> tuple[int, int]:
        return int(middle + x * side_px), int(middle + y * side_px)

    def size(x: float, y: float) -> tuple[int, int]:
        return max(1, int(x * side_px)), max(1, int(y * side_px))

    thin = max(1, side_px // 45)
    cv2.ellipse(picture, at(0, -0.08), size(0.42, 0.52), 0, 0, 360, (30, 40, 60), -1)
    cv2.ellipse(picture, at(0, 0), size(0.36, 0.46), 0, 0, 360, (140, 170, 220), -1)
    for x in (-0.16, 0.16):
        cv2.ellipse(picture, at(x, -0.1), size(0.07, 0.035), 0, 0, 360, (255, 255, 255), -1)
        cv2.circle(picture, at(x, -0.1), size(0.035, 0)[0], (40, 40, 40), -1)
        cv2.line(picture, at(x - 0.08, -0.18), at(x + 0.08, -0.19), (40, 50, 70), thin)
    cv2.line(picture, at(0, -0.08), at(-0.04, 0.1), (110, 140, 190), thin)
    cv2.ellipse(picture, at(0, 0.1), size(0.06, 0.03), 0, 0, 180, (90, 120, 170), thin)
    cv2.ellipse(picture, at(0, 0.24), size(0.13, 0.04), 0, 0, 360, (90, 90, 190), -1)
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), side_px * 0.008), dtype=np.uint8)


def on_canvas(picture: Image, height: int, width: int, top: int, left: int) -> Image:
    """The picture laid on a plain grey one."""
    canvas = np.full((height, width, 3), 127, np.uint8)
    canvas[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return canvas


BAD_PICTURES: dict[str, Any] = {
    "grey": np.zeros((40, 40), np.uint8),
    "one channel": np.zeros((40, 40, 1), np.uint8),
    "with alpha": np.zeros((40, 40, 4), np.uint8),
    "float": np.full((40, 40, 3), np.nan, np.float32),
    "no rows": np.zeros((0, 40, 3), np.uint8),
    "no columns": np.zeros((40, 0, 3), np.uint8),
}
