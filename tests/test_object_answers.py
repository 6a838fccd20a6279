"""Where is it, whose is it, what did it look like: a place, a time and a picture, without a language model."""

from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from memory_store import MemoryStore
from runtime.answer import Answer
from runtime.answer_json import answer_json
from runtime.control import Control
from runtime.grounded import GroundedLine
from runtime.object_changes import PlacedThing
from runtime.object_claims import claim_objects
from runtime.object_identity import Seen, Thing
from runtime.object_places import Spot
from runtime.object_question import read_object_question
from runtime.privacy import Audience
from runtime.question import read_question
from runtime.recall import Recall
from runtime.see import FaceLook, FaceTrack, FaceView
from tests.identified_clips import CROP, SHARP, START_UTC_S
from tests.memorized_clips import says
from tests.seen_things import COUCH, ON_COUCH, TABLE, ObjectHome, Shown, cup, keyframe, look, open_store
from tests.vectors import axis

ANNA, BOB = axis(1), axis(2)
ANNA_VOICE, BOB_VOICE = axis(1, 192), axis(2, 192)
BESIDE = (420.0, 190.0, 40.0, 50.0)
PERSON = Shown("person", (420, 40, 150, 310))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def home(store: MemoryStore, tmp_path: Path) -> ObjectHome:
    return ObjectHome(store, tmp_path)


def _face(vector: np.ndarray, x: float = 450.0) -> FaceTrack:
    looks = tuple(FaceLook(0.2 * step, x, 60.0, 60.0, 60.0) for step in range(30))
    return FaceTrack(0.0, 6.0, (FaceView(0.5, vector, SHARP, CROP),), looks)


def _ask(store: MemoryStore, question: str, clips: int = 20, asker: int | None = None) -> Answer:
    recall = Recall(store, lambda texts: np.stack([axis(7, 8) for _ in texts]))
    control = Control(recall, None, clock=lambda: START_UTC_S + 30.0 * clips, zone=ZoneInfo("Europe/Berlin"))
    return control.answer(question, asker=asker)


def _named(store: MemoryStore, name: str) -> int:
    """The person of the newest face, under a name."""
    person = max(store.people(), key=lambda person: person.id)
    with store.transaction():
        store.name_person(person.id, name, source="resident")
    return person.id


def _two_cups_and_their_people(home: ObjectHome) -> tuple[int, int]:
    """Anna's cup, which is from Bob, and Bob's own; who they are."""
    home.clip(0, [TABLE, cup(1)], tracks=[_face(ANNA)], speech=[says("This is my cup.", ANNA_VOICE)])
    anna = _named(home.store, "Anna")
    home.clip(1, [TABLE, cup(2, BESIDE)], tracks=[_face(BOB)], speech=[says("That's my cup.", BOB_VOICE)])
    bob = _named(home.store, "Bob")
    home.clip(
        2, [TABLE, cup(1)], tracks=[_face(ANNA)], speech=[says("This cup is a gift from Bob.", ANNA_VOICE)]
    )
    return anna, bob


def test_the_last_sighting_wins_and_older_ones_are_told_as_older(
    store: MemoryStore, home: ObjectHome, tmp_path: Path
) -> None:
    home.clip(0, [TABLE, COUCH, cup(1)])
    home.clip(1, [TABLE, COUCH, cup(1, ON_COUCH)])
    answer = _ask(store, "Where is the cup?")
    assert answer.method == "computed"
    assert answer.text.startswith("I last saw the cup on the couch (home), today at ")
    assert "Before that on the dining table" in answer.text
    (picture,) = answer.pictures
    assert (tmp_path / picture.file).is_file()
    assert picture.place == "home"
    assert answer_json(answer)["pictures"][0]["sha256"] == picture.sha256  # type: ignore[index]
    assert "cup on the couch" in answer.evidence[0].line


def test_in_chinese_too(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, [TABLE, cup(1)])
    answer = _ask(store, "我的杯子在哪里？")
    assert "杯子" in answer.text
    assert "在桌子上" in answer.text
    assert len(answer.pictures) == 1


def test_whose_cup_it_is_decides_which_is_meant(store: MemoryStore, home: ObjectHome) -> None:
    _, bob = _two_cups_and_their_people(home)
    first, second = home.ids()
    home.clip(3, [TABLE, COUCH, cup(1, ON_COUCH), cup(2, BESIDE)])
    assert "Anna's cup on the couch" in _ask(store, "Where is Anna's cup?").text
    assert "Bob's cup on the dining table" in _ask(store, "Where is my cup?", asker=bob).text
    look_like = _ask(store, "What did Bob's cup look like?")
    names = [picture.file for picture in look_like.pictures]
    assert names[0].startswith(f"media/objects/{second}-")
    bobs = {*store.person(bob).face_ids, *store.person(bob).voice_ids}
    links = [edge for cup_id in (first, second) for edge in store.edges(cup_id) if edge.target in bobs]
    assert {(edge.source, edge.detail) for edge in links} == {(second, "belongs_to"), (first, "gift_from")}


