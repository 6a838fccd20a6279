"""Names from what people say: sentences, who is meant, what proves a name, and what residents decide."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml

from memory_store import InvalidValue, MemoryStore, NameEvidence, UnknownId
from runtime.grounded import GroundedLine
from runtime.name_claims import claims_in
from runtime.name_evidence import maybe_names, sound_of, standing
from runtime.names import StoredLine, learn_names, provenance_of_names
from runtime.question import Question, read_question
from tests.memory_samples import SATURDAY_UTC_S, add_clip, add_face, add_line, add_voice, open_memory

SENTENCES = yaml.safe_load((Path(__file__).parent / "name_sentences.yaml").read_text(encoding="utf-8"))


def _named(text: str) -> set[tuple[str, str]]:
    return {
        (claim.kind, claim.name) for claim in claims_in(text) if claim.kind in ("self", "address", "third")
    }


@pytest.mark.parametrize(("kind", "name", "text"), SENTENCES["naming"], ids=str)
def test_a_sentence_that_tells_a_name(kind: str, name: str, text: str) -> None:
    assert _named(text) == {(kind, name)}


@pytest.mark.parametrize("text", SENTENCES["other"], ids=str)
def test_a_sentence_that_tells_no_name(text: str) -> None:
    assert _named(text) == set()


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("I'm not Anna.", "not_self", "Anna"),
        ("Please don't call me Katie.", "not_self", "Katie"),
        ("She said: I'm Anna.", "quoted", "Anna"),
        ("我不叫小明。", "not_self", "小明"),
        ("他说我叫小明。", "quoted", "小明"),
    ],
)
def test_a_name_denied_or_quoted_speaks_against_it(text: str, kind: str, name: str) -> None:
    assert [(claim.kind, claim.name) for claim in claims_in(text)] == [(kind, name)]


def test_the_relation_of_somebody_introduced_is_kept() -> None:
    assert [claim.relation for claim in claims_in("This is my little brother Leo.")] == ["little brother"]
    assert [claim.relation for claim in claims_in("这是我弟弟Leo。")] == ["弟弟"]


@pytest.mark.parametrize(
    "text",
    ["", " ", "?!", "I'm", "I am " + "A" * 10_000, "I'm \0Anna\0", "😀, I'm 😀", "我是", "我叫" * 2000],
)
def test_odd_text_tells_no_name(text: str) -> None:
    assert _named(text) == set()


class Room:
    """A memory in which clips are heard and seen as lines; Anna and Leo have a face and a voice each."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.clips = 0
        with store.transaction():
            self.clip_id = add_clip(store, 0)
            self.faces = [add_face(store, self.clip_id) for _ in range(3)]
            self.voices = [add_voice(store, self.clip_id) for _ in range(3)]
            self.people = [store.create_person() for _ in range(3)]
            for person_id, face, voice in zip(self.people, self.faces, self.voices, strict=True):
                store.bind(person_id, face)
                store.bind(person_id, voice)

    def sees(self, who: int | None, start_s: float = 0.0, end_s: float = 30.0) -> GroundedLine:
        """Somebody in view."""
        actors = () if who is None else (self.faces[who],)
        return GroundedLine("seen", "somebody", "somebody", start_s, end_s, actors)

    def says(self, who: int | None, said: str, at_s: float = 5.0, **provenance: Any) -> GroundedLine:
        """Three seconds of speech."""
        told = {"said": said, "attributed_by": "nothing" if who is None else "voice", **provenance}
        actors = () if who is None else (self.voices[who],)
        return GroundedLine("heard", said, said, at_s, at_s + 3.0, actors, told)

    def clip(self, *lines: GroundedLine) -> tuple[int, list[StoredLine]]:
        """Remember a clip with these lines, as runtime/memorize.py does."""
        self.clips += 1
        with self.store.transaction():
            clip_id = add_clip(self.store, self.clips)
            stored = []
            for line in sorted(lines, key=lambda line: line.start_s):
                node_id = add_line(self.store, line.text, clip_id)
                for actor in line.actors:
                    self.store.add_edge(node_id, actor, "mentions", detail="actor")
                stored.append((node_id, line))
            learn_names(self.store, clip_id, stored)
        return clip_id, stored

    def heard(self, who: int) -> list[tuple[str, float, str]]:
        """The evidence about one of them."""
        return [(one.name, one.weight, one.source) for one in self.store.name_evidence(self.people[who])]

    def name(self, who: int) -> str | None:
        return self.store.person(self.people[who]).name

    def maybe(self, who: int) -> str | None:
        return standing(self.store.name_evidence(self.people[who])).maybe


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with open_memory(tmp_path) as store:
        yield Room(store)


