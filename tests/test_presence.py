"""Presence: a picture on the wall and a face on a screen are seen, but nobody is there."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from numpy.typing import NDArray

from models.mouth import MouthMotion
from models.speech_noise import Loudness
from runtime.grounded import grounded_lines
from runtime.hear import HeardSpeech
from runtime.identify import Identified
from runtime.presence import Presence, stands_still
from runtime.say import Speech
from runtime.screens import Rectangle, Screen, ScreenFinder
from runtime.see import FaceLook, FaceTrack, FaceView
from tests.identified_clips import SHARP, Household, open_store, says
from tests.vectors import axis, near

ANNA, LEO, ANNAS_VOICE = axis(0), axis(1), axis(0, 192)
TV = Rectangle(300.0, 60.0, 200.0, 120.0)
CUTS = (2.0, 4.0, 6.0)
ON_TV = (360.0, 80.0)


@pytest.fixture
def household(tmp_path: Path) -> Iterator[Household]:
    with open_store(tmp_path) as store:
        yield Household(store, presence=Presence(store, picture_clips=3))


def _crop(seed: int) -> NDArray[np.uint8]:
    coarse = np.random.default_rng(seed).integers(0, 255, (14, 14), dtype=np.uint8)
    return np.repeat(np.kron(coarse, np.ones((8, 8), dtype=np.uint8))[:, :, np.newaxis], 3, axis=2)


def _face(
    vector: NDArray[np.float32],
    moves: float | list[float],
    *,
    at: tuple[float, float] = (100.0, 100.0),
    seed: int = 1,
    end_s: float = 10.0,
) -> FaceTrack:
    """A face of 60 px at a place, whose mouth moves by so many grey levels between frames, and the rest by half."""
    count = round(end_s * 5)
    levels = list(np.resize(np.asarray(moves, dtype=np.float64), count))
    looks = tuple(
        FaceLook(number / 5, *at, 60.0, 60.0, MouthMotion(float(level), float(level) / 2) if number else None)
        for number, level in enumerate(levels)
    )
    return FaceTrack(0.0, end_s, (FaceView(0.0, vector, SHARP, _crop(seed)),), looks)


def _events(who: Identified) -> list[tuple[str, str]]:
    return [(line.event, line.text) for line in grounded_lines(who, ())]


def test_a_face_that_stands_still_in_three_clips_is_a_picture(household: Household) -> None:
    first = household.clip([_face(ANNA, 1.0)])
    face_id = first.faces[0].face_id
    assert household.clip([_face(near(ANNA, 0.9, 3), 1.0)]).faces[0].face_id == face_id
    third = household.clip([_face(ANNA, 1.0)], [says(ANNAS_VOICE)])
    assert third.faces == ()
    assert ("picture", f"A picture of <face_{face_id}> is in view.") in _events(third)
    assert third.speech[0].face_id is None and household.store.votes() == {}
    assert [line.actors for line in grounded_lines(third, ()) if line.event == "picture"] == [()]
    assert len([person for person in household.store.people() if person.face_ids]) == 1


def test_a_known_picture_is_known_again_at_a_glance(household: Household) -> None:
    for _ in range(3):
        household.clip([_face(ANNA, 1.0)])
    brief = household.clip([_face(ANNA, 1.0, end_s=1.0)])
    assert brief.faces == () and [one.kind for one in brief.shown] == ["picture"]
    assert len(household.clip([_face(ANNA, 6.0, end_s=1.0)]).faces) == 1, "it moves"
    assert len(household.clip([_face(ANNA, 1.0, at=(300.0, 100.0), end_s=1.0)]).faces) == 1, "it is elsewhere"


def test_it_stays_one_picture_after_a_restart_and_nobody_is_enrolled_anew(tmp_path: Path) -> None:
    for _ in range(5):
        with open_store(tmp_path) as store:
            household = Household(store, presence=Presence(store, picture_clips=3))
            household.clips = len(store.clips())
            who = household.clip([_face(ANNA, 1.0)])
    with open_store(tmp_path) as store:
        assert [one.kind for one in who.shown] == ["picture"]
        assert len(store.people()) == 1
        assert len(store.nodes(kinds=["object"])) == 1


@pytest.mark.parametrize(
    "clips",
    [
        [_face(ANNA, 6.0)] * 5,  # talks
        [_face(ANNA, 1.0, end_s=3.0)] * 5,  # too short to tell
        [_face(ANNA, 1.0, at=(100.0 + 70.0 * n, 100.0)) for n in range(5)],  # sat still, each time elsewhere
        [_face(ANNA, 1.0, seed=n) for n in range(5)],  # sat still at one place, but never looked the same
    ],
    ids=["talks", "short", "elsewhere", "looks different"],
)
def test_people_who_sit_still_for_a_while_are_no_pictures(
    household: Household, clips: list[FaceTrack]
) -> None:
    for track in clips:
        assert len(household.clip([track]).faces) == 1


def test_a_track_without_looks_is_not_still() -> None:
    assert not stands_still(FaceTrack(0.0, 10.0, ()))
    assert not stands_still(replace(_face(ANNA, 1.0), looks=_face(ANNA, 1.0).looks[:10]))


def test_a_face_within_a_screen_is_nobody_in_the_room(household: Household) -> None:
    screen = (Screen(TV, CUTS),)
    shown = household.clip([_face(ANNA, 5.0, at=ON_TV, end_s=1.9), _face(LEO, 5.0)], screens=screen)
    assert len(shown.faces) == 1 and [one.kind for one in shown.shown] == ["screen"]
    assert len(household.store.people()) == 1


def test_a_screen_is_known_again_without_a_cut(household: Household) -> None:
    short = _face(ANNA, 5.0, at=ON_TV, end_s=1.9)
    for _ in range(2):
        assert household.clip([short], screens=(Screen(TV, CUTS),)).faces == ()
    assert household.clip([_face(ANNA, 5.0, at=ON_TV)]).faces == ()
    assert household.store.people() == []
    assert len(household.clip([_face(ANNA, 5.0, at=(20.0, 80.0))]).faces) == 1


def test_somebody_in_front_of_a_screen_outlasts_its_cuts(household: Household) -> None:
    who = household.clip([_face(ANNA, 5.0, at=ON_TV)], screens=(Screen(TV, CUTS),))
    assert len(who.faces) == 1 and who.shown == ()


@pytest.mark.parametrize(
    ("line", "chinese"),
    [
        ("A picture of Anna is in view.", "看到了Anna的照片"),
        ("A screen shows somebody.", "屏幕上看到了有人"),
        ("Anna is in view.", "看到了Anna"),
    ],
)
def test_pictures_and_screens_are_told_in_both_languages(line: str, chinese: str) -> None:
    assert Speech("en", ZoneInfo("UTC"), 0.0).memory(line) == line
    assert Speech("zh", ZoneInfo("UTC"), 0.0).memory(line) == chinese


def _sound() -> Loudness:
    times = np.arange(500) * 0.02
    return Loudness(0.0, np.where((times // 0.5) % 2 == 1, 1e-2, 1e-7).astype(np.float32))


def _speaking() -> list[float]:
    sound = _sound()
    return [6.0 if sound.decibels(n / 5 - 0.2, n / 5) > -40 else 1.0 for n in range(50)]


def _broadcast() -> HeardSpeech:
    return replace(says(ANNAS_VOICE, 0.0, 4.0), loudness=_sound())


def test_what_a_screen_says_is_quoted_as_such_and_belongs_to_nobody(household: Household) -> None:
    household.clip([_face(LEO, 6.0)], [says(ANNAS_VOICE)])  # somebody with the same voice lives here
    taught = len(household.store.exemplars("voice"))
    remember_screen(household)
    who = household.clip([_face(ANNA, _speaking(), at=ON_TV), _face(LEO, 0.5)], [_broadcast()])
    spoken = who.speech[0]
    assert (spoken.voice_id, spoken.face_id, spoken.speech.source) == (None, None, "screen")
    (line,) = [line for line in grounded_lines(who, ()) if line.event == "heard"]
    assert line.text == 'Somebody on a screen says: "hello"'
    assert line.actors == () and line.provenance["speech_source"] == "screen"
    assert len(household.store.exemplars("voice")) == taught


def test_beside_a_screen_a_resident_who_speaks_is_heard_as_one(household: Household) -> None:
    remember_screen(household)
    who = household.clip([_face(ANNA, 0.5, at=ON_TV), _face(LEO, _speaking())], [_broadcast()])
    assert who.speech[0].face_id == who.faces[0].face_id and who.speech[0].voice_id is not None


def test_where_it_is_open_who_spoke_nothing_is_learned(household: Household) -> None:
    remember_screen(household)
    who = household.clip([_face(ANNA, _speaking(), at=ON_TV), _face(LEO, _speaking())], [_broadcast()])
    assert (who.speech[0].speech.source, who.speech[0].face_id, who.speech[0].voice_id) == (
        "open",
        None,
        None,
    )
    assert household.store.exemplars("voice") == []


def remember_screen(household: Household) -> None:
    for _ in range(2):
        household.clip([], screens=(Screen(TV, CUTS),))


def _room(seed: int, tv: bool, person_x: int) -> NDArray[np.float32]:
    """A thumbnail of a room with a screen in it, or without, and somebody who walks through."""
    room = np.random.default_rng(0).uniform(60, 80, (36, 64)).astype(np.float32)
    if tv:
        room[6:18, 30:50] = np.random.default_rng(seed).choice([20.0, 120.0, 220.0], (12, 20))
    room[14:34, person_x : person_x + 5] = 180.0
    return room


def test_a_screen_is_found_by_its_cuts_and_a_walker_is_none() -> None:
    finder, walks = ScreenFinder(), ScreenFinder()
    for step in range(1, 60):
        seen = [_room(number // 10, True, number % 20) for number in (step - 1, step)]
        finder.add(step / 5, *seen, 640, 360)
        walked = [_room(1, False, number % 50) for number in (step - 1, step)]
        walks.add(step / 5, *walked, 640, 360)
    (screen,) = finder.found()
    assert screen.place.overlap(Rectangle(300, 60, 200, 120)) > 0.7 and len(screen.cuts_s) >= 3
    assert walks.found() == ()


def _clip_with_one_cut(finder: ScreenFinder, clip: int, starts_s: float) -> tuple[Screen, ...]:
    """What a clip of three seconds tells in which the screen's picture changes once, in its middle."""
    for step in range(1, 16):
        seen = [_lit(clip + (number > 7), number) for number in (step - 1, step)]
        finder.add(starts_s + step / 5, *seen, 640, 360)
    return finder.found()