def test_from_whom_and_whose(store: MemoryStore, home: ObjectHome) -> None:
    _two_cups_and_their_people(home)
    gave = _ask(store, "Who gave me this cup?")
    assert "from Bob" in gave.text
    assert "This cup is a gift from Bob." in gave.text
    assert "Anna" in _ask(store, "Whose cup is this?").text
    assert "Bob" in _ask(store, "这个杯子是谁送的？").text


def test_a_giver_whom_nobody_knows_is_told_by_the_name_that_was_said(
    store: MemoryStore, home: ObjectHome
) -> None:
    home.clip(0, [TABLE, cup(1)], tracks=[_face(ANNA)], speech=[says("Leo gave me this cup.", ANNA_VOICE)])
    assert "from Leo" in _ask(store, "Who gave me the mug?").text
    assert "from Leo" in _ask(store, "What does Leo's cup look like?").text


def test_which_of_two_cups_is_meant_stays_open(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(
        0, [TABLE, cup(1), cup(2, BESIDE)], tracks=[_face(ANNA)], speech=[says("This is my cup.", ANNA_VOICE)]
    )
    assert not [edge for one in home.ids() for edge in store.edges(one) if edge.detail == "belongs_to"]


def test_what_the_television_says_makes_nobody_an_owner(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, [TABLE, cup(1)])
    (cup_id,) = home.ids()
    thing = Thing([Seen(0, keyframe([cup(1)]).views[0])], "known", cup_id)
    placed = [PlacedThing(thing, Spot(region="left"), None, None)]
    for source, claims in (("screen", 0), ("room", 1)):
        told = {"said": "This is Leo's cup.", "speech_source": source}
        line = GroundedLine("heard", "", "", 0.0, 1.0, (), told)
        with store.transaction():
            (after,) = claim_objects(store, [line], placed)
        assert len(after.mentions) == claims


def test_who_holds_a_thing_is_seen_and_answered(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, [TABLE, cup(1)])
    home.clip(1, [PERSON, cup(1, (480.0, 180.0, 40.0, 50.0))], tracks=[_face(ANNA)])
    _named(store, "Anna")
    assert "Anna holds a cup." in home.lines()
    assert _ask(store, "Who had my cup?").text.startswith("Anna had the cup in the hand")
    assert "in Anna's hand" in _ask(store, "Where is the cup?").text


def test_who_uses_a_thing_that_is_not_lifted(store: MemoryStore, home: ObjectHome) -> None:
    laptop = Shown("laptop", (470.0, 180.0, 60.0, 50.0), look(4))
    home.clip(0, [PERSON, laptop], tracks=[_face(ANNA)])
    anna = _named(store, "Anna")
    (laptop_id,) = home.ids("laptop")
    links = [edge for edge in store.edges(laptop_id) if edge.source == laptop_id]
    users = {edge.target for edge in links if edge.detail == "used_by"}
    assert users == set(store.person(anna).face_ids)
    assert "Anna" in _ask(store, "Who used the laptop?").text


def test_keys_are_found_by_what_was_said_and_the_last_word_wins(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, speech=[says("I put the keys on the shelf.", ANNA_VOICE)])
    home.clip(1, speech=[says("Where did I put the keys?", ANNA_VOICE)])
    home.clip(2, speech=[says("I put the keys on the piano.", ANNA_VOICE)])
    for question in ("Where did I leave the keys?", "Where are my keys?", "Have you seen my keys?"):
        answer = _ask(store, question)
        assert "on the piano" in answer.text.split("Before that")[0]
        assert "on the shelf" in answer.text.split("Before that")[1]
    home.clip(3, speech=[says("我把钥匙放在厨房的抽屉里了。", ANNA_VOICE)])
    assert "抽屉" in _ask(store, "钥匙放在哪里？").text


def test_what_was_said_later_than_seen_comes_first(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, [TABLE, cup(1)])
    home.clip(1, speech=[says("I put the mug in the cupboard.", ANNA_VOICE)])
    answer = _ask(store, "Where is the cup?")
    assert answer.text.index("cupboard") < answer.text.index("on the dining table")


def test_a_time_is_kept_to(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, [TABLE, COUCH, cup(1)])
    home.clip(2880, [TABLE, COUCH, cup(1, ON_COUCH)])
    answer = _ask(store, "Where was the cup yesterday?", clips=2890)
    assert "on the dining table" in answer.text
    assert "couch" not in answer.text


def test_what_was_never_seen_is_not_made_up(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, [TABLE, cup(1)])
    for question in (
        "Where is the laptop?",
        "Where are my glasses?",
        "Who gave me this vase?",
        "我的手机在哪里？",
    ):
        answer = _ask(store, question)
        assert answer.abstained, answer.text
        assert not answer.pictures


@pytest.mark.parametrize(
    "question", ["Where did the parcel come from?", "Where does Anna live?", "Where is Anna?", "谁说了杯子？"]
)
def test_other_questions_are_left_to_others(store: MemoryStore, home: ObjectHome, question: str) -> None:
    home.clip(0, [TABLE, cup(1), Shown("book", (220, 230, 30, 30), look(5))])
    assert not _ask(store, question).pictures


def test_a_guest_is_shown_no_picture_of_what_happened_without_them(
    store: MemoryStore, home: ObjectHome
) -> None:
    home.clip(0, [], tracks=[_face(BOB)])
    bob = _named(store, "Bob")
    home.clip(1, [TABLE, cup(1)], tracks=[_face(ANNA)], speech=[says("This is my cup.", ANNA_VOICE)])
    _named(store, "Anna")
    recall = Recall(store, lambda texts: np.stack([axis(7, 8) for _ in texts]))
    control = Control(recall, None, clock=lambda: START_UTC_S + 900.0, zone=ZoneInfo("Europe/Berlin"))
    guest = Audience("own", bob, store.witnessed)
    answer = control.answer("Where is Anna's cup?", audience=guest)
    assert answer.abstained
    assert not answer.pictures
    assert not answer.evidence
    assert control.answer("Where is Anna's cup?").pictures


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Where are my car keys?", ""),
        ("Where is the bottle opener?", ""),
        ("Where is my coffee cup?", "cup"),
        ("Where is the cup now?", "cup"),
        ("Where did Anna put the book yesterday?", "book"),
        ("Where is the cup standing?", "cup"),
    ],
)
def test_a_word_for_a_kind_before_another_noun_names_no_thing_of_that_kind(text: str, label: str) -> None:
    question = read_question(text, (), lambda node_id: None, START_UTC_S, ZoneInfo("UTC"))
    asked = read_object_question(question)
    assert asked is not None and asked.label == label


