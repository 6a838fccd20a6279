"""People met only once: confirmed by a second clip, or forgotten without leaving an id that leads nowhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_store.store import MemoryStore
from memory_store.tentative import without_tags
from runtime.clips import ClipSpan
from runtime.media_files import MediaFiles, portrait_name
from runtime.tentative import EVERY_CLIPS, STEADY_CLIPS, TentativePeople
from tests.identified_clips import START_UTC_S, Household, open_store, says, track
from tests.vectors import axis

DAY_S = 86400.0
ANNA, LEO, MIA = axis(0), axis(1), axis(2)
ANNAS_VOICE = axis(0, 192)


@pytest.fixture
def household(tmp_path: Path) -> Iterator[Household]:
    with open_store(tmp_path) as store:
        yield Household(store, step_s=DAY_S)


def _line(store: MemoryStore, text: str, actor: int, clip_id: int = 1) -> int:
    with store.transaction():
        clip = store.clip(clip_id)
        line = store.add_node(
            "episodic", text, clip_id=clip_id, start_utc_s=clip.start_utc_s, end_utc_s=clip.end_utc_s
        )
        store.add_edge(line, actor, "mentions", detail="actor")
    return line


def _expire(store: MemoryStore, day: float, limit: int | None = None) -> list[int]:
    with store.transaction():
        return store.expire_tentative(START_UTC_S + day * DAY_S, limit)


def test_a_second_clip_confirms_and_the_same_clip_does_not(household: Household) -> None:
    household.clip([track(ANNA), track(ANNA, 10.0, 13.0)])
    assert [person.tentative for person in household.store.people()] == [True]
    household.clip([track(ANNA)])
    assert [person.tentative for person in household.store.people()] == [False]


def test_a_voice_in_a_second_clip_confirms_its_person(household: Household) -> None:
    household.clip([track(ANNA)], [says(ANNAS_VOICE)])
    household.clip([], [says(ANNAS_VOICE)])
    assert [person.tentative for person in household.store.people()] == [False]


def test_an_expired_person_leaves_readable_lines_and_no_id(household: Household) -> None:
    store = household.store
    who = household.clip([track(ANNA)], [says(ANNAS_VOICE)])
    face, voice = who.faces[0].face_id, who.speech[0].voice_id
    assert face is not None and voice is not None
    (person,) = store.people()
    seen = _line(store, f"<face_{face}> is in view.", face)
    heard = _line(store, f'<voice_{voice}> says: "hello"', voice)
    chinese = _line(store, f"<voice_{voice}>说：“你好”", voice)
    household.clip([track(LEO)])
    leo = household.clip([track(LEO)]).faces[0].face_id
    both = _line(store, f"<face_{face}> hands <face_{leo}> a cup.", face)
    assert _expire(store, 0.5) == [person.id]
    assert store.node(seen).text == "Somebody is in view."
    assert store.node(heard).text == 'Somebody says: "hello"'
    assert store.node(chinese).text == "有人说：“你好”"
    assert store.node(both).text == f"Somebody hands <face_{leo}> a cup."
    assert [one.id for one in store.nodes(kinds=["face", "voice"])] == [leo]
    assert {exemplar.node_id for exemplar in store.exemplars("face")} == {leo}
    assert store.exemplars("voice") == [] and store.votes() == {}
    assert store.votes_of(voice, START_UTC_S, DAY_S) == {}
    assert store.check() == []
    assert all(str(person.id) != row.person for row in store.timeline())
    assert [row.person_id for row in store.timeline() if row.text == "Somebody is in view."] == [None]
    again = household.clip([track(ANNA)]).faces[0]
    assert again.verdict == "new" and again.face_id not in (None, face), "an id is never given twice"


def test_the_confirmed_the_named_and_the_recent_stay(household: Household) -> None:
    store = household.store
    household.clip([track(ANNA)])
    household.clip([track(LEO)])
    household.clip([track(LEO)])
    household.clip([track(MIA)])
    anna, _, mia = (person.id for person in store.people())
    with store.transaction():
        store.name_person(anna, "Anna")
    assert _expire(store, 2.0) == []
    assert _expire(store, 99.0) == [mia]


def test_whom_a_resident_corrected_stays(household: Household) -> None:
    household.clip([track(ANNA)])
    (person,) = household.store.people()
    with household.store.transaction():
        household.store.set_consent(person.id, "guest")
    assert _expire(household.store, 99.0) == []


def test_beyond_the_limit_the_oldest_go_first(household: Household) -> None:
    for number in range(6):
        household.clip([track(axis(number))])
    ids = [person.id for person in household.store.people()]
    assert _expire(household.store, -1.0, 4) == ids[:2]
    assert _expire(household.store, -1.0, 4) == []


def test_clips_of_unknown_time_expire_nobody(household: Household) -> None:
    household.clip([track(ANNA)], time_known=False)
    assert _expire(household.store, 99.0) == []


def _span(clip_id: int, start_utc_s: float, time_known: bool = True) -> ClipSpan:
    return ClipSpan(clip_id, f"k{clip_id}", "test", 0.0, 30.0, start_utc_s, time_known)


def test_it_looks_seldom_and_only_by_a_steady_clock(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        household, files = Household(store), MediaFiles(tmp_path)
        face = household.clip([track(ANNA)]).faces[0].face_id
        assert face is not None
        files.write(portrait_name(face), b"picture")
        tentative = TentativePeople(store, files, days=7.0, limit=100)
        later = START_UTC_S + 30 * DAY_S
        assert tentative.after_clip(EVERY_CLIPS, _span(1, later)) == [], "no clip agrees with this clock"
        household.start_utc_s = later - household.clips * household.step_s
        for _ in range(STEADY_CLIPS):
            household.clip([])
        now = later + STEADY_CLIPS * household.step_s
        assert tentative.after_clip(EVERY_CLIPS + 1, _span(2, now)) == []
        assert tentative.after_clip(EVERY_CLIPS, _span(2, now, time_known=False)) == []
        assert tentative.after_clip(EVERY_CLIPS, _span(2, now + 365 * DAY_S)) == [], "the clock has jumped"
        assert len(tentative.after_clip(EVERY_CLIPS, _span(2, now))) == 1
        assert files.find(portrait_name(face)) is None


@pytest.mark.parametrize(
    "text, told",
    [
        ("<face_1> is in view.", "Somebody is in view."),
        ("<face_12> and <face_1> talk.", "<face_12> and somebody talk."),
        ("我看见<face_1>了", "我看见有人了"),
        ("nobody", "nobody"),
    ],
)
def test_tags_become_words_token_by_token(text: str, told: str) -> None:
    assert without_tags(text, {1}) == told
