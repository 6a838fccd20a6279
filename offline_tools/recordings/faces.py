"""Hides the faces of everybody who is not surely somebody that may be shown, and looks again whether that worked.

A face is hidden unless its track is recognised, by the robot's own rule, as a person whose consent suffices: who cannot
be told is hidden too. What hides it is a few flat patches, from which nothing can be recovered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np

from drivers.media import Frame
from memory_store.store import MemoryStore
from models.faces import FaceDetector, FaceEmbedder
from models.images import Image
from models.keyframes import encode_jpeg, scene_change, thumbnail
from models.objects import ObjectBox, ObjectDetector
from offline_tools.consent import ConsentRule
from offline_tools.errors import OfflineToolError
from offline_tools.recordings.video import RATE_HZ, Picture
from runtime import compose
from runtime.exemplars import gallery_of
from runtime.face_identity import BEST_VIEWS, SHORTEST_TRACK_S
from runtime.gallery import usable
from runtime.see import SCENE_CUT, FaceLook, FaceTrack, Watcher

FACE_SCORE = 0.4  # far below what the robot asks for: what may be a face is hidden
GROWN = 1.5  # how many times the detector's box is covered, for hair, chin and a head that turns
BEYOND_TICKS = 3  # before a track begins and after it ends: the detector is late
ROUNDS = 4  # of covering and looking again
_PATCHES = 3
_WINDOW_TICKS = 30 * RATE_HZ

Box = tuple[float, float, float, float]  # x, y, width, height in pixels


class _NoThings:
    """Stands in for object detection: nothing."""

    provider = "none"

    def detect(self, image: Image) -> list[ObjectBox]:
        return []


@dataclass(frozen=True)
class Hidden:
    """The boxes to cover in each picture, by its number; of all tracks, how many may be shown."""

    boxes: Mapping[int, Sequence[Box]]
    tracks: int
    shown: int


class FaceFinder:
    """Finds faces and knows whose may be shown. Used from one thread."""

    def __init__(self, parts: compose.Parts, store: MemoryStore, rule: ConsentRule) -> None:
        faces = parts.entry("face_embedding")
        self._watcher = Watcher(
            FaceDetector(
                parts.directory(parts.entry("face_detection")),
                input_side_px=parts.settings.perceive.face_detector_side_px,
                score_threshold=FACE_SCORE,
            ),
            FaceEmbedder(parts.directory(faces)),
            cast(ObjectDetector, _NoThings()),
            parts.settings.perceive,
            frame_rate_hz=RATE_HZ,
            same_face=faces.thresholds["same_track"],
        )
        self._rule = compose.face_rule(faces)
        self._known = gallery_of(store, "face", self._rule.middle)
        self._may = {node: rule.allows(person) for person in store.people() for node in person.face_ids}

    def tracks(self, shown: Iterable[Picture]) -> Iterator[FaceTrack]:
        """The face tracks of pictures that follow one another at RATE_HZ, also those of a single picture."""
        for tick, picture in enumerate(shown):
            self._watcher.add(Frame(tick / RATE_HZ, picture))
            if tick % _WINDOW_TICKS == _WINDOW_TICKS - 1:
                yield from self._watcher.finish().tracks
        yield from self._watcher.finish().tracks

    def may_be_shown(self, track: FaceTrack, *, still: bool = False) -> bool:
        """Whether a track is surely somebody who may be shown. still: it is of a single picture."""
        whose = self.whose(track, still=still)
        return whose is not None and self._may.get(whose, False)

    def whose(self, track: FaceTrack, *, still: bool = False) -> int | None:
        """The known face that a track surely is, as the robot decides it; None where that cannot be told."""
        views = [
            view for view in track.views if self._rule.recognisable(view.quality) and usable(view.vector)
        ]
        views = sorted(views, key=lambda view: -view.quality.sharpness)[:BEST_VIEWS]
        if not views or (not still and track.end_s - track.start_s < SHORTEST_TRACK_S - 1e-6):
            return None
        match = self._known.decide(
            self._known.scores(np.stack([view.vector for view in views])), self._rule.match
        )
        return match.node_id if match.verdict == "known" else None

    def hidden(self, shown: Iterable[Picture], *, still: bool = False) -> Hidden:
        """What must be covered in pictures that follow one another."""
        boxes: dict[int, list[Box]] = defaultdict(list)
        cuts: list[int] = []
        refused: list[Sequence[FaceLook]] = []  # not the tracks, whose pictures would fill the memory
        tracks = 0
        for track in self.tracks(_with_cuts(shown, cuts)):
            tracks += 1
            if not self.may_be_shown(track, still=still):
                refused.append(track.looks)
        for looks in refused:
            for tick, box in _covered(looks, cuts):
                boxes[tick].append(box)
        return Hidden(boxes, tracks, tracks - len(refused))

    def still(self, jpeg: bytes) -> tuple[bytes, int, int]:
        """A picture without faces that may not be shown; how many faces it has, and how many of them stay.

        Raises OfflineToolError where it cannot be decoded, or a face is still found in it.
        """
        picture = _decoded(jpeg)
        found = self.hidden([picture], still=True)
        boxes = list(found.boxes.get(0, ()))
        if not boxes:
            return jpeg, found.tracks, found.shown
        for _ in range(ROUNDS):
            covered = encode_jpeg(cover(picture, boxes), longest_side_px=max(picture.shape[:2]))
            more = self.hidden([_decoded(covered)], still=True).boxes.get(0, ())
            if not more:
                return covered, found.tracks, found.shown
            boxes += more
        raise OfflineToolError(f"a face is still found in a picture after covering it {ROUNDS} times")


def _decoded(jpeg: bytes) -> Picture:
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR) if jpeg else None
    if image is None:
        raise OfflineToolError(
            "a picture of the memory cannot be decoded: `hearsight memory verify` says which"
        )
    return np.asarray(image, np.uint8)


def cover(picture: Picture, boxes: Sequence[Box]) -> Picture:
    """The picture with flat patches over the boxes."""
    if not boxes:
        return picture
    covered = picture.copy()
    height, width = picture.shape[:2]
    for x, y, wide, high in boxes:
        left, top = max(0, int(x)), max(0, int(y))
        right, bottom = min(width, int(x + wide) + 1), min(height, int(y + high) + 1)
        if left >= right or top >= bottom:
            continue
        region = covered[top:bottom, left:right]
        small = cv2.resize(region, (_PATCHES, _PATCHES), interpolation=cv2.INTER_AREA)
        covered[top:bottom, left:right] = cv2.resize(
            small, (right - left, bottom - top), interpolation=cv2.INTER_NEAREST
        )
    return covered


def _with_cuts(shown: Iterable[Picture], cuts: list[int]) -> Iterator[Picture]:
    """The pictures, while the numbers of those with which another scene begins are noted."""
    before = None
    for tick, picture in enumerate(shown):
        shape = thumbnail(picture)
        if before is not None and scene_change(before, shape) > SCENE_CUT:
            cuts.append(tick)
        before = shape
        yield picture


def _covered(looks: Sequence[FaceLook], cuts: Sequence[int]) -> Iterator[tuple[int, Box]]:
    """For each picture number from a little before a track to a little after it, where its face is or must be.

    A cut ends it: behind it there is another scene.
    """
    ticks = [round(look.time_s * RATE_HZ) for look in looks]
    boxes = np.array([[look.x, look.y, look.width, look.height] for look in looks])
    first = max([0, ticks[0] - BEYOND_TICKS, *(cut for cut in cuts if cut <= ticks[0])])
    last = min([ticks[-1] + BEYOND_TICKS, *(cut - 1 for cut in cuts if cut > ticks[-1])])
    for tick in range(first, last + 1):
        x, y, wide, high = (float(np.interp(tick, ticks, boxes[:, column])) for column in range(4))
        yield tick, (x - wide * (GROWN - 1) / 2, y - high * (GROWN - 1) / 2, wide * GROWN, high * GROWN)
