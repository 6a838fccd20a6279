"""Whether two looks at a face differ by more than a moved, turned or stretched flat picture could.

What follows from that, that a photograph neither speaks nor listens, is left to others.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

_FACE = (
    slice(34, 108),
    slice(26, 86),
)  # rows and columns of the aligned crop, from the brows to below the mouth
_STEPS = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 30, 1e-3)
_SMOOTHED_PX = 3


def change_of_shape(before: NDArray[np.float32], after: NDArray[np.float32]) -> float | None:
    """What differs between two grey crops (112, 112) once they are laid on one another, over the face's contrast.

    The second is fitted to the first by an affine map (enhanced correlation, Evangelidis and Psarakis 2008) and a
    gain. None where they cannot be fitted.
    """
    start = np.eye(2, 3, dtype=np.float32)
    try:
        _, fitted = cv2.findTransformECC(
            before, after, start, cv2.MOTION_AFFINE, _STEPS, np.empty(0, dtype=np.uint8), _SMOOTHED_PX
        )
    except cv2.error:  # the two have nothing in common
        return None
    size = (before.shape[1], before.shape[0])
    laid = cv2.warpAffine(after, fitted, size, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
    one, other = (patch[_FACE] - patch[_FACE].mean() for patch in (before, np.asarray(laid)))
    contrast, power = float(one.std()), float((other * other).sum())
    if contrast < 1.0 or power < 1.0:
        return None
    gain = float((one * other).sum()) / power
    return float(np.abs(one - gain * other).mean()) / contrast
