"""Persons, merges with their history, votes and names in texts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_store import IdentityConflict, InvalidValue, MemoryStore, UnknownId
from tests.memory_samples import SATURDAY_UTC_S, add_clip, add_face, add_line, add_voice, open_memory, unit


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_memory(tmp_path) as opened:
        yield opened


def test_a_voice_person_merges_into_a_face_person(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        face, voice = add_face(store, clip_id), add_voice(store, clip_id)
        keep, gone = store.create_person(), store.create_person()
        store.bind(keep, face)
        store.bind(gone, voice)
        store.name_person(gone, " Anna  Berg ")
        store.set_consent(gone, "resident")
        store.merge_people(keep, gone)
        later = store.create_person()
    person = store.person(keep)
    assert (person.name, person.consent, person.tentative) == ("Anna Berg", "resident", False)
    assert (person.face_ids, person.voice_ids) == ((face,), (voice,))
    assert store.person(gone) == person and store.person_of(voice) == person
    assert [person.id for person in store.people()] == [keep, later] and later > gone
    history = store.person_history(keep)
    assert history[-1]["action"] == "merge" and history[-1]["node_ids"] == [voice]
    assert history[-1]["gone"] == {"name": "Anna Berg", "consent": "resident", "tentative": 0}
    assert history[-1]["kept"] == {"name": None, "consent": "unknown", "tentative": 1}
    with pytest.raises(InvalidValue, match="same person"), store.transaction():
        store.merge_people(keep, gone)


@pytest.mark.parametrize(
    "name",
    ["", " \n ", "x" * 101, "\x1b[31mRed", "\u202eabc", "a\x00b", "\udcff", "person_5", "12"],
)
def test_names_that_nobody_can_have(store: MemoryStore, name: str) -> None:
    with store.transaction():
        person = store.create_person()
        store.name_person(person, "\U0001f469\u200d\U0001f680 安娜 O'Brien")
    with pytest.raises(InvalidValue, match=f"person {person}"), store.transaction():
        store.name_person(person, name)
    assert (store.person(person).name or "").endswith("安娜 O'Brien")


def test_numbers_and_texts_that_sqlite_cannot_hold(store: MemoryStore) -> None:
    with pytest.raises(InvalidValue, match="smaller number"):
        store.person(10**20)
    with pytest.raises(InvalidValue, match="UTF-8"), store.transaction():
        store.save_trace("bad\udcff", "", {})


def test_do_not_remember_survives_a_merge(store: MemoryStore) -> None:
    with store.transaction():
        keep, gone = store.create_person(), store.create_person()
        store.set_consent(keep, "resident")
        store.set_consent(gone, "do_not_remember")
        store.merge_people(keep, gone)
    assert store.person(keep).consent == "do_not_remember"


def test_cannot_link_forbids_binding_and_merging(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        a, b = add_face(store, clip_id), add_face(store, clip_id)
        one, two = store.create_person(), store.create_person()
        store.bind(one, a)
        store.bind(two, b)
        store.add_edge(b, a, "cannot_link")
    with pytest.raises(IdentityConflict, match="different people"), store.transaction():
        store.merge_people(one, two)
    with pytest.raises(IdentityConflict, match=f"node {b}"), store.transaction():
        store.bind(one, b)
    assert [person.face_ids for person in store.people()] == [(a,), (b,)]


def test_only_known_faces_and_voices_are_bound(store: MemoryStore) -> None:
    with store.transaction():
        line = add_line(store, "x", add_clip(store, 0))
        person_id = store.create_person()
        with pytest.raises(InvalidValue, match="episodic"):
            store.bind(person_id, line)
        with pytest.raises(UnknownId, match="node 99"):
            store.bind(person_id, 99)
        with pytest.raises(UnknownId, match="person 99"):
            store.bind(99, line)
        with pytest.raises(InvalidValue, match="empty name"):
            store.name_person(person_id, "  ")
    assert store.person_of(line) is None


def test_appearances_are_distinct_clips(store: MemoryStore) -> None:
    with store.transaction():
        clips = [add_clip(store, number) for number in range(4)]
        face, voice = add_face(store, clips[0]), add_voice(store, clips[0])
        person_id = store.create_person()
        store.bind(person_id, face)
        store.bind(person_id, voice)
        store.reinforce(face, clips[1])
        heard = add_line(store, f"<voice_{voice}> said: hello", clips[2])
        store.add_edge(heard, voice, "mentions", detail="actor")
        add_line(store, f"somebody spoke of <face_{face}>", clips[3])
    person = store.person(person_id)
    assert person.appearances == 3
    assert (person.first_seen_utc_s, person.last_seen_utc_s) == (SATURDAY_UTC_S, SATURDAY_UTC_S + 90.0)
    assert store.people() == [person]


def test_a_pair_gets_one_vote_a_clip(store: MemoryStore) -> None:
    with store.transaction():
        clips = [add_clip(store, number) for number in (0, 2, 1)]
        face, voice = add_face(store, clips[0]), add_voice(store, clips[0])
        assert store.add_vote(face, voice, clips[0], 1.0)
        assert not store.add_vote(face, voice, clips[0], 5.0)
        assert store.add_vote(face, voice, clips[1], 0.5)
        with pytest.raises(UnknownId, match="voice node"):
            store.add_vote(face, face, clips[0], 1.0)
    assert store.votes() == {(face, voice): 1.5}
    assert store.votes(before_clip=clips[2]) == {(face, voice): 1.0}
    assert store.votes(before_clip=clips[0]) == {}


def test_texts_show_the_name_of_today(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        faces = [add_face(store, clip_id) for _ in range(12)]
        first, twelfth = store.create_person(), store.create_person()
        store.bind(first, faces[0])
        store.bind(twelfth, faces[11])
    text = f"<face_{faces[0]}> gave <face_{faces[11]}> <face_{faces[1]}>'s cup, <voice_99>"
    assert store.render(text) == f"person_{first} gave person_{twelfth} <face_{faces[1]}>'s cup, <voice_99>"
    with store.transaction():
        store.name_person(first, "<face_12>")
        store.name_person(twelfth, "小明")
    assert store.render(text) == f"<face_12> gave 小明 <face_{faces[1]}>'s cup, <voice_99>"


def test_exemplars_tell_their_person(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        face, person_id = add_face(store, clip_id), store.create_person()
        kept = store.add_exemplar(face, "face", unit(1, 4), quality=0.7, clip_id=clip_id)
        removed = store.add_exemplar(face, "face", unit(2, 4), quality=0.1, clip_id=clip_id)
        store.bind(person_id, face)
    assert [exemplar.id for exemplar in store.exemplars("face")] == [kept, removed]
    assert store.search_node(vector=unit(2, 4), space="face")[0].similarity == pytest.approx(1.0, abs=1e-6)
    with store.transaction():
        store.remove_exemplar(removed)
    (exemplar,) = store.exemplars("face")
    assert (exemplar.id, exemplar.person_id, exemplar.quality) == (kept, person_id, 0.7)
    (hit,) = store.search_node(vector=unit(2, 4), space="face", threshold=-1.0)
    assert hit.similarity == pytest.approx(float(unit(1, 4) @ unit(2, 4)), abs=1e-6)
