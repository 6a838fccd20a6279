"""Who is told what: residents, children, guests, unknown voices, and who asks in writing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_store.records import Consent, Person
from memory_store.store import MemoryStore
from runtime.answer import Answer
from runtime.answering import Asked
from runtime.config import PrivacySettings
from runtime.control import Control
from runtime.conversation import Conversations
from runtime.privacy import role_of
from runtime.question_time import Household
from runtime.recall import Recall
from tests.household import NOW, ZONE, embed_words, open_household
from tests.scripted_language import ScriptedLanguage

PRIVATE = "I tell what I remember only to people I know. Ask somebody of the household to enroll you."
PRIVATE_ZH = "我只把记得的事告诉认识的人。请让家里人登记你。"
OTHERS = "I may not tell you that: it concerns others."


class Home:
    def __init__(self, store: MemoryStore, language: ScriptedLanguage | None = None) -> None:
        self.store = store
        control = Control(Recall(store, embed_words), language, clock=lambda: NOW, zone=ZONE)
        privacy = PrivacySettings(children=("小明",))
        self.talks = Conversations(control, store, Household(ZONE), lambda: NOW, privacy)
        self.ids = {person.name: person.id for person in store.people()}
        with store.transaction():
            store.set_consent(self.ids["Anna"], "resident")
            store.set_consent(self.ids["小明"], "resident")
            store.set_consent(self.ids["Bob"], "guest")

    def hears(self, name: str | None, text: str, *, spoken: bool = True) -> Answer:
        return self.talks.answer(Asked(text, self.ids[name] if name else None, "c", spoken=spoken))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with open_household(tmp_path) as store:
        yield Home(store)


QUESTIONS = (
    "What did Anna say yesterday?", "Who was here today?", "How many people were here today?",
    "Where are the car keys?", "Who said the washing machine is leaking?", "When did you last see Anna?",
    "What is the wifi password?", "小明说了什么？", "Did you see Grandma Liu today?", "What did Bob say?",
)  # fmt: skip


def _told(answer: Answer, store: MemoryStore) -> str:
    return f"{answer.text} {' '.join(item.line for item in answer.evidence)}"


def test_a_resident_and_who_asks_in_writing_are_told_everything(home: Home) -> None:
    for question in QUESTIONS:
        by_anna, written = home.hears("Anna", question), home.hears(None, question, spoken=False)
        assert by_anna.text == written.text and PRIVATE not in by_anna.text and OTHERS not in by_anna.text


def test_an_unknown_voice_is_told_nothing_and_the_trace_says_who_asked(home: Home) -> None:
    for question in QUESTIONS:
        answer = home.hears(None, question)
        assert (
            answer.text in (PRIVATE, PRIVATE_ZH)
            and not answer.evidence
            and not answer.pictures
            and answer.abstained
        )
    assert home.hears(None, "No, that was Leo.").text.endswith("only from residents.")


@pytest.mark.parametrize("name", ["Bob", "小明"])
def test_guests_and_children_are_told_what_concerns_them(home: Home, name: str) -> None:
    secrets = [
        row.text.split('"')[1] if '"' in row.text else row.text.split("“")[1].rstrip("”")
        for row in home.store.timeline() if row.kind == "heard" and row.person != name
    ]  # fmt: skip
    assert len(secrets) > 8
    for question in QUESTIONS:
        answer = home.hears(name, question)
        for secret in secrets:
            assert secret not in _told(answer, home.store), (question, answer.text)
    own = home.hears("Bob", "What did Bob say?").text
    assert "dentist" in own and "drill" in own


def test_what_happened_while_a_guest_was_there_may_be_told(home: Home) -> None:
    store = home.store
    (clip,) = [
        clip for clip in store.clips()
        if any("car keys" in node.text for node in store.nodes(kinds=["episodic"], clip_id=clip.id))
    ]  # fmt: skip
    assert (
        OTHERS in home.hears("Bob", "Who said the car keys are in the blue bowl?").text
        or not home.hears("Bob", "Who said the car keys are in the blue bowl?").evidence
    )
    face = store.person(home.ids["Bob"]).face_ids[0]
    with store.transaction():
        line = store.add_node(
            "episodic", f"<face_{face}> is in view.", clip_id=clip.id,
            start_utc_s=clip.start_utc_s, end_utc_s=clip.end_utc_s,
            provenance={"source": "grounded", "event": "seen"},
        )  # fmt: skip
        store.add_edge(line, face, "mentions", detail="actor")
    assert "blue bowl" in home.hears("Bob", "Who said I put the car keys in the blue bowl by the door?").text


def test_the_model_is_never_shown_what_may_not_be_told(tmp_path: Path) -> None:
    shown: list[str] = []

    def reply(messages: object) -> str:
        shown.append(str(messages))
        return "Reasoning: none.\n[Answer] I don't know."

    with open_household(tmp_path) as store:
        home = Home(store, ScriptedLanguage(reply))
        home.hears("Bob", "What colour is the bowl by the door?")
        home.hears("Bob", "What is the wifi password?")
        assert "blue bowl" not in "".join(shown) and "sunflower" not in "".join(shown)
        home.hears("Anna", "What colour is the bowl by the door?")
        assert "blue bowl" in shown[-1], "the same question of a resident shows it"


@pytest.mark.parametrize(
    ("name", "consent", "spoken", "role"),
    [
        ("Anna", "resident", True, "resident"), ("Anna", "resident", False, "typed"), ("Bob", "guest", False, "typed"),
        ("小明", "resident", True, "child"), ("Bob", "unknown", True, "guest"), (None, "unknown", True, "guest"),
        ("Bob", "guest", True, "guest"), ("Bob", "do_not_remember", True, "unknown"),
    ],
)  # fmt: skip
def test_roles(name: str | None, consent: Consent, spoken: bool, role: str) -> None:
    person = Person(1, name, consent, False, (), (), None, None, 1)
    assert role_of(person, spoken=spoken, children=("小明",)) == role
    assert role_of(None, spoken=spoken, children=()) == ("unknown" if spoken else "typed")


def test_to_say_in_writing_that_one_is_somebody_opens_nothing(tmp_path: Path) -> None:
    with open_household(tmp_path) as store:
        control = Control(Recall(store, embed_words), None, clock=lambda: NOW, zone=ZONE)
        privacy = PrivacySettings(typed="none")
        talks = Conversations(control, store, Household(ZONE), lambda: NOW, privacy)
        anna = next(person.id for person in store.people() if person.name == "Anna")
        with store.transaction():
            store.set_consent(anna, "resident")
        assert talks.answer(Asked("What did Anna say?", anna, "c")).text == PRIVATE
        assert "keys" in talks.answer(Asked("What did Anna say?", anna, "c", spoken=True)).text