@pytest.mark.parametrize(
    ("text", "label"), [("汽车钥匙放在哪里？", ""), ("汽车放在哪里？", "car"), ("杯子放在哪里？", "cup")]
)
def test_so_does_a_chinese_word(text: str, label: str) -> None:
    asked = read_object_question(read_question(text, (), lambda node_id: None, START_UTC_S, ZoneInfo("UTC")))
    assert asked is not None and asked.label == label


def test_what_lies_in_a_thing_does_not_tell_where_the_thing_is(home: ObjectHome) -> None:
    home.clip(0, speech=[says("I left my phone in the car.", ANNA_VOICE)])
    assert _ask(home.store, "Where is the car?").abstained
    home.clip(1, speech=[says("The car is in front of the school.", ANNA_VOICE)])
    answer = _ask(home.store, "Where is the car?")
    assert "school" in answer.text and "phone" not in answer.text and not answer.abstained


def test_what_others_say_of_their_own_is_not_where_somebodys_thing_is(home: ObjectHome) -> None:
    home.clip(0, tracks=[_face(ANNA)], speech=[says("My exam is at the town hall.", ANNA_VOICE)])
    home.clip(1, tracks=[_face(BOB)], speech=[says("Good luck with it.", BOB_VOICE)])
    _named(home.store, "Bob")
    assert _ask(home.store, "Where is Bob's exam?").abstained
    home.clip(2, tracks=[_face(ANNA)], speech=[says("The exam of Bob is at the school.", ANNA_VOICE)])
    answer = _ask(home.store, "Where is Bob's exam?")
    assert "school" in answer.text and not answer.abstained


def test_a_thing_of_a_colour_is_not_told_by_sight_alone(home: ObjectHome) -> None:
    for text in ("Where is the blue cup?", "蓝色的杯子放在哪里？"):
        asked = read_object_question(
            read_question(text, (), lambda node_id: None, START_UTC_S, ZoneInfo("UTC"))
        )
        assert asked is not None and asked.label == "" and asked.terms
    home.clip(0, speech=[says("I put the red cup on the shelf.", ANNA_VOICE)])
    assert _ask(home.store, "Where is the blue cup?").abstained
    home.clip(1, speech=[says("I put the blue cup next to the sink.", ANNA_VOICE)])
    answer = _ask(home.store, "Where is the blue cup?")
    assert "sink" in answer.text and "shelf" not in answer.text


@pytest.mark.parametrize("text", ["Where does the cat usually sleep?", "猫喜欢睡在哪里？"])
def test_where_something_is_done_is_no_question_of_where_a_thing_stands(text: str) -> None:
    assert (
        read_object_question(read_question(text, (), lambda node_id: None, START_UTC_S, ZoneInfo("UTC")))
        is None
    )
