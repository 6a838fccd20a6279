"""What the camera shows within one clip: face tracks, keyframes, objects.

Whose face a track is, and what is remembered, is left to runtime/identify.py and runtime/memorize.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from drivers.media import Frame
from models.face_quality import FaceQuality, face_quality
from models.faces import FaceBox, FaceDetector, FaceEmbedder, align_face
from models.keyframes import encode_jpeg, scene_change, thumbnail
from models.mouth import MouthMotion, grey_crop, mouth_motion
from models.object_looks import ObjectLooks
from models.objects import ObjectDetector
from runtime.config import PerceiveSettings
from runtime.object_views import Keyframe, distinct, look_at
from runtime.screens import Screen, ScreenFinder
from runtime.stage_times import StageTimes

# Grey levels, 0 to 255. Measured on talking people: a moving face stays under 3 (scene) and 21 (aligned crop);
# a cut to another person lies above 15 and 25.
SCENE_CUT = 10.0
CROP_CHANGE = 21.0
EMBED_EVERY_S = 1.0
TRACK_GAP_S = 0.7
VIEWS_PER_TRACK = 12
MOTION_GAP_S = 0.45  # looks further apart than this say nothing of motion


@dataclass(frozen=True, eq=False)
class FaceView:
    """One embedded look at a face: when, its unit vector (128,), how good, and its crop (112, 112, 3)."""

    time_s: float
    vector: NDArray[np.float32]
    quality: FaceQuality
    crop: NDArray[np.uint8]


@dataclass(frozen=True)
class FaceLook:
    """Where a face was in one frame, in pixels, and how it moved since the frame before, where that is known."""

    time_s: float
    x: float
    y: float
    width: float
    height: float
    motion: MouthMotion | None = None


@dataclass(frozen=True, eq=False)
class FaceTrack:
    """One face followed through a clip: one identity. Times are media times; one look for each frame."""

    start_s: float
    end_s: float
    views: tuple[FaceView, ...]
    looks: tuple[FaceLook, ...] = ()

    def overlaps(self, start_s: float, end_s: float) -> float:
        """Seconds shared with a span."""
        return max(0.0, min(self.end_s, end_s) - max(self.start_s, start_s))


@dataclass(frozen=True)
class Sight:
    """All that one clip showed. `stage_s`: seconds spent in each stage; `screens`: rectangles that changed at once.

    `watched`: from when to when there were pictures, a stretch for each hole in them; empty where that is not known.
    """

    tracks: tuple[FaceTrack, ...] = ()
    keyframes: tuple[Keyframe, ...] = ()
    frames: int = 0
    changed: bool = False
    stage_s: dict[str, float] = field(default_factory=dict)
    screens: tuple[Screen, ...] = ()
    watched: tuple[tuple[float, float], ...] = ()


@dataclass(eq=False)
class _OpenTrack:
    start_s: float
    seen_s: float
    box: FaceBox
    crop_shape: NDArray[np.float32]
    embedded_s: float
    views: list[FaceView]
    grey: NDArray[np.float32]
    looks: list[FaceLook]

    def closed(self, frame_s: float) -> FaceTrack:
        return FaceTrack(self.start_s, self.seen_s + frame_s, tuple(self.views), tuple(self.looks))


_TrackTest = Callable[[_OpenTrack], bool]


class Watcher:
    """Takes the frames of a clip one by one, and gives the clip's Sight at its end. Used from one thread."""

    def __init__(
        self,
        detector: FaceDetector,
        embedder: FaceEmbedder,
        objects: ObjectDetector,
        settings: PerceiveSettings,
        *,
        frame_rate_hz: float,
        same_face: float,
        looks: ObjectLooks | None = None,
    ) -> None:
        self._detector = detector
        self._embedder = embedder
        self._objects = objects
        self._looks = looks
        self._settings = settings
        self._frame_s = 1.0 / frame_rate_hz
        self._same_face = same_face
        self._last_shape: NDArray[np.float32] | None = None
        self._screens = ScreenFinder()
        self._reset()

    @property
    def providers(self) -> dict[str, str]:
        """Which execution provider each stage really runs on."""
        return {
            "face_detection": self._detector.provider,
            "face_embedding": self._embedder.provider,
            "objects": self._objects.provider,
            **({} if self._looks is None else {"appearance": self._looks.provider}),
        }

    def _reset(self) -> None:
        self._open: list[_OpenTrack] = []
        self._done: list[FaceTrack] = []
        self._keyframes: list[tuple[float, float, NDArray[np.uint8]]] = []
        self._key_shape: NDArray[np.float32] | None = None
        self._frames = 0
        self._changed = False
        self._times = StageTimes()
        self._watched: list[tuple[float, float]] = []

    def add(self, frame: Frame) -> None:
        """Look at the next frame."""
        self._frames += 1
        follows = self._watched and frame.time_s - self._watched[-1][1] <= TRACK_GAP_S
        since_s = self._watched.pop()[0] if follows else frame.time_s
        self._watched.append((since_s, frame.time_s + self._frame_s))
        shape = thumbnail(frame.image)
        change = 0.0
        if self._last_shape is not None:
            change = scene_change(self._last_shape, shape)
            self._screens.add(
                frame.time_s, self._last_shape, shape, frame.image.shape[1], frame.image.shape[0]
            )
        self._last_shape = shape
        cut = change > SCENE_CUT
        self._changed = self._changed or change > SCENE_CUT / 4
        self._keep_keyframe(frame, shape)
        with self._times.timed("face_detection"):
            boxes = self._detector.detect(frame.image)
        if cut:
            self._close(lambda track: True)
        self._follow(frame, boxes)
        self._close(lambda track: frame.time_s - track.seen_s > TRACK_GAP_S)

    def finish(self) -> Sight:
        """End the clip: its Sight, and start over."""
        self._close(lambda track: True)
        tracks = tuple(sorted(self._done, key=lambda track: (track.start_s, track.end_s)))
        keyframes = tuple(
            self._described(*keyframe) for keyframe in sorted(self._keyframes, key=lambda k: k[0])
        )
        screens, watched = self._screens.found(), tuple(self._watched)
        sight = Sight(tracks, keyframes, self._frames, self._changed, self._times.as_dict(), screens, watched)
        self._reset()
        return sight

    def _follow(self, frame: Frame, boxes: list[FaceBox]) -> None:
        known = list(self._open)
        pairs = sorted(
            (
                (_overlap(track.box, box), index, number)
                for index, track in enumerate(known)
                for number, box in enumerate(boxes)
            ),
            key=lambda pair: (-pair[0], pair[1], pair[2]),
        )
        taken: set[int] = set()
        kept: set[int] = set()
        for overlap, index, number in pairs:
            if overlap < 0.2 or index in taken or number in kept:
                continue
            taken.add(index)
            kept.add(number)
            self._extend(known[index], frame, boxes[number])
        for number, box in enumerate(boxes):
            if number not in kept:
                self._begin(frame, box)

    def _extend(self, track: _OpenTrack, frame: Frame, box: FaceBox) -> None:
        crop = align_face(frame.image, box.landmarks)
        shape = thumbnail(crop)
        jumped = scene_change(track.crop_shape, shape) > CROP_CHANGE
        if jumped or frame.time_s - track.embedded_s >= EMBED_EVERY_S - 1e-6:
            view = self._view(frame.time_s, crop, box)
            likeness = max(float(view.vector @ other.vector) for other in track.views)
            if likeness < self._same_face:  # the box stayed, the face did not: somebody else begins here
                self._open.remove(track)
                self._done.append(track.closed(self._frame_s))
                self._open.append(_opened(frame.time_s, box, crop, view))
                return
            track.views.append(view)
            track.embedded_s = frame.time_s
            _thin(track.views)
        grey = grey_crop(crop)
        recent = frame.time_s - track.seen_s <= MOTION_GAP_S
        track.looks.append(_look(frame.time_s, box, mouth_motion(track.grey, grey) if recent else None))
        track.seen_s, track.box, track.crop_shape, track.grey = frame.time_s, box, shape, grey

    def _begin(self, frame: Frame, box: FaceBox) -> None:
        crop = align_face(frame.image, box.landmarks)
        view = self._view(frame.time_s, crop, box)
        self._open.append(_opened(frame.time_s, box, crop, view))

    def _view(self, time_s: float, crop: NDArray[np.uint8], box: FaceBox) -> FaceView:
        with self._times.timed("face_embedding"):
            vector = self._embedder.embed([crop])[0]
        return FaceView(time_s, vector, face_quality(crop, box), crop)

    def _close(self, ended: _TrackTest) -> None:
        for track in [track for track in self._open if ended(track)]:
            self._open.remove(track)
            self._done.append(track.closed(self._frame_s))

    def _keep_keyframe(self, frame: Frame, shape: NDArray[np.float32]) -> None:
        """Keep the first frame, and then the frames that differ most from the one kept before them."""
        change = 255.0 if self._key_shape is None else scene_change(self._key_shape, shape)
        if change <= SCENE_CUT / 2:
            return
        limit = self._settings.keyframes_per_clip
        if len(self._keyframes) >= limit:
            weakest = min(self._keyframes, key=lambda keyframe: (keyframe[1], -keyframe[0]))
            if weakest[1] >= change:
                return
            self._keyframes.remove(weakest)
        self._key_shape = shape
        self._keyframes.append((frame.time_s, change, frame.image))

    def _described(self, time_s: float, _change: float, image: NDArray[np.uint8]) -> Keyframe:
        with self._times.timed("objects"):
            objects = distinct(self._objects.detect(image))
        with self._times.timed("appearance"):
            views, vector = ((), None) if self._looks is None else look_at(self._looks, image, objects)
        jpeg = encode_jpeg(image, longest_side_px=self._settings.keyframe_side_px)
        return Keyframe(time_s, jpeg, objects, views, (image.shape[1], image.shape[0]), vector)


def _opened(time_s: float, box: FaceBox, crop: NDArray[np.uint8], view: FaceView) -> _OpenTrack:
    first = _look(time_s, box, None)
    return _OpenTrack(time_s, time_s, box, thumbnail(crop), time_s, [view], grey_crop(crop), [first])


def _look(time_s: float, box: FaceBox, motion: MouthMotion | None) -> FaceLook:
    return FaceLook(time_s, box.x, box.y, box.width, box.height, motion)


def _overlap(one: FaceBox, other: FaceBox) -> float:
    """Intersection over union of two boxes."""
    width = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    height = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (one.width * one.height + other.width * other.height - shared)


def _thin(views: list[FaceView]) -> None:
    """Hold at most VIEWS_PER_TRACK: of the two most alike, the less sharp goes."""
    if len(views) <= VIEWS_PER_TRACK:
        return
    vectors = np.stack([view.vector for view in views])
    likeness = vectors @ vectors.T
    np.fill_diagonal(likeness, -1.0)
    one, other = np.unravel_index(int(likeness.argmax()), likeness.shape)
    del views[int(min(one, other, key=lambda index: views[int(index)].quality.sharpness))]
