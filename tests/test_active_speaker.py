"""Active speaker: a mouth that moves with the speech has the voice, and what is not sure is left open."""

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from drivers.media import AudioBlock, Frame
from drivers.replay import Replay
from models.errors import ModelError
from models.face_quality import FaceQuality
from models.faces import FaceDetector
from models.mouth import MouthMotion, grey_crop, mouth_motion
from models.rigid_motion import change_of_shape
from models.speech_noise import Loudness, loudness
from runtime.active_speaker import (
    MouthDuring,
    active_speaker,
    is_moved_picture,
    mouth_during,
    speaking_face,
)
from runtime.config import PerceiveSettings
from runtime.face_identity import SeenFace
from runtime.hear import HeardSpeech
from runtime.see import FaceLook, FaceTrack, FaceView, Sight, Watcher
from tests.pictures import fetched_model, media
from tests.vectors import axis

SEGMENT_S = 3.0
FRAMES = 15
MOVES = MouthDuring("moves", 0.7)
STILL = MouthDuring("still", 0.0)


@pytest.mark.parametrize(
    ("mouths", "speaker"),
    [
        ([], None),
        ([MOVES, STILL], 0),
        ([STILL, STILL, MOVES], 2),
        ([STILL, STILL], None),
        ([STILL, MouthDuring("unknown", 0.9)], None),
        ([MouthDuring("moves", 0.2), MOVES], 1),
        ([MouthDuring("moves", 0.6), MOVES], None),
        ([MouthDuring("moves", -0.4), MouthDuring("moves", 0.3)], None),
        ([MOVES, MouthDuring("unknown", 0.0)], 0),
        ([MOVES, MouthDuring("unknown", None)], None),
        ([MouthDuring("unknown", 0.9), MouthDuring("moves", 0.1)], None),
    ],
)
def test_one_who_moves_or_clearly_follows_speaks(mouths: list[MouthDuring], speaker: int | None) -> None:
    assert active_speaker(mouths) == speaker