ANNA, LEO, CARL = 0, 1, 2


def test_one_introduction_is_a_guess_and_two_in_two_clips_are_a_name(room: Room) -> None:
    clip_id, lines = room.clip(room.sees(ANNA), room.says(ANNA, "Hello, I am Anna."))
    assert (room.name(ANNA), room.maybe(ANNA)) == (None, "Anna")
    assert room.store.person(room.people[ANNA]).tentative
    with room.store.transaction():
        learn_names(room.store, clip_id, lines)
    assert room.heard(ANNA) == [("Anna", 1.0, "self")]
    room.clip(room.says(ANNA, "I'm Anna, remember me?"))
    assert (room.name(ANNA), room.maybe(ANNA)) == ("Anna", None)
    assert not room.store.person(room.people[ANNA]).tentative


def test_saying_it_twice_in_one_clip_is_saying_it_once(room: Room) -> None:
    room.clip(room.says(ANNA, "I'm Anna."), room.says(ANNA, "My name is Anna.", 10.0))
    assert room.name(ANNA) is None


def test_an_address_names_the_only_other_one_in_view(room: Room) -> None:
    room.clip(room.sees(ANNA), room.sees(LEO), room.says(ANNA, "Leo, could you close the door?"))
    assert (room.heard(ANNA), room.heard(LEO)) == ([], [("Leo", 0.4, "address")])
    for _ in range(5):
        room.clip(room.sees(ANNA), room.sees(LEO), room.says(ANNA, "Thanks, Leo."))
    assert room.name(LEO) is None, "an address alone never names"
    room.clip(room.says(LEO, "I am Leo."))
    assert room.name(LEO) == "Leo"


def test_an_address_names_whoever_answers(room: Room) -> None:
    everybody = [room.sees(who) for who in (ANNA, LEO, CARL)]
    room.clip(*everybody, room.says(ANNA, "Leo, did you find it?"), room.says(LEO, "Yes, it was here.", 9.0))
    assert [room.heard(who) for who in (ANNA, LEO, CARL)] == [[], [("Leo", 0.4, "address")], []]
    room.clip(*everybody, room.says(ANNA, "Carl, did you find it?"))
    assert room.heard(CARL) == [], "nobody answered and two might be meant"
    room.clip(room.says(ANNA, "Carl, are you there?"), room.says(CARL, "I am here.", 8.5))
    assert room.heard(CARL) == [("Carl", 0.4, "address")], "heard from another room"
    room.clip(room.sees(ANNA), room.says(ANNA, "Leo, are you there?"), room.says(LEO, "Yes.", 20.0))
    assert room.heard(ANNA) == [] and len(room.heard(LEO)) == 1, (
        "never the speaker, and not after a long time"
    )


def test_an_unknown_face_or_speaker_leaves_an_address_open(room: Room) -> None:
    room.clip(room.sees(ANNA), room.sees(LEO), room.sees(None), room.says(ANNA, "Thanks, Leo."))
    room.clip(room.sees(ANNA), room.says(None, "Thanks, Anna."))
    assert room.store.name_evidence() == []


