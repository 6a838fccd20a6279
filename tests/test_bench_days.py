"""The days benchmark on made-up footage: what a day is composed of, and that ids are compared across days."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drivers.replay import Replay
from models.manifest import Manifest
from offline_tools.bench.attribution import TrueSegment
from offline_tools.bench.days import START_UTC_S, Household
from offline_tools.bench.identity_run import DAY_S, OurRule
from offline_tools.bench.identity_stress import SHARP
from offline_tools.bench.perceived import PerceivedClip
from offline_tools.bench.shuffled_day import Conditions, Footage, changed, compose_day, conditions, footage
from runtime.clips import ClipSpan
from runtime.compose import Parts
from runtime.config import Settings
from runtime.hear import HeardSpeech, Hearing
from runtime.see import FaceTrack, FaceView, Sight
from tests.recordings import picture, tone
from tests.vectors import axis, near

PEOPLE = ("a", "b", "c", "d")
CROP = np.zeros((112, 112, 3), dtype=np.uint8)


def piece(person: str, start_s: float, brightness: int) -> Footage:
    image = np.full((64, 96, 3), brightness, np.uint8)
    return Footage(TrueSegment(start_s, start_s + 1.0, person, ""), (image,) * 5, tone(1.0))


def test_a_day_holds_every_segment_in_another_order_and_the_same_bytes_for_the_same_seed(
    tmp_path: Path,
) -> None:
    cut = [piece(person, float(number), 60 * number + 30) for number, person in enumerate(PEOPLE)]
    first = compose_day(cut, 0, 7, tmp_path / "first.mp4")
    later = compose_day(cut, 3, 7, tmp_path / "later.mp4")
    again = compose_day(cut, 3, 7, tmp_path / "again.mp4")
    assert [segment.person for segment in first] == list(PEOPLE)
    assert sorted(segment.person for segment in later) == list(PEOPLE)
    assert [segment.start_s for segment in later] == [0.0, 1.0, 2.0, 3.0]
    assert later == again
    assert (tmp_path / "later.mp4").read_bytes() == (tmp_path / "again.mp4").read_bytes()
    assert abs(Replay(tmp_path / "later.mp4").info.duration_s - 4.0) < 0.3
    back = footage(tmp_path / "first.mp4", first)
    assert [len(one.pictures) for one in back] == [5, 5, 5, 5]
    assert np.mean(back[3].pictures[2]) > np.mean(back[0].pictures[2]) + 100


def test_conditions_change_light_and_sharpness_but_never_on_the_first_day() -> None:
    assert set(conditions(0, 5, 1)) == {Conditions(1.0, 1.0, 0.0, 0.0, 1.0)}
    assert conditions(2, 5, 1) == conditions(2, 5, 1) != conditions(3, 5, 1)
    image = picture(20)
    assert np.mean(changed(image, Conditions(0.6, 1.0, 0.0, 0.0, 1.0))) < np.mean(image)
    edge = np.abs(np.diff(changed(image, Conditions(1.0, 1.0, 0.0, 2.0, 1.0)).astype(int), axis=1)).max()
    assert edge < np.abs(np.diff(image.astype(int), axis=1)).max()


def clip(day: int, number: int, vectors: list[NDArray[np.float32]]) -> PerceivedClip:
    tracks, speech = [], []
    for place, vector in enumerate(vectors):
        start_s = 3.0 * place
        views = (FaceView(start_s, vector, SHARP, CROP),)
        tracks.append(FaceTrack(start_s, start_s + 3.0, views))
        voice = np.concatenate([vector, np.zeros(64, dtype=np.float32)])
        speech.append(HeardSpeech(start_s + 0.4, start_s + 2.8, "", "en", 0.0, False, voice))
    start_utc_s = START_UTC_S + day * DAY_S + 30 * number
    span = ClipSpan(number, f"{day}/{number}", "test", 0.0, 30.0, start_utc_s, True)
    return PerceivedClip(span, Sight(tuple(tracks)), Hearing(tuple(speech)))


def test_ids_that_last_are_pure_and_complete_over_days_and_the_reference_mixes_those_alike(
    tmp_path: Path,
) -> None:
    truth = [TrueSegment(3.0 * place, 3.0 * place + 3.0, who, "") for place, who in enumerate(PEOPLE[:3])]
    base = [axis(0), near(axis(0), 0.35, 1), axis(2)]
    with OurRule(Parts(Settings(), Manifest.load()), tmp_path) as ours:
        household = Household(ours)
        for day in range(2):
            looks = [near(vector, 0.97, 20 + 3 * day + place) for place, vector in enumerate(base)]
            result = household.live(day, [clip(day, 0, looks)], truth)
    assert (result.people, result.tentative) == (3, 0)
    assert result.face.purity == result.face.completeness == 1.0
    assert result.voice.purity == result.voice.completeness == 1.0
    assert result.reference_face.ids == 2
    assert result.reference_face.purity < 0.7
