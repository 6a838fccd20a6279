"""Forgetting and correcting somebody reach what ties them to objects and pictures; the objects themselves stay."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_store import MemoryStore
from runtime.cli import main
from runtime.forget import forget_person
from runtime.object_owners import holders_of, owners_of
from tests.memorized_clips import says
from tests.seen_things import TABLE, ObjectHome, Shown, cup, open_store
from tests.test_object_answers import ANNA, ANNA_VOICE, BOB, PERSON, _ask, _face, _named

IN_HAND = (480.0, 180.0, 40.0, 50.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def home(store: MemoryStore, tmp_path: Path) -> ObjectHome:
    return ObjectHome(store, tmp_path)


def _pictures(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*.jpg")}


def _files_of(store: MemoryStore, clip_id: int, source: str) -> set[str]:
    nodes = [node for node in store.nodes(kinds=("image",)) if node.clip_id == clip_id]
    return {n.provenance["file"]["path"] for n in nodes if n.provenance["source"] == source}


def test_a_forgotten_owner_leaves_the_cup_and_takes_their_pictures(
    store: MemoryStore, home: ObjectHome, tmp_path: Path
) -> None:
    home.clip(0, [TABLE, cup(1)])
    alone = home.clip(
        1, [PERSON, cup(1, IN_HAND)], tracks=[_face(ANNA)], speech=[says("This is my cup.", ANNA_VOICE)]
    )
    anna = _named(store, "Anna")
    home.clip(2, [TABLE, cup(1)])
    shared = home.clip(3, [PERSON, cup(1, IN_HAND)], tracks=[_face(ANNA), _face(BOB, 250.0)])
    (cup_id,) = home.ids()
    assert holders_of(store, cup_id)
    shown_alone = _files_of(store, alone.clip_id, "keyframe")
    shown_with_bob = _files_of(store, shared.clip_id, "keyframe")
    assert shown_alone <= _pictures(tmp_path)
    done = forget_person(store, home.files, anna)
    assert home.ids() == [cup_id]
    assert not shown_alone & _pictures(tmp_path)
    assert shown_with_bob <= _pictures(tmp_path)
    assert done.rows.counts["pictures"] >= 1
    assert owners_of(store, cup_id) == []
    assert not [
        edge
        for edge in store.edges(cup_id)
        if edge.detail in ("held_by", "belongs_to") and edge.relation == "entity_link"
    ]
    assert "Anna" not in _ask(store, "Where is the cup?").text
    assert store.check() == []


def test_a_picture_that_shows_them_alone_goes_though_others_were_there_later(
    store: MemoryStore, home: ObjectHome, tmp_path: Path
) -> None:
    later = _face(BOB, 250.0)
    bob = type(later)(20.0, 26.0, later.views, tuple(
        type(look)(look.time_s + 20.0, look.x, look.y, look.width, look.height) for look in later.looks
    ))  # fmt: skip
    clip = home.clip(0, [TABLE, cup(1)], tracks=[_face(ANNA), bob])
    face = min(person.face_ids[0] for person in store.people())
    (only,) = _files_of(store, clip.clip_id, "keyframe")
    person = store.person_of(face)
    assert person is not None
    forget_person(store, home.files, person.id)
    assert only not in _pictures(tmp_path)


def test_a_name_said_of_an_object_goes_with_the_person(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, [], tracks=[_face(BOB)])
    bob = _named(store, "Bob")
    home.clip(
        1, [TABLE, cup(1)], tracks=[_face(ANNA)], speech=[says("This cup is a gift from Bob.", ANNA_VOICE)]
    )
    forget_person(store, home.files, bob)
    assert "Bob" not in "".join(str(owner) for owner in owners_of(store, home.ids()[0]))


def test_a_corrected_line_takes_the_hand_along(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, [Shown("person", (200, 40, 150, 310))], tracks=[_face(BOB, 250.0)])
    bob = _named(store, "Bob")
    home.clip(1, [TABLE, cup(1)])
    home.clip(2, [PERSON, cup(1, IN_HAND)], tracks=[_face(ANNA)])
    _named(store, "Anna")
    (cup_id,) = home.ids()
    (held,) = holders_of(store, cup_id)
    assert held.name == "Anna"
    seen = [n for n in store.nodes(kinds=("episodic",), clip_id=3) if n.provenance["event"] == "seen"]
    for line in (held.line, *seen):
        with store.transaction():
            store.reassign_line(line.id, bob)
    assert [owner.name for owner in holders_of(store, cup_id)] == ["Bob"]
    bobs = set(store.person(bob).face_ids)
    assert {
        e.target for e in store.edges(cup_id) if e.detail == "held_by" and e.relation == "entity_link"
    } <= bobs
    for image in (sighting.image for sighting in store.objects.sightings([cup_id], limit=9)):
        faces = {edge.target for edge in store.edges(image.id) if store.node(edge.target).kind == "face"}
        assert faces <= bobs


def test_the_objects_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(tmp_path) as store:
        home = ObjectHome(store, tmp_path)
        home.clip(0, [TABLE, cup(1)], tracks=[_face(ANNA)], speech=[says("This is my cup.", ANNA_VOICE)])
        _named(store, "Anna")
        home.clip(1, [TABLE, cup(1)])
    assert main(["memory", "objects", "--class", "cup", "--data-dir", str(tmp_path), "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["class"], listed["where"], listed["place"]) == ("cup", "on the dining table", "home")
    assert listed["owner"] == "belongs_to Anna"
    assert (tmp_path / listed["picture"]).is_file()
    assert main(["memory", "objects", "--data-dir", str(tmp_path)]) == 0
    assert "on the dining table (home), belongs_to Anna" in capsys.readouterr().out