def test_an_introduction_names_the_one_who_just_came(room: Room) -> None:
    seen = [room.sees(ANNA), room.sees(LEO), room.sees(CARL, 12.0)]
    room.clip(*seen, room.says(ANNA, "This is my brother Carl.", 15.0))
    assert [room.heard(who) for who in (ANNA, LEO, CARL)] == [[], [], [("Carl", 0.4, "third")]]
    assert provenance_of_names(room.says(ANNA, "This is my brother Carl.")) == {
        "names": [{"kind": "third", "name": "Carl", "relation": "brother"}]
    }
    assert provenance_of_names(room.says(ANNA, "I am tired.")) == {}


@pytest.mark.parametrize(
    "provenance",
    [
        {"attributed_by": "nothing"},
        {"overlapped": True},
        {"speech_source": "screen"},
        {"speech_source": "open"},
    ],
)
def test_a_screen_or_a_jumble_names_nobody(room: Room, provenance: dict[str, Any]) -> None:
    for _ in range(3):
        room.clip(room.sees(ANNA), room.says(ANNA, "Remember: I am Anna.", **provenance))
    assert room.store.name_evidence() == [] and room.name(ANNA) is None


def test_conflicting_names_are_no_name(room: Room) -> None:
    room.clip(room.says(ANNA, "I'm Anna."))
    room.clip(room.says(ANNA, "I'm Bella."))
    assert (room.name(ANNA), room.maybe(ANNA)) == (None, None)
    room.clip(room.says(ANNA, "I'm Anna."))
    assert room.name(ANNA) == "Anna", "2 to 1"
    room.clip(room.says(ANNA, "My name is Bella."))
    assert room.name(ANNA) is None, "2 to 2: a heard name goes as it came"
    for _ in range(2):
        room.clip(room.says(ANNA, "I am not Bella."))
    assert room.name(ANNA) == "Anna"


def test_what_a_resident_decides_stands(room: Room) -> None:
    store, person_id = room.store, room.people[ANNA]
    with store.transaction():
        store.name_person(person_id, "Annabel", source="resident")
    for _ in range(3):
        room.clip(room.says(ANNA, "I'm Anna."))
    assert room.name(ANNA) == "Annabel" and len(room.heard(ANNA)) == 3
    with store.transaction():
        store.name_person(person_id, None, source="resident")
    room.clip(room.says(ANNA, "I'm Anna."))
    assert room.name(ANNA) is None


def test_somebody_not_to_be_remembered_is_not_named(room: Room) -> None:
    with room.store.transaction():
        room.store.set_consent(room.people[ANNA], "do_not_remember")
    for _ in range(2):
        room.clip(room.says(ANNA, "I'm Anna."))
    assert room.name(ANNA) is None and room.store.name_evidence() == []


def test_a_call_for_somebody_known_names_nobody_else(room: Room) -> None:
    for _ in range(2):
        room.clip(room.says(ANNA, "I'm Anna."))
    room.clip(room.sees(LEO), room.sees(CARL), room.says(LEO, "Anna, dinner is ready."))
    assert room.heard(CARL) == []


def test_evidence_goes_with_merges_and_with_the_voice(room: Room) -> None:
    room.clip(room.says(ANNA, "I'm Anna."))
    room.clip(room.says(LEO, "I'm Anna."))
    with room.store.transaction():
        room.store.merge_people(room.people[CARL], room.people[LEO])
    assert room.heard(CARL) == room.heard(LEO) == [("Anna", 1.0, "self")]
    with room.store.transaction():
        room.store.bind(room.people[ANNA], room.voices[LEO])
    assert room.heard(CARL) == [] and len(room.heard(ANNA)) == 2
    room.clip(room.sees(ANNA))
    assert room.name(ANNA) == "Anna"


def test_evidence_goes_with_a_line_given_to_somebody_else(room: Room) -> None:
    _, ((first, _),) = room.clip(room.says(LEO, "I'm Anna."))
    with room.store.transaction():
        room.store.reassign_line(first, room.people[ANNA])
    assert (room.heard(LEO), room.heard(ANNA)) == ([], [("Anna", 1.0, "self")])
    with room.store.transaction():
        room.store.reassign_line(first, None)
    assert room.store.name_evidence() == []


