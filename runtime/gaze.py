"""Who looks at the robot while speech begins: the newest frames are kept, and looked into only when that matters.

It is the face that is turned to the camera; where the eyes of a turned face look is not known.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from drivers.media import Frame
from memory_store.store import MemoryStore
from models.face_quality import FaceQuality, face_quality
from models.faces import FaceBox, FaceDetector, FaceEmbedder, align_face
from models.images import Image
from runtime.exemplars import gallery_of
from runtime.face_identity import FaceRule
from runtime.workers import Worker

BEFORE_S, AFTER_S = 0.6, 0.9  # around the beginning of speech
KEEP_S = 3.0
LEAST_FRAMES = 4
LEAST_SHARE = 0.75  # of the frames that must show the face turned to the robot; none may show a second face
# Of people who talk to a camera 1.0 of the faces lie within: yaw -0.24 to 0.17, nose 0.48 to 0.63 of the way down.
YAW_MAX = 0.25
NOSE_DOWN = (0.45, 0.66)
ROLL_MAX_DEG = 20.0
BEST_VIEWS = 3


class RecentFrames:
    """The frames of the last KEEP_S seconds. `see` may be called from another thread than `between`."""

    def __init__(self) -> None:
        self._frames: deque[Frame] = deque()
        self._lock = threading.Lock()

    def see(self, frame: Frame) -> None:
        """Keep the newest frame."""
        with self._lock:
            self._frames.append(frame)
            while frame.time_s - self._frames[0].time_s > KEEP_S:
                self._frames.popleft()

    def between(self, start_s: float, end_s: float) -> tuple[Frame, ...]:
        """Those from one time to another that are still kept."""
        with self._lock:
            return tuple(frame for frame in self._frames if start_s <= frame.time_s <= end_s)


class Looker:
    """Finds the resident who looks at the robot, alone, in some frames.

    seeing: the thread that detects; answering: the one that owns the store.
    """

    def __init__(
        self,
        detector: FaceDetector,
        embedder: FaceEmbedder,
        rule: FaceRule,
        store: MemoryStore,
        *,
        seeing: Worker,
        answering: Worker,
    ) -> None:
        self._detector = detector
        self._embedder = embedder
        self._rule = rule
        self._store = store
        self._seeing = seeing
        self._answering = answering

    async def of(self, frames: Sequence[Frame]) -> int | None:
        """The person's id; None where nobody looks, more than one is in view, or it is no resident known for sure."""
        crops = await self._seeing.call(self._crops, frames)
        if not crops:
            return None
        vectors = await self._seeing.call(self._embedder.embed, crops)
        return await self._answering.call(self._resident, vectors)

    def _crops(self, frames: Sequence[Frame]) -> list[Image]:
        found = [(frame.image, self._detector.detect(frame.image)) for frame in frames]
        return turned_to_the_robot(found, self._rule.enrollable)

    def _resident(self, vectors: NDArray[np.float32]) -> int | None:
        gallery = gallery_of(self._store, "face", self._rule.middle)
        match = gallery.decide(gallery.scores(vectors), self._rule.match)
        if match.verdict != "known" or match.node_id is None:
            return None
        person_id = self._store.owner_of(match.node_id)
        if person_id is None or self._store.person(person_id).consent != "resident":
            return None
        return person_id


def turned_to_the_robot(
    found: Sequence[tuple[Image, Sequence[FaceBox]]], good: Callable[[FaceQuality], bool]
) -> list[Image]:
    """The best aligned crops of the one face that is turned to the camera; none where that is not plain.

    found: pictures with the faces in each. A second face in any of them, turned away or not, may be who is meant.
    """
    if len(found) < LEAST_FRAMES or any(len(faces) > 1 for _, faces in found):
        return []
    crops = []
    for image, faces in found:
        for face in faces:
            crop = align_face(image, face.landmarks)
            quality = face_quality(crop, face)
            if good(quality) and _is_turned_here(face, quality):
                crops.append((quality.sharpness, crop))
    if len(crops) < LEAST_SHARE * len(found):
        return []
    crops.sort(key=lambda one: -one[0])
    return [crop for _, crop in crops[:BEST_VIEWS]]


def _is_turned_here(face: FaceBox, quality: FaceQuality) -> bool:
    eyes, mouth = face.landmarks[:2].mean(axis=0), face.landmarks[3:].mean(axis=0)
    down = mouth - eyes
    length = float(down @ down)
    nose_down = float((face.landmarks[2] - eyes) @ down) / length if length > 0 else 0.0
    return (
        abs(quality.yaw) <= YAW_MAX
        and abs(quality.roll_deg) <= ROLL_MAX_DEG
        and NOSE_DOWN[0] <= nose_down <= NOSE_DOWN[1]
    )
