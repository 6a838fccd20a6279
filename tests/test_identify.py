"""Identification of whole clips against a real memory: faces, voices, and which belong together."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memory_store.errors import IdentityConflict
from models.face_quality import FaceQuality
from runtime.hear import HeardSpeech
from runtime.see import FaceTrack
from tests.identified_clips import BLURRED, PROFILE, Household, open_store, says, track
from tests.identified_days import drift_and_passers_by
from tests.vectors import axis, near


@pytest.fixture
def household(tmp_path: Path) -> Iterator[Household]:
    with open_store(tmp_path) as store:
        yield Household(store)


ANNA, LEO, MIA = axis(0), axis(1), axis(2)
ANNAS_VOICE, LEOS_VOICE = axis(0, 192), axis(1, 192)


def test_somebody_new_is_one_person_with_one_face(household: Household) -> None:
    seen = household.clip([track(ANNA)]).faces
    assert seen[0].verdict == "new"
    (person,) = household.store.people()
    assert person.face_ids == (seen[0].face_id,)
    assert person.tentative


def test_the_same_face_later_is_the_same_id(household: Household) -> None:
    first = household.clip([track(ANNA)]).faces[0]
    again = household.clip([track(near(ANNA, 0.7, 5))]).faces[0]
    assert (again.verdict, again.face_id) == ("known", first.face_id)
    assert len(household.store.people()) == 1


def test_unsure_is_shown_and_never_enrolled(household: Household) -> None:
    household.clip([track(ANNA)])
    before = household.store.exemplars("face")
    seen = household.clip([track(near(ANNA, 0.45, 5))]).faces[0]
    assert (seen.verdict, seen.face_id) == ("unsure", None)
    assert len(household.store.exemplars("face")) == len(before)
    assert len(household.store.people()) == 1


def test_two_faces_at_the_same_time_are_two_people(household: Household) -> None:
    household.clip([track(ANNA)])
    seen = household.clip([track(ANNA, 0.0, 3.0), track(near(ANNA, 0.9, 5), 1.0, 2.0)]).faces
    assert seen[0].face_id != seen[1].face_id


@pytest.mark.parametrize(
    "shown", [track(ANNA, quality=BLURRED), track(ANNA, quality=PROFILE), track(ANNA, 0.0, 0.2)]
)
def test_a_blurred_turned_or_momentary_face_enrolls_nobody(household: Household, shown: FaceTrack) -> None:
    assert household.clip([shown]).faces[0].face_id is None
    assert household.store.people() == []


def test_a_blurred_face_is_still_recognised_but_teaches_nothing(household: Household) -> None:
    first = household.clip([track(ANNA)]).faces[0]
    seen = household.clip([track(near(ANNA, 0.6, 9), quality=BLURRED)]).faces[0]
    assert seen.face_id == first.face_id
    assert len(household.store.exemplars("face")) == 1


def test_exemplars_are_few_and_differ(household: Household) -> None:
    household.clip([track(ANNA)])
    for number in range(2, 12):
        household.clip([track(near(ANNA, 0.7, number))])
        household.clip([track(near(ANNA, 0.99, number))])
    exemplars = household.store.exemplars("face")
    assert 2 <= len(exemplars) <= 4
    vectors = np.stack([exemplar.vector for exemplar in exemplars])
    assert np.triu(vectors @ vectors.T, 1).max() <= 0.8


def test_a_face_and_a_voice_met_alone_together_become_one_person(household: Household) -> None:
    who = household.clip([track(ANNA)], [says(ANNAS_VOICE)])
    assert who.speech[0].by == "voice and sight"
    (person,) = household.store.people()
    assert person.face_ids == (who.faces[0].face_id,)
    assert person.voice_ids == (who.speech[0].voice_id,)


def test_a_voice_that_goes_on_after_the_last_picture_is_still_the_faces(household: Household) -> None:
    ends_early = ((0.0, 1.6),)
    household.clip([track(axis(0), 0.0, 1.6)], [says(axis(0, 192), 0.4, 2.4)], watched=ends_early)
    (person,) = household.store.people()
    assert len(person.face_ids) == len(person.voice_ids) == 1


def test_a_voice_that_goes_on_after_a_face_left_is_not_bound_to_it(household: Household) -> None:
    household.clip([track(axis(0), 0.0, 1.6)], [says(axis(0, 192), 0.4, 2.4)], watched=((0.0, 3.0),))
    assert all(not (person.face_ids and person.voice_ids) for person in household.store.people())


def test_speech_mostly_without_pictures_tells_nothing_of_a_face(household: Household) -> None:
    household.clip([track(axis(0), 0.0, 1.0)], [says(axis(0, 192), 0.4, 2.9)], watched=((0.0, 1.0),))
    assert all(not (person.face_ids and person.voice_ids) for person in household.store.people())


def test_two_faces_in_view_bind_nobody(household: Household) -> None:
    household.clip([track(ANNA), track(LEO)], [says(ANNAS_VOICE)])
    assert household.store.votes() == {}
    assert sorted(len(person.face_ids) + len(person.voice_ids) for person in household.store.people()) == [
        1,
        1,
        1,
    ]


def test_a_known_voice_is_heard_off_screen(household: Household) -> None:
    first = household.clip([track(ANNA)], [says(ANNAS_VOICE)]).speech[0]
    later = household.clip([], [says(near(ANNAS_VOICE, 0.6, 7))]).speech[0]
    assert (later.voice_id, later.by) == (first.voice_id, "voice")


def test_an_unsure_face_with_the_right_voice_is_settled_but_not_learned(household: Household) -> None:
    first = household.clip([track(ANNA)], [says(ANNAS_VOICE)]).faces[0]
    household.clip([track(LEO)], [says(LEOS_VOICE)])
    doubtful = track(near(ANNA, 0.45, 5))
    assert household.clip([doubtful], [says(ANNAS_VOICE)]).faces[0].face_id == first.face_id
    assert household.clip([doubtful], [says(LEOS_VOICE)]).faces[0].face_id is None, "the voice says otherwise"
    assert household.clip([doubtful, track(LEO)], [says(ANNAS_VOICE)]).faces[0].face_id is None, "two in view"
    assert household.clip([doubtful]).faces[0].face_id is None
    assert len(household.store.exemplars("face")) == 2


def test_a_binding_follows_the_votes_when_they_turn(household: Household) -> None:
    household.clip([track(ANNA)], [says(LEOS_VOICE)])  # Anna listened while Leo spoke off-screen
    for _ in range(3):
        household.clip([track(LEO)], [says(LEOS_VOICE)])
    voice = household.clip([], [says(LEOS_VOICE)]).speech[0].voice_id
    leo = household.clip([track(LEO)]).faces[0].face_id
    assert voice is not None and leo is not None
    owner, expected = household.store.person_of(voice), household.store.person_of(leo)
    assert owner is not None and expected is not None and owner.id == expected.id


def test_a_tie_of_votes_binds_nobody_else(household: Household) -> None:
    household.clip([track(ANNA)], [says(ANNAS_VOICE)])
    household.clip([track(LEO)], [says(ANNAS_VOICE)])
    anna = household.clip([track(ANNA)]).faces[0].face_id
    assert anna is not None
    person = household.store.person_of(anna)
    assert person is not None and len(person.voice_ids) == 1, "the first binding stands until another leads"


@pytest.mark.parametrize(
    "speech", [says(None), says(ANNAS_VOICE, overlapped=True), says(ANNAS_VOICE, 0.0, 0.8)]
)
def test_short_or_overlapped_speech_teaches_no_voice(household: Household, speech: HeardSpeech) -> None:
    spoken = household.clip([track(ANNA)], [speech]).speech[0]
    assert spoken.voice_id is None
    assert spoken.by == "sight" and spoken.actor_id == spoken.face_id, (
        "the line is still tied to who was in view"
    )
    assert household.store.exemplars("voice") == []


def test_a_voice_alone_must_speak_longer_before_it_is_learned(household: Household) -> None:
    assert household.clip([], [says(ANNAS_VOICE, 0.0, 1.9)]).speech[0].voice_id is None
    assert household.clip([], [says(ANNAS_VOICE, 0.0, 2.1)]).speech[0].voice_id is not None


def test_similar_voices_of_two_people_in_view_stay_two(household: Household) -> None:
    household.clip([track(ANNA)], [says(ANNAS_VOICE)])
    alike = near(ANNAS_VOICE, 0.55, 7)  # passes the plain threshold, but somebody else is in view
    spoken = household.clip([track(LEO)], [says(alike)]).speech[0]
    assert spoken.voice_id is None or household.store.person_of(spoken.voice_id).label != "person_1"


def test_two_faces_really_together_are_known_to_be_two_for_ever(household: Household) -> None:
    seen = household.clip([track(ANNA, 0.0, 3.0), track(LEO, 2.0, 5.0), track(MIA, 4.8, 8.0)]).faces
    anna, leo, mia = (face.face_id for face in seen)
    assert anna is not None and leo is not None and mia is not None
    assert household.store.cannot_links(anna) == {leo}
    assert household.store.cannot_links(mia) == set(), "0.2 s may be a late end of a track"
    people = [household.store.owner_of(face) for face in (anna, leo)]
    with pytest.raises(IdentityConflict), household.store.transaction():
        household.store.merge_people(*people)


def test_whoever_is_in_view_is_nobody_else_in_view_by_another_id(household: Household) -> None:
    first = household.clip([track(ANNA)]).faces[0].face_id
    second = household.clip([track(LEO)]).faces[0].face_id
    with household.store.transaction():
        household.store.merge_people(household.store.owner_of(first), household.store.owner_of(second))
    seen = household.clip([track(ANNA, 0.0, 3.0), track(LEO, 1.0, 2.0)]).faces
    assert seen[0].face_id == first and seen[1].face_id not in (first, second)


def test_votes_that_contradict_who_was_seen_together_stop_nothing(household: Household) -> None:
    household.clip([track(ANNA)], [says(ANNAS_VOICE)])
    household.clip([track(LEO)], [says(LEOS_VOICE)])
    household.clip([track(ANNA), track(LEO)])
    for _ in range(4):
        household.clip([track(LEO)], [says(ANNAS_VOICE)])
    assert len(household.store.people()) in (2, 3) and household.store.check() == []


def test_a_new_looking_face_with_a_known_voice_is_settled_before_anybody_is_enrolled(
    household: Household,
) -> None:
    first = household.clip([track(ANNA)], [says(ANNAS_VOICE)]).faces[0]
    household.clip([track(LEO)], [says(LEOS_VOICE)])
    changed = track(near(ANNA, 0.35, 5))  # below what is unsure: by itself somebody new
    seen = household.clip([changed], [says(ANNAS_VOICE)])
    assert seen.faces[0].face_id == first.face_id == seen.speech[0].face_id
    assert (seen.faces[0].verdict, seen.faces[0].by_voice) == ("known", True)
    assert len(household.store.people()) == 2 and len(household.store.exemplars("face")) == 2
    assert household.clip([changed], [says(LEOS_VOICE)]).faces[0].verdict == "new", "the voice is another's"


def test_a_face_that_is_like_nobody_is_new_whatever_the_voice(household: Household) -> None:
    household.clip([track(ANNA)], [says(ANNAS_VOICE)])
    seen = household.clip([track(near(ANNA, 0.25, 5))], [says(ANNAS_VOICE)]).faces[0]
    assert seen.verdict == "new" and len(household.store.people()) == 2


def test_two_unlike_views_of_one_speaker_in_one_clip_are_one(household: Household) -> None:
    turned = near(ANNA, 0.35, 5)
    tracks = [track(ANNA, 0.0, 3.0), track(turned, 4.0, 8.0), track(turned, 10.0, 12.0)]
    seen = household.clip(tracks, [says(ANNAS_VOICE), says(ANNAS_VOICE, 5.0, 7.5)])
    assert len({face.face_id for face in seen.faces}) == 1
    assert {one.face_id for one in seen.speech} == {seen.faces[0].face_id}
    assert len(household.store.people()) == 1


def test_speech_that_begins_as_a_face_appears_binds_nobody(household: Household) -> None:
    household.clip([track(ANNA, 0.0, 5.0), track(LEO, 5.0, 9.0)], [says(ANNAS_VOICE, 5.1, 8.0)])  # an echo
    assert household.store.votes() == {}
    household.clip([track(LEO, 0.0, 3.0)], [says(ANNAS_VOICE, -1.0, 1.5)])  # carried over from another clip
    assert household.store.votes() == {}
    household.clip([track(LEO, 4.6, 9.0)], [says(LEOS_VOICE, 5.0, 8.0)])
    assert len(household.store.votes()) == 1


def test_short_speech_of_one_voice_counts_most_and_once_a_clip(household: Household) -> None:
    speech = [says(ANNAS_VOICE, 0.5, 3.0), says(ANNAS_VOICE, 4.0, 10.0)]
    household.clip([track(ANNA, 0.0, 12.0)], speech)
    assert list(household.store.votes().values()) == [2.0]
    household.clip([track(ANNA, 0.0, 12.0)], speech[1:])
    assert list(household.store.votes().values()) == [3.0]


def test_an_off_screen_voice_is_not_bound_to_who_listens(household: Household) -> None:
    household.clip([track(ANNA)], [says(ANNAS_VOICE)])
    for _ in range(2):
        household.clip([track(ANNA, 0.0, 8.0)], [says(ANNAS_VOICE), says(LEOS_VOICE, 4.0, 7.0)])
    anna = household.store.person_of(household.clip([track(ANNA)]).faces[0].face_id or 0)
    assert anna is not None and len(anna.voice_ids) == 1


@pytest.mark.parametrize("bad", [np.zeros(128), np.full(128, np.nan), np.full(128, np.inf)])
def test_vectors_without_direction_change_nothing(household: Household, bad: np.ndarray) -> None:
    household.clip([track(ANNA)], [says(ANNAS_VOICE)])
    voice = np.full(192, bad[0], dtype=np.float32)
    seen = household.clip([track(bad.astype(np.float32))], [says(voice)])
    assert seen.faces[0].face_id is None and seen.speech[0].voice_id is None
    assert len(household.store.people()) == 1 and household.store.check() == []


def test_a_face_of_eight_pixels_is_nobody_whoever_it_looks_like(household: Household) -> None:
    tiny = FaceQuality(sharpness=200.0, width_px=8.0, roll_deg=0.0, yaw=0.0)
    household.clip([track(ANNA)])
    seen = household.clip([track(ANNA, quality=tiny), track(LEO, 4.0, 8.0, quality=tiny)])
    assert [(face.face_id, face.verdict) for face in seen.faces] == [(None, "unsure")] * 2
    assert len(household.store.people()) == 1 and household.store.check() == []


def test_a_face_too_small_to_be_learned_is_recognised_and_enrolls_nobody(household: Household) -> None:
    small = FaceQuality(sharpness=200.0, width_px=40.0, roll_deg=0.0, yaw=0.0)
    household.clip([track(ANNA)])
    before = len(household.store.exemplars("face"))
    seen = household.clip([track(near(ANNA, 0.75, 1), quality=small), track(LEO, 4.0, 8.0, quality=small)])
    assert [face.verdict for face in seen.faces] == ["known", "unsure"]
    assert len(household.store.people()) == 1 and len(household.store.exemplars("face")) == before


def test_two_people_somewhat_alike_who_alternate_stay_two(household: Household) -> None:
    alike = near(ANNA, 0.35, 1)
    ids = [household.clip([track((ANNA, alike)[number % 2])]).faces[0].face_id for number in range(10)]
    assert len(set(ids)) == 2 and ids[0] != ids[1] and ids[2:] == ids[:2] * 4


def test_a_drifting_person_and_many_passers_by(household: Household) -> None:
    drift_and_passers_by(household, clips=60, passers_by=60)


def test_a_voice_that_a_resident_told_apart_from_a_face_is_heard_off_screen(household: Household) -> None:
    seen = household.clip([track(ANNA)]).faces[0].face_id
    household.clip([], [says(LEOS_VOICE)])
    heard = household.clip([], [says(LEOS_VOICE)]).speech[0].voice_id
    assert seen is not None and heard is not None
    with household.store.transaction():
        household.store.add_edge(seen, heard, "cannot_link", detail="resident")
    spoken = household.clip([track(ANNA)], [says(LEOS_VOICE)]).speech[0]
    assert (spoken.voice_id, spoken.face_id, spoken.by) == (heard, None, "voice")
    assert household.store.votes() == {}


def test_what_a_resident_said_a_face_is_not_is_not_matched_to_it_again(household: Household) -> None:
    first = household.clip([track(ANNA)]).faces[0].face_id
    alike = near(ANNA, 0.6, 5)
    assert first is not None and household.clip([track(alike)]).faces[0].face_id == first
    (learned,) = [one for one in household.store.exemplars("face") if not np.allclose(one.vector, ANNA)]
    with household.store.transaction():
        household.store.remove_exemplar(learned.id)
        household.store.add_negative(first, "face", alike, clip_id=None, source="resident")
    seen = household.clip([track(near(alike, 0.95, 9))]).faces[0]
    assert (seen.verdict, seen.face_id == first) == ("new", False)
    assert household.clip([track(ANNA)]).faces[0].face_id == first
