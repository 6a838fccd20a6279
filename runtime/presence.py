"""Which faces of a clip are really in the room: pictures never move, and a screen's faces lie in its rectangle.

What is learned stands in the memory as an object for each place, which each clip that shows it again supports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memory_store.records import Node
from memory_store.store import MemoryStore
from runtime.active_speaker import speech_source
from runtime.face_identity import SeenFace
from runtime.hear import HeardSpeech
from runtime.screens import Rectangle
from runtime.see import FaceTrack, Sight

# Measured on faces frozen behind sensor noise and JPEG, and on people who talk: at the 90th percentile a frozen
# face changes by up to 2.9 (a mouth 2.1) grey levels between frames, a talker by 3.0 (6.2) and more.
STILL_FACE, STILL_MOUTH = 3.0, 2.6
STILL_DRIFT = 0.02  # of the face's width
STILL_S = 5.0
STILL_LOOKS_HZ = 3.0  # looks a second that motion must be known of
GLANCE_S = 0.6  # long enough to know a picture again that is known for sure
SAME_PLACE = 0.8  # intersection over union of the face's box in two clips
SAME_LOOK = 8.0  # grey levels between the small crops of two clips
SAME_SCREEN = 0.6
SCREEN_CLIPS = 2  # from how many clips on a screen is known without cuts in a clip
CROP_CELLS = 14
REMEMBERED = 200  # places looked at, the latest first

Kind = Literal["picture", "screen"]


@dataclass(frozen=True, eq=False)
class ShownFace:
    """A face that is not in the room, and whose it is, where that is known."""

    track: FaceTrack
    kind: Kind
    face_id: int | None = None


@dataclass(frozen=True)
class _Place:
    node_id: int
    kind: Kind
    box: Rectangle
    crop: NDArray[np.float32]
    clips: int

    def shows(self, track: FaceTrack) -> bool:
        """Whether a track is at this place and looks like what was seen there."""
        if self.box.overlap(_box(track)) < SAME_PLACE:
            return False
        return float(np.abs(self.crop - _small_crop(track)).mean()) <= SAME_LOOK


class Presence:
    """Sorts the tracks of one clip at a time, inside the caller's transaction.

    `picture_clips`: in how many clips a face must stand still, at the same place and looking the same, before it is
    held for a picture.
    """

    def __init__(self, store: MemoryStore, *, picture_clips: int) -> None:
        self._store = store
        self._picture_clips = picture_clips

    def sort(
        self, clip_id: int, sight: Sight
    ) -> tuple[tuple[FaceTrack, ...], tuple[tuple[FaceTrack, Kind], ...]]:
        """The tracks of people in the room, and those that are only shown there; remembers both kinds of places."""
        places = self._places()
        screens = self._screens(clip_id, sight, places)
        off_screen = [track for track in sight.tracks if not _on_screen(track, screens)]
        pictures = self._pictures(clip_id, off_screen, places)
        present: list[FaceTrack] = []
        shown: list[tuple[FaceTrack, Kind]] = []
        for track in sight.tracks:
            if track not in off_screen:
                shown.append((track, "screen"))
            elif stands_still(track, GLANCE_S) and any(place.shows(track) for place in pictures):
                shown.append((track, "picture"))
            else:
                present.append(track)
        return tuple(present), tuple(shown)

    def _screens(
        self, clip_id: int, sight: Sight, places: list[_Place]
    ) -> list[tuple[Rectangle, tuple[float, ...]]]:
        known = [place for place in places if place.kind == "screen"]
        screens = []
        for screen in sight.screens:
            before = [place for place in known if place.box.overlap(screen.place) >= SAME_SCREEN]
            if before:
                self._store.reinforce(before[0].node_id, clip_id)
            else:
                self._remember(clip_id, "screen", screen.place, np.zeros(0, dtype=np.float32))
            screens.append((screen.place, screen.cuts_s))
        sure = [place for place in known if place.clips >= SCREEN_CLIPS]
        return screens + [
            (place.box, ())
            for place in sure
            if all(place.box.overlap(box) < SAME_SCREEN for box, _ in screens)
        ]

    def _pictures(self, clip_id: int, tracks: list[FaceTrack], places: list[_Place]) -> list[_Place]:
        """The places of sure pictures, after adding what this clip says of long still faces."""
        held = [place for place in places if place.kind == "picture"]
        supported: set[int] = set()
        for track in tracks:
            if not stands_still(track):
                continue
            same = [place for place in held if place.shows(track)]
            if same:
                added = self._store.reinforce(same[0].node_id, clip_id)
                supported |= {same[0].node_id} if added else set()
            else:
                self._remember(clip_id, "picture", _box(track), _small_crop(track))
        return [place for place in held if place.clips + (place.node_id in supported) >= self._picture_clips]

    def _remember(self, clip_id: int, kind: Kind, box: Rectangle, crop: NDArray[np.float32]) -> None:
        clip = self._store.clip(clip_id)
        self._store.add_node(
            "object",
            "",
            clip_id=clip_id,
            start_utc_s=clip.start_utc_s,
            end_utc_s=clip.end_utc_s,
            provenance={
                "source": "presence",
                "presence": kind,
                "box": [round(side, 1) for side in (box.x, box.y, box.width, box.height)],
                "crop": [round(float(cell)) for cell in crop],
            },
        )

    def _places(self) -> list[_Place]:
        nodes = self._store.nodes(kinds=["object"], limit=REMEMBERED)
        return [
            _place(node, len(self._store.clips_of(node.id)))
            for node in reversed(nodes)
            if node.provenance.get("source") == "presence"
        ]


def stands_still(track: FaceTrack, least_s: float = STILL_S) -> bool:
    """Whether a face was at least so long in view without any motion, not even a blink."""
    motion = [look.motion for look in track.looks if look.motion is not None]
    if len(motion) < least_s * STILL_LOOKS_HZ or track.end_s - track.start_s < least_s:
        return False
    middles = np.array([[look.x + look.width / 2, look.y + look.height / 2] for look in track.looks])
    width = float(np.median([look.width for look in track.looks]))
    return bool(
        np.quantile([one.face for one in motion], 0.9) <= STILL_FACE
        and np.quantile([one.mouth for one in motion], 0.9) <= STILL_MOUTH
        and middles.std(axis=0).max() <= STILL_DRIFT * width
    )


def with_source(
    speech: tuple[HeardSpeech, ...], faces: tuple[SeenFace, ...], shown: tuple[ShownFace, ...]
) -> tuple[HeardSpeech, ...]:
    """The utterances, each with where it came from."""
    screen = tuple(face.track for face in shown if face.kind == "screen")
    return tuple(replace(one, source=speech_source(one, faces, screen)) for one in speech)


def recognised(
    shown: tuple[tuple[FaceTrack, Kind], ...], recognise: Callable[[FaceTrack], int | None]
) -> tuple[ShownFace, ...]:
    """Whom the shown faces look like; nothing is learned from them."""
    return tuple(ShownFace(track, kind, recognise(track)) for track, kind in shown)


def _on_screen(track: FaceTrack, screens: list[tuple[Rectangle, tuple[float, ...]]]) -> bool:
    """Whether a track lies in a screen, and does not outlast a cut of it, as somebody in front of it would."""
    if not track.looks:
        return False
    box = _box(track)
    return any(
        place.holds(box) and not any(track.start_s + 0.1 < cut_s < track.end_s - 0.3 for cut_s in cuts_s)
        for place, cuts_s in screens
    )


def _box(track: FaceTrack) -> Rectangle:
    sides = np.array([[look.x, look.y, look.width, look.height] for look in track.looks])
    x, y, width, height = (float(side) for side in np.median(sides, axis=0))
    return Rectangle(x, y, width, height)


def _small_crop(track: FaceTrack) -> NDArray[np.float32]:
    """The sharpest view in 14 x 14 grey cells, less their mean, flat."""
    crop = max(track.views, key=lambda view: view.quality.sharpness).crop
    grey = crop.mean(axis=2)
    side = grey.shape[0] // CROP_CELLS
    cells = grey[: side * CROP_CELLS, : side * CROP_CELLS].reshape(CROP_CELLS, side, CROP_CELLS, side)
    small = cells.mean(axis=(1, 3)).reshape(-1)
    return np.asarray(small - small.mean(), dtype=np.float32)


def _place(node: Node, clips: int) -> _Place:
    told: dict[str, Any] = dict(node.provenance)
    box = Rectangle(*(float(side) for side in told["box"]))
    return _Place(node.id, told["presence"], box, np.array(told["crop"], dtype=np.float32), clips)
