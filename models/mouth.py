"""How much a mouth moved between two looks at a face, beside how much the rest of the face did.

Who is speaking is left to others: a mouth also moves when it chews, and a head that turns moves all of a crop.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError
from models.faces import CROP_SIDE_PX
from models.images import Image, check_image

# Rows and columns of the aligned crop, whose mouth corners lie at (41.5, 92.4) and (70.7, 92.2).
_MOUTH = (slice(78, 108), slice(36, 76))
_REST = (slice(34, 74), slice(26, 86))  # eyes and nose
_SHIFT_PX = 2  # the landmarks tremble by about this much


@dataclass(frozen=True)
class MouthMotion:
    """Mean absolute change in grey levels of the mouth and of eyes and nose, after taking out light and shift."""

    mouth: float
    face: float

    @property
    def own(self) -> float:
        """What the mouth moved more than the face around it; 0 where it moved less."""
        return max(0.0, self.mouth - self.face)


def grey_crop(crop: Image) -> NDArray[np.float32]:
    """The aligned crop (112, 112, 3) as lightly blurred grey levels (112, 112). Raises ModelError."""
    if check_image(crop).shape[:2] != (CROP_SIDE_PX, CROP_SIDE_PX):
        raise ModelError(f"a face crop must be 112 x 112, not {crop.shape}; use align_face")
    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY).astype(np.float32)
    return np.asarray(cv2.GaussianBlur(grey, (0, 0), 1.2), dtype=np.float32)


def mouth_motion(before: NDArray[np.float32], after: NDArray[np.float32]) -> MouthMotion:
    """The motion between two crops of `grey_crop`."""
    return MouthMotion(_change(before, after, _MOUTH), _change(before, after, _REST))


def _change(before: NDArray[np.float32], after: NDArray[np.float32], patch: tuple[slice, slice]) -> float:
    """The least change over small shifts of one patch."""
    template = before[patch]
    rows, columns = patch
    around = after[
        rows.start - _SHIFT_PX : rows.stop + _SHIFT_PX, columns.start - _SHIFT_PX : columns.stop + _SHIFT_PX
    ]
    windows = np.lib.stride_tricks.sliding_window_view(around, template.shape)
    difference = windows - template
    difference = difference - difference.mean(axis=(2, 3), keepdims=True)
    return float(np.abs(difference).mean(axis=(2, 3)).min())
