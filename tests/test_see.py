"""The watcher: tracks follow faces, end at cuts, and never hold two people; keyframes show what changed."""

from collections.abc import Callable

import numpy as np
import pytest

from drivers.media import Frame
from models.faces import FaceBox
from runtime.config import PerceiveSettings
from runtime.see import VIEWS_PER_TRACK, Sight, Watcher
from tests.vectors import axis, near

LANDMARKS = np.array([[0.34, 0.46], [0.66, 0.46], [0.5, 0.64], [0.37, 0.82], [0.63, 0.82]], dtype=np.float32)
Scene = Callable[[float], list[tuple[float, int]]]  # media time → (x of the face, number of the person)


class ScriptedFaces:
    """Detector and embedder of a scripted scene: the person is read from the grey level of the face."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.time_s = 0.0
        self.embedded = 0
        self.missed: Callable[[float], bool] = lambda t: False

    def detect(self, image: np.ndarray) -> list[FaceBox]:
        return [] if self.missed(self.time_s) else [_box(x) for x, _ in self.scene(self.time_s)]

    def embed(self, crops: list[np.ndarray]) -> np.ndarray:
        self.embedded += len(crops)
        person = round(float(crops[0][50:62, 50:62].mean()) / 30)
        return near(axis(person), 0.95, 100 + self.embedded % 20)[np.newaxis]


class NoObjects:
    def detect(self, image: np.ndarray) -> list[object]:
        return []


class Provided:
    """A model of which only the provider is asked."""

    def __init__(self, provider: str) -> None:
        self.provider = provider


def _box(x: float) -> FaceBox:
    return FaceBox(x, 100.0, 100.0, 100.0, 0.95, LANDMARKS * 100 + np.array([x, 100.0], dtype=np.float32))


def _image(faces: list[tuple[float, int]], background: int) -> np.ndarray:
    image = np.full((360, 640, 3), background, dtype=np.uint8)
    for x, person in faces:
        image[80:230, int(x) - 20 : int(x) + 130] = person * 30
    return image


def _watch(
    scene: Scene,
    seconds: float,
    background: Callable[[float], int] = lambda t: 200,
    missed: Callable[[float], bool] = lambda t: False,
) -> tuple[Sight, int]:
    faces = ScriptedFaces(scene)
    faces.missed = missed
    settings = PerceiveSettings()
    watcher = Watcher(faces, faces, NoObjects(), settings, frame_rate_hz=5.0, same_face=0.4)  # type: ignore[arg-type]
    for step in range(int(seconds * 5)):
        faces.time_s = step / 5
        watcher.add(Frame(step / 5, _image(scene(step / 5), background(step / 5))))
    return watcher.finish(), faces.embedded


def _spans(sight: Sight) -> list[tuple[float, float]]:
    return [(round(track.start_s, 1), round(track.end_s, 1)) for track in sight.tracks]


def test_one_face_that_stays_is_one_track_embedded_about_once_a_second() -> None:
    sight, embedded = _watch(lambda t: [(200 + 3 * t, 1)], 10)
    assert _spans(sight) == [(0.0, 10.0)]
    assert 10 <= embedded <= 12


def test_another_person_in_the_same_place_is_another_track() -> None:
    sight, _ = _watch(lambda t: [(200, 1 if t < 3 else 4)], 6)
    assert _spans(sight) == [(0.0, 3.0), (3.0, 6.0)]
    assert float(sight.tracks[0].views[0].vector @ sight.tracks[1].views[0].vector) < 0.4


def test_two_faces_are_two_tracks_that_do_not_swap() -> None:
    sight, _ = _watch(lambda t: [(60, 1), (400, 3)], 5)
    assert _spans(sight) == [(0.0, 5.0), (0.0, 5.0)]
    people = {int(np.argmax(track.views[0].vector[:10])) for track in sight.tracks}
    assert people == {1, 3}


def test_a_short_gap_does_not_end_a_track_a_long_one_does() -> None:
    sight, _ = _watch(lambda t: [(200, 2)], 5, missed=lambda t: 2.0 <= t < 2.5)
    assert _spans(sight) == [(0.0, 5.0)]
    sight, _ = _watch(lambda t: [(200, 2)], 5, missed=lambda t: 2.0 <= t < 3.5)
    assert _spans(sight) == [(0.0, 2.0), (3.6, 5.0)]


def test_a_long_track_keeps_few_views() -> None:
    sight, _ = _watch(lambda t: [(200, 2)], 30)
    assert len(sight.tracks[0].views) == VIEWS_PER_TRACK


def test_keyframes_are_few_and_show_what_changed() -> None:
    sight, _ = _watch(lambda t: [(50 + 200 * int(t / 5), 1)] if t < 15 else [], 30)
    times = [keyframe.time_s for keyframe in sight.keyframes]
    assert times[0] == 0.0 and 2 <= len(times) <= PerceiveSettings().keyframes_per_clip
    assert all(keyframe.jpeg.startswith(b"\xff\xd8") for keyframe in sight.keyframes)


def test_a_still_room_has_not_changed_and_a_lamp_is_no_change_of_scene() -> None:
    assert not _watch(lambda t: [], 5)[0].changed
    assert not _watch(lambda t: [], 5, background=lambda t: 200 if t < 2 else 120)[0].changed
    assert _watch(lambda t: [(100, 5)] if t > 2 else [], 5)[0].changed


def test_clips_are_separate() -> None:
    faces = ScriptedFaces(lambda t: [(200, 1)])
    watcher = Watcher(faces, faces, NoObjects(), PerceiveSettings(), frame_rate_hz=5.0, same_face=0.4)  # type: ignore[arg-type]
    watcher.add(Frame(0.0, _image([(200, 1)], 200)))
    assert len(watcher.finish().tracks) == 1
    empty = watcher.finish()
    assert (empty.tracks, empty.keyframes, empty.frames) == ((), (), 0)


@pytest.mark.parametrize("people", [0, 1, 5])
def test_a_single_frame_is_a_clip(people: int) -> None:
    sight, _ = _watch(lambda t: [(10 + 120 * number, number) for number in range(people)], 0.2)
    assert len(sight.tracks) == people and sight.frames == 1


def test_the_stretches_with_pictures_are_told() -> None:
    faces = ScriptedFaces(lambda t: [])
    watcher = Watcher(
        faces,  # type: ignore[arg-type]
        faces,  # type: ignore[arg-type]
        NoObjects(),  # type: ignore[arg-type]
        PerceiveSettings(),
        frame_rate_hz=5.0,
        same_face=0.4,
    )
    for step in (*range(10), *range(20, 25)):
        watcher.add(Frame(step / 5, _image([], 200)))
    assert [(round(start_s, 3), round(end_s, 3)) for start_s, end_s in watcher.finish().watched] == [
        (0.0, 2.0),
        (4.0, 5.0),
    ]
    assert watcher.finish().watched == ()


def test_every_stage_tells_what_it_runs_on() -> None:
    models = [Provided(name) for name in ("Cuda", "Tensorrt", "cv2.dnn", "CPU")]
    watcher = Watcher(
        *models[:3], PerceiveSettings(), frame_rate_hz=5.0, same_face=0.5, looks=models[3]  # type: ignore[arg-type]
    )  # fmt: skip
    assert watcher.providers == {
        "face_detection": "Cuda", "face_embedding": "Tensorrt", "objects": "cv2.dnn", "appearance": "CPU"
    }  # fmt: skip