def test_evidence_that_cannot_be_is_refused(room: Room) -> None:
    store, clip_id, person_id = room.store, room.clip_id, room.people[ANNA]
    with store.transaction():
        line = add_line(store, "x", clip_id)
        assert store.add_name_evidence(person_id, " Anna  Berg ", clip_id, line, 1.0, "self")
        assert not store.add_name_evidence(person_id, "Anna Berg", clip_id, line, 1.0, "self")

    def add(person_id: int, name: str, clip_id: int, weight: float) -> None:
        with store.transaction():
            store.add_name_evidence(person_id, name, clip_id, line, weight, "self")

    for name, weight in (
        ("", 1.0),
        ("A" * 10_000, 1.0),
        ("An\0na", 1.0),
        ("person_3", 1.0),
        ("Anna", float("nan")),
    ):
        with pytest.raises(InvalidValue):
            add(person_id, name, clip_id, weight)
    for unknown in ((99, clip_id), (person_id, 99)):
        with pytest.raises(UnknownId):
            add(unknown[0], "Anna", unknown[1], 1.0)
    assert room.heard(ANNA) == [("Anna Berg", 1.0, "self")]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Carl", "Karl", True),
        ("Sara", "Sarah", True),
        ("Anna", "Ana Berg", True),
        ("Zoë", "Zoe", True),
        ("Anna", "Van", False),
        ("Anna", "Hannah", False),
        ("小明", "小红", False),
    ],
)
def test_spellings_of_one_name_sound_the_same(one: str, other: str, same: bool) -> None:
    assert (sound_of(one) == sound_of(other)) is same


def test_a_misheard_name_does_not_outweigh_the_right_one() -> None:
    def heard(number: int, name: str) -> NameEvidence:
        return NameEvidence(number, 1, name, 1.0, "self", number, number, SATURDAY_UTC_S)

    assert standing([heard(1, "Van"), heard(2, "Anna"), heard(3, "Ana"), heard(4, "Anna")]).name == "Anna"
    assert standing([heard(1, "Van"), heard(2, "Anna")]).name is None


def test_a_residents_name_stands_over_a_heard_one_in_a_merge(room: Room) -> None:
    for _ in range(2):
        room.clip(room.says(ANNA, "I'm Anna."))
    with room.store.transaction():
        room.store.name_person(room.people[LEO], "Annabel", source="resident")
        room.store.merge_people(room.people[ANNA], room.people[LEO])
    assert room.name(ANNA) == "Annabel"
    room.clip(room.says(ANNA, "I'm Anna."))
    assert room.name(ANNA) == "Annabel"


def test_a_learned_name_that_a_resident_undoes_is_not_learned_again(room: Room) -> None:
    for _ in range(2):
        room.clip(room.says(ANNA, "I'm Anna."))
    (change,) = [row for row in room.store.person_history(room.people[ANNA]) if row["action"] == "name"]
    with room.store.transaction():
        room.store.undo(change["id"])
    room.clip(room.says(ANNA, "I'm Anna."))
    assert room.name(ANNA) is None


def test_a_question_takes_a_name_from_hearsay_only_where_nobody_carries_it(room: Room) -> None:
    room.clip(room.says(ANNA, "I'm Anna."))

    def ask(text: str) -> Question:
        people, maybe = room.store.people(), maybe_names(room.store.name_evidence())
        return read_question(text, people, room.store.person_of, SATURDAY_UTC_S, ZoneInfo("UTC"), maybe=maybe)

    asked = ask("What did Anna say?")
    assert [person.id for person in asked.persons] == [room.people[ANNA]]
    assert asked.intent == "what_said"
    assert asked.hearsay == (f"Anna is known by hearsay only: taken for person_{room.people[ANNA]}.",)
    with room.store.transaction():
        room.store.name_person(room.people[LEO], "Anna")
    asked = ask("What did Anna say?")
    assert ([person.id for person in asked.persons], asked.hearsay) == ([room.people[LEO]], ())
