"""Events that go on from clip to clip, and the order of a person's events."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_store.records import Node
from memory_store.store import MemoryStore
from tests.corrected_memory import check_whole, state
from tests.identified_clips import START_UTC_S, open_store, track
from tests.memorized_clips import Home, says
from tests.vectors import axis

ANNA, LEO = axis(0), axis(1)
ANNAS_VOICE = axis(0, 192)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with open_store(tmp_path) as store:
        yield Home(store, tmp_path)


def _seen(store: MemoryStore) -> list[Node]:
    return [node for node in store.nodes(kinds=["episodic"]) if node.provenance["event"] == "seen"]


def _rows(store: MemoryStore) -> list[tuple[float, float, int | None]]:
    rows = store.timeline()
    return [(row.start_utc_s - START_UTC_S, row.end_utc_s - START_UTC_S, row.person_id) for row in rows]


def test_ten_minutes_in_view_are_one_event_of_twenty_clips(home: Home) -> None:
    for number in range(20):
        home.clip(number, [track(ANNA, 0.0, 30.0)])
    (event,) = _seen(home.store)
    assert (event.start_utc_s, event.end_utc_s, event.weight) == (START_UTC_S, START_UTC_S + 600.0, 20.0)
    assert [clip.source_key for clip in home.store.clips_of(event.id)] == [f"clip:{n}" for n in range(20)]
    spans = home.store.spans(event.id)
    assert [span.start_utc_s - START_UTC_S for span in spans] == [30.0 * number for number in range(20)]
    (person,) = home.store.people()
    assert (person.appearances, person.tentative) == (20, False)
    assert _rows(home.store) == [(0.0, 600.0, person.id)]
    fifth = home.store.timeline(after_utc_s=START_UTC_S + 121, before_utc_s=START_UTC_S + 149)
    assert [(row.start_utc_s, row.end_utc_s) for row in fifth] == [(START_UTC_S + 120, START_UTC_S + 150)]
    assert home.store.event(spans[4].clip_id).stats["seen_s"] == 30.0


def test_an_absence_ends_an_event(home: Home) -> None:
    home.clip(0, [track(ANNA, 0.0, 10.0), track(ANNA, 20.0, 29.5)])
    home.clip(1, [track(ANNA, 0.5, 30.0)])
    home.clip(2)
    home.clip(3, [track(ANNA, 0.0, 30.0)])
    home.clip(4, [track(ANNA, 2.5, 30.0)])
    spans = [(start, end) for start, end, _ in _rows(home.store)]
    assert spans == [(0, 10), (20, 60), (90, 120), (122.5, 150)]


def test_the_memory_before_a_clip_knows_nothing_of_how_the_event_went_on(home: Home) -> None:
    for number in range(4):
        home.clip(number, [track(ANNA, 0.0, 30.0)])
    (event,) = _seen(home.store)
    second = home.store.spans(event.id)[2].clip_id
    (then,) = home.store.nodes(kinds=["episodic"], before_clip=second)
    assert (then.end_utc_s, then.weight) == (START_UTC_S + 60.0, 2.0)
    (row,) = home.store.timeline(before_clip=second)
    assert row.end_utc_s == START_UTC_S + 60.0


def test_the_same_clips_again_change_nothing(home: Home, tmp_path: Path) -> None:
    clips = [([track(ANNA, 0.0, 30.0)], [says("Good morning.", ANNAS_VOICE)]) for _ in range(3)]
    for number, (tracks, speech) in enumerate(clips):
        home.clip(number, tracks, speech)
    before = state(tmp_path)
    for number, (tracks, speech) in enumerate(clips):
        assert home.clip(number, tracks, speech) is None
    assert state(tmp_path) == before


def test_what_is_said_never_becomes_one_with_what_was_said_before(home: Home) -> None:
    for number in range(3):
        home.clip(number, [track(ANNA, 0.0, 30.0)], [says("Good morning.", ANNAS_VOICE, 0.0, 30.0)])
    heard = [node for node in home.store.nodes(kinds=["episodic"]) if node.provenance["event"] == "heard"]
    assert len(heard) == 3
    assert len(_seen(home.store)) == 1


def test_events_at_the_same_time_stay_apart(home: Home) -> None:
    for number in range(3):
        home.clip(
            number, [track(ANNA, 0.0, 30.0), track(LEO, 5.0, 30.0) if number == 0 else track(LEO, 0.0, 30.0)]
        )
    first, second = _seen(home.store)
    assert (first.start_utc_s, second.start_utc_s) == (START_UTC_S, START_UTC_S + 5.0)
    assert first.end_utc_s == second.end_utc_s == START_UTC_S + 90.0
    assert {span.clip_id for span in home.store.spans(first.id)} == {
        span.clip_id for span in home.store.spans(second.id)
    }


def test_an_event_that_never_ends_goes_on_as_a_new_node_every_hour(home: Home) -> None:
    for number in range(122):
        home.clip(number, [track(ANNA, 0.0, 30.0)])
    assert [len(home.store.spans(event.id)) for event in _seen(home.store)] == [120, 2]


def _order(store: MemoryStore) -> list[tuple[int, int]]:
    edges = {edge for node in store.nodes() for edge in store.edges(node.id) if edge.relation == "temporal"}
    return sorted((edge.source, edge.target) for edge in edges)


def test_the_events_of_a_person_stand_in_order(home: Home) -> None:
    home.clip(0, [track(ANNA, 0.0, 10.0)], [says("One.", ANNAS_VOICE)])
    home.clip(3, [track(ANNA, 0.0, 10.0), track(LEO, 12.0, 20.0)])
    home.clip(5, [track(ANNA, 0.0, 10.0)])
    a0, said, a3, leo, a5 = [node.id for node in home.store.nodes(kinds=["episodic"])]
    assert _order(home.store) == [(a0, said), (said, a3), (a3, a5)]
    home.clip(1, [track(ANNA, 0.0, 10.0)])  # an older recording that is read later
    a1 = max(node.id for node in home.store.nodes(kinds=["episodic"]))
    assert _order(home.store) == sorted([(a0, said), (said, a1), (a1, a3), (a3, a5)])
    assert leo not in {node_id for pair in _order(home.store) for node_id in pair}


def test_a_resident_corrects_a_whole_event(home: Home, tmp_path: Path) -> None:
    home.clip(0, [track(LEO, 0.0, 5.0)])
    for number in range(1, 5):
        home.clip(number, [track(ANNA, 0.0, 30.0)])
    home.clip(7, [track(ANNA, 0.0, 5.0)])
    leo, anna = home.store.people()
    first, event, last = _seen(home.store)
    before = state(tmp_path)
    with home.store.transaction():
        home.store.reassign_line(event.id, leo.id)
    check_whole(home.store, tmp_path)
    assert home.store.node(event.id).text == f"<face_{leo.face_ids[0]}> is in view."
    assert (home.store.person(leo.id).appearances, home.store.person(anna.id).appearances) == (5, 1)
    assert _order(home.store) == [(first.id, event.id)]
    assert home.store.exemplars("face")[-1].person_id == leo.id
    with home.store.transaction():
        home.store.undo()
    assert state(tmp_path) == before
    home.clip(8, [track(ANNA, 0.0, 5.0)])
    assert _order(home.store)[-1][0] == last.id


def test_a_resident_corrects_what_an_event_was_in_one_clip(home: Home, tmp_path: Path) -> None:
    home.clip(0, [track(LEO, 0.0, 5.0)])
    for number in range(1, 6):
        home.clip(number, [track(ANNA, 0.0, 30.0)])
    leo, anna = home.store.people()
    _, event = _seen(home.store)
    third = home.store.spans(event.id)[2].clip_id
    before = state(tmp_path)
    with home.store.transaction():
        home.store.reassign_line(event.id, leo.id, clip_id=third)
    check_whole(home.store, tmp_path)
    assert _rows(home.store)[1:] == [(30, 90, anna.id), (90, 120, leo.id), (120, 180, anna.id)]
    assert home.store.person(anna.id).appearances == 4
    with home.store.transaction():
        home.store.undo()
    assert state(tmp_path) == before


def test_who_was_there_for_a_part_of_an_event_did_not_witness_it(home: Home) -> None:
    home.clip(0, [track(ANNA, 0.0, 30.0), track(LEO, 0.0, 10.0)])
    (_, event), leo = _seen(home.store), home.store.people()[1]
    assert home.store.witnessed(leo.id, [event.id]) == {event.id}
    home.clip(1, [track(ANNA, 0.0, 30.0)])
    assert home.store.witnessed(leo.id, [event.id]) == set()


def test_an_event_of_somebody_forgotten_goes_whole(home: Home, tmp_path: Path) -> None:
    for number in range(4):
        home.clip(number, [track(ANNA, 0.0, 30.0), track(LEO, 0.0, 30.0)])
    anna = home.store.people()[0]
    home.store.forget_person(anna.id)
    check_whole(home.store, tmp_path)
    (left,) = _seen(home.store)
    assert len(home.store.spans(left.id)) == 4


def test_splitting_an_event_off_gives_its_face_the_right_times(home: Home, tmp_path: Path) -> None:
    for number in (0, 1, 2, 5):
        home.clip(number, [track(ANNA, 0.0, 30.0)])
    (anna,) = home.store.people()
    event, _ = _seen(home.store)
    with home.store.transaction():
        new = home.store.split_lines(anna.id, [event.id])
    check_whole(home.store, tmp_path)
    (face,) = home.store.person(new).face_ids
    lengths = [span.end_utc_s - span.start_utc_s for span in home.store.spans(face)]
    assert lengths == [30.0, 30.0, 30.0]