def _sound() -> Loudness:
    """Four seconds, loud in every other half second."""
    times = np.arange(200) * 0.02
    return Loudness(0.0, np.where((times // 0.5) % 2 == 1, 1e-2, 1e-7).astype(np.float32))


def _looks(moves: NDArray[np.float64] | list[float], width: float = 100.0) -> tuple[FaceLook, ...]:
    return tuple(
        FaceLook(0.2 * (number + 1), 0.0, 0.0, width, width, MouthMotion(float(mouth), 0.5))
        for number, mouth in enumerate(moves)
    )


def test_a_mouth_that_moves_with_the_sound_follows_it() -> None:
    sound = _sound()
    level = np.array([sound.decibels(0.2 * number, 0.2 * number + 0.2) for number in range(20)])
    with_it = mouth_during(list(_looks(np.where(level > -40, 6.0, 1.0))), 0.0, 4.0, sound)
    against = mouth_during(list(_looks(np.where(level > -40, 1.0, 6.0))), 0.0, 4.0, sound)
    assert with_it.mouth == "moves" and with_it.follows is not None and with_it.follows > 0.9
    assert against.follows is not None and against.follows < -0.9


def test_a_small_or_briefly_seen_face_is_never_called_still() -> None:
    assert mouth_during(list(_looks([0.5] * 20)), 0.0, 4.0, None).mouth == "still"
    assert mouth_during(list(_looks([0.5] * 20, width=30.0)), 0.0, 4.0, None).mouth == "unknown"
    assert mouth_during(list(_looks([0.5] * 3)), 0.0, 4.0, None).mouth == "unknown"
    assert mouth_during([], 0.0, 4.0, None) == MouthDuring("unknown", None)


def test_a_still_mouth_beside_long_speech_belongs_to_a_listener() -> None:
    listener = SeenFace(FaceTrack(0.0, 4.0, (), _looks([0.5] * 20)), 7, "known", 0.9)
    unseen = SeenFace(FaceTrack(0.0, 4.0, ()), 7, "known", 0.9)
    assert speaking_face(_said(0.5, 3.5), (listener,)) is None
    assert speaking_face(_said(0.5, 1.5), (listener,)) is listener, "a word or two shows too little"
    assert speaking_face(_said(0.5, 3.5), (unseen,)) is unseen


def _said(start_s: float, end_s: float, sound: Loudness | None = None) -> HeardSpeech:
    return HeardSpeech(start_s, end_s, "hello", "en", 0.9, False, None, None, sound)


def test_motion_ignores_light_and_small_shifts_and_refuses_other_sizes() -> None:
    crop = np.random.default_rng(1).integers(0, 200, (112, 112, 3)).astype(np.uint8)
    shifted = np.roll(crop, (1, -1), axis=(0, 1)) + 20
    moved = crop.copy()
    moved[84:104, 44:70] = 255 - moved[84:104, 44:70]
    still = mouth_motion(grey_crop(crop), grey_crop(shifted))
    talks = mouth_motion(grey_crop(crop), grey_crop(moved))
    assert still.mouth < 1 and still.face < 1
    assert talks.mouth > 5 and talks.face < 1 and talks.own > 4
    with pytest.raises(ModelError, match="112"):
        grey_crop(crop[:100])


def _face(mouth_px: int, gain: float = 1.0) -> NDArray[np.uint8]:
    """A drawn crop (112, 112, 3) whose mouth is open so far."""
    drawn = np.random.default_rng(7).integers(60, 190, (14, 14)).astype(np.uint8)
    face = cv2.resize(drawn, (112, 112), interpolation=cv2.INTER_CUBIC)
    cv2.ellipse(face, (56, 92), (14, 2 + mouth_px), 0.0, 0.0, 360.0, 20, -1)
    return np.repeat(np.clip(face * gain, 0, 255).astype(np.uint8)[..., np.newaxis], 3, axis=2)


def _pushed(crop: NDArray[np.uint8], turn_deg: float, shift_px: float) -> NDArray[np.uint8]:
    matrix = cv2.getRotationMatrix2D((56, 56), turn_deg, 1.0 + turn_deg / 100)
    matrix[:, 2] += shift_px
    pushed = cv2.warpAffine(crop, matrix, (112, 112), borderMode=cv2.BORDER_REFLECT)
    return np.asarray(pushed, dtype=np.uint8)


def _shown(crops: list[NDArray[np.uint8]], push_px: float) -> FaceTrack:
    quality = FaceQuality(200.0, 100.0, 0.0, 0.0)
    views = tuple(FaceView(float(second), axis(0), quality, crop) for second, crop in enumerate(crops))
    looks = tuple(
        FaceLook(number / 5, push_px * np.sin(number), 0.0, 100.0, 100.0, MouthMotion(0.5, 0.5))
        for number in range(20)
    )
    return FaceTrack(0.0, 4.0, views, looks)


def test_a_picture_that_is_moved_about_tells_nothing_and_one_that_hangs_does_not_speak() -> None:
    same = [_pushed(_face(2), turn, turn) for turn in (0.0, 1.0, -1.0, 0.5)]
    talks = [_pushed(_face(width), turn, turn) for width, turn in ((0, 0.0), (9, 1.0), (3, -1.0), (11, 0.5))]
    assert is_moved_picture(_shown(same, 8.0))
    assert not is_moved_picture(_shown(same, 0.0))
    assert not is_moved_picture(_shown(talks, 8.0))
    held, hanging, listener = (
        SeenFace(shown, 7, "known", 0.9)
        for shown in (_shown(same, 8.0), _shown(same, 0.0), _shown(talks, 8.0))
    )
    assert speaking_face(_said(0.5, 3.5), (held,)) is held
    assert speaking_face(_said(0.5, 3.5), (hanging,)) is None
    assert speaking_face(_said(0.5, 3.5), (listener,)) is None


def test_change_of_shape_ignores_place_turn_and_light_and_sees_a_mouth() -> None:
    before = grey_crop(_face(2))
    moved = change_of_shape(before, grey_crop(_pushed(_face(2, gain=0.8), 2.0, 1.5)))
    opened = change_of_shape(before, grey_crop(_pushed(_face(10), 2.0, 1.5)))
    assert moved is not None and opened is not None and moved < 0.05 and opened > 0.15
    assert change_of_shape(before, np.zeros((112, 112), dtype=np.float32)) is None


class _Visitors:
    """Pictures at 5 fps and the sound of the visitors' recording, three seconds for each sentence."""

    def __init__(self, sentences: int) -> None:
        pictures, sounds = [], []
        for item in Replay(media("streams/visitors_day1.mp4")).items():
            if item.time_s >= sentences * SEGMENT_S:
                break
            if isinstance(item, Frame):
                pictures.append(item.image)
            elif isinstance(item, AudioBlock):
                sounds.append(item.samples)
        self.pictures, self.sound = pictures, np.concatenate(sounds)

    def shows(self, sentence: int) -> list[NDArray[np.uint8]]:
        return self.pictures[sentence * FRAMES : (sentence + 1) * FRAMES]

    def says(self, sentence: int) -> NDArray[np.float32]:
        length = round(SEGMENT_S * 16000)
        return self.sound[sentence * length : (sentence + 1) * length]

    def photo(self, sentence: int, seed: int) -> list[NDArray[np.uint8]]:
        """One picture again and again, through a noisy camera."""
        picture = self.shows(sentence)[1]
        drawn = np.random.default_rng(seed)
        return [
            np.clip(picture + drawn.normal(0, 2, picture.shape), 0, 255).astype(np.uint8)
            for _ in range(FRAMES)
        ]


class _Nothing:
    """Stands where neither whose face it is nor which things stand there matters."""

    def embed(self, crops: list[NDArray[np.uint8]]) -> NDArray[np.float32]:
        return axis(0)[np.newaxis]

    def detect(self, image: NDArray[np.uint8]) -> list[object]:
        return []


def _watch(pictures: list[NDArray[np.uint8]]) -> Sight:
    nothing = _Nothing()
    watcher = Watcher(
        FaceDetector(fetched_model("yunet")),
        nothing,  # type: ignore[arg-type]
        nothing,  # type: ignore[arg-type]
        PerceiveSettings(),
        frame_rate_hz=5.0,
        same_face=0.0,
    )
    for number, picture in enumerate(pictures):
        watcher.add(Frame(number / 5, picture))
    return watcher.finish()


def _faces(sight: Sight) -> tuple[SeenFace, ...]:
    return tuple(SeenFace(track, 100 + n, "known", 0.9) for n, track in enumerate(sight.tracks))


@pytest.mark.timeout(60)
def test_beside_a_photo_or_another_talker_the_wrong_face_never_gets_the_voice() -> None:
    """Two people of the recording side by side; the first one's sound. Both talking at once is mostly left open."""
    visitors = _Visitors(6)
    right = 0
    for sentence, other in ((0, 3), (1, 4)):
        said = _said(0.6, 2.4, loudness(visitors.says(sentence)))
        for beside in (visitors.photo(other, seed=sentence), visitors.shows(other)):
            sight = _watch([np.hstack(pair) for pair in zip(visitors.shows(sentence), beside, strict=True)])
            speaker = speaking_face(said, _faces(sight))
            assert speaker is None or speaker.track.looks[0].x < beside[0].shape[1]
            right += speaker is not None
    assert right >= 2


@pytest.mark.timeout(60)
def test_a_person_who_listens_does_not_get_an_off_screen_voice() -> None:
    visitors = _Visitors(2)
    said = _said(0.6, 2.4, loudness(visitors.says(0)))
    assert speaking_face(said, _faces(_watch(visitors.photo(1, seed=5)))) is None
    talking = _faces(_watch(visitors.shows(0)))
    assert speaking_face(said, talking) is talking[0]
