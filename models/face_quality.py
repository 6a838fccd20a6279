"""How good a picture of a face is: sharpness, size and pose; what is good enough is left to thresholds."""

import math
from dataclasses import dataclass

import cv2
import numpy as np

from models.faces import FaceBox
from models.images import Image, check_image


@dataclass(frozen=True)
class FaceQuality:
    """Measures of one face.

    sharpness: variance of the Laplacian of the grey aligned crop; width_px: width in the picture;
    roll_deg: slope of the line through the eyes, positive when the face leans to the picture's right;
    yaw: place of the nose between the eyes, 0 in the middle, -1 and 1 below an eye (positive: turned right).
    """

    sharpness: float
    width_px: float
    roll_deg: float
    yaw: float


def face_quality(crop: Image, box: FaceBox) -> FaceQuality:
    """Measure one face from its aligned crop (112, 112, 3) and its box. Raises ModelError for a bad crop."""
    grey = cv2.cvtColor(check_image(crop), cv2.COLOR_BGR2GRAY)
    first_eye, second_eye, nose = box.landmarks[:3].astype(np.float64)
    across = second_eye - first_eye
    distance = float(np.hypot(*across))
    middle = (first_eye + second_eye) / 2
    yaw = float(np.dot(nose - middle, across) / (distance * distance / 2)) if distance > 0 else 1.0
    return FaceQuality(
        sharpness=float(cv2.Laplacian(grey, cv2.CV_64F).var()),
        width_px=box.width,
        roll_deg=math.degrees(math.atan2(float(across[1]), float(across[0]))),
        yaw=max(-2.0, min(2.0, yaw)),
    )