def _lit(picture: int, person_x: int) -> NDArray[np.float32]:
    """The room with a screen that shows a dark and a bright picture by turns."""
    room = _room(0, False, person_x)
    room[6:18, 30:50] = 200.0 if picture % 2 else 40.0
    return room


def test_a_screen_that_is_cut_once_a_clip_is_found_by_the_third() -> None:
    finder = ScreenFinder()
    found = [_clip_with_one_cut(finder, clip, 30.0 * clip) for clip in range(4)]
    assert [len(screens) for screens in found] == [0, 0, 1, 1]
    assert [round(cut_s, 1) for cut_s in found[3][0].cuts_s] == [91.6], "the cuts of earlier clips are over"


def test_cuts_far_apart_or_of_another_source_are_not_counted_together() -> None:
    seldom, again = ScreenFinder(), ScreenFinder()
    assert not any(_clip_with_one_cut(seldom, clip, 100.0 * clip) for clip in range(5))
    assert not any(_clip_with_one_cut(again, clip, 0.0) for clip in range(5))


def test_a_screen_is_not_told_again_in_a_clip_without_a_cut() -> None:
    finder = ScreenFinder()
    for clip in range(3):
        _clip_with_one_cut(finder, clip, 30.0 * clip)
    for step in range(1, 16):
        finder.add(90 + step / 5, _lit(3, step - 1), _lit(3, step), 640, 360)
    assert finder.found() == ()


def test_somebody_who_walks_about_for_minutes_is_no_screen() -> None:
    finder = ScreenFinder()
    found = []
    for step in range(1, 1500):
        walked = [_room(1, False, number * 3 % 55) for number in (step - 1, step)]
        finder.add(step / 5, *walked, 640, 360)
        if step % 150 == 0:
            found += finder.found()
    assert found == []
