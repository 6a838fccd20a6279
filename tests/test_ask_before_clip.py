"""A question to the memory as it was before a clip: answered as it would have been then, from nothing later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memory_store.errors import UnknownId
from memory_store.store import MemoryStore
from models.language import Message
from runtime.answer import Answer
from runtime.answering import Asked
from runtime.control import Control
from runtime.conversation import Conversations
from runtime.question_time import Household
from runtime.recall import Recall
from tests.household import DAY, NOW, ZONE, embed_words, open_household
from tests.scripted_language import ScriptedLanguage

THEN = 8  # the first clip that is not known yet: the second morning, 08:30
QUESTIONS = (
    "Who was here yesterday?", "Who was here today?", "How many people were here?", "What did Anna say?",
    "When did you last see Grandma Liu?", "Who said the washing machine is leaking?", "Where are the car keys?",
    "Which food does Anna dislike on pizza?", "What is the wifi password?", "Who has the drill?", "小明说了什么？",
    "血压药放在哪里？", "What did person_5 say?", "What did Zoe say?",
)  # fmt: skip


def _search_then_answer(messages: Sequence[Message]) -> str:
    """A model that searches once and answers from the last memory that it is shown."""
    text = messages[-1].content
    if "Change your perspective" not in text and "sunflower drill pizza" not in text:
        return "Reasoning: not here.\n[Search] sunflower drill pizza keys"
    return "Reasoning: it is there.\n[Answer] I don't know."


class Home:
    def __init__(self, store: MemoryStore, now_utc_s: float) -> None:
        self.store = store
        self.language = ScriptedLanguage(_search_then_answer)
        control = Control(
            Recall(store, embed_words), self.language, clock=lambda: now_utc_s, zone=ZONE, timer=lambda: 0.0
        )
        self.talks = Conversations(control, store, Household(ZONE), lambda: now_utc_s)

    def ask(self, text: str, before_clip: int | None = None) -> Answer:
        return self.talks.answer(Asked(text, conversation="c", before_clip=before_clip))


@pytest.fixture
def lived_on(tmp_path: Path) -> Iterator[Home]:
    """The two days whole, and what was learned and put right since."""
    with open_household(tmp_path / "now") as store:
        ids = {person.name: person.id for person in store.people()}
        with store.transaction():
            store.name_person(ids["Anna"], "Zoe", source="resident")
            store.merge_people(ids["Bob"], ids["Grandma Liu"], source="resident")
        yield Home(store, NOW)


@pytest.fixture
def then(tmp_path: Path) -> Iterator[Home]:
    """A memory that knows the clips before THEN, and nothing more."""
    with open_household(tmp_path / "then", DAY[: THEN - 1]) as store:
        yield Home(store, DAY[THEN - 1].utc_s)


def test_the_past_answers_as_it_did_and_shows_the_model_nothing_later(lived_on: Home, then: Home) -> None:
    for question in QUESTIONS:
        now, past = then.ask(question), lived_on.ask(question, THEN)
        apart = {"asked_utc_s": 0.0, "trace_id": None, "before_clip": None}
        assert replace(past, **apart) == replace(now, **apart), question
    shown, shown_then = (
        [[message.content for message in call.messages] for call in home.language.calls]
        for home in (lived_on, then)
    )
    assert shown and shown == shown_then


def test_the_trace_says_so_and_is_kept_in_the_memory_of_now(lived_on: Home) -> None:
    answer = lived_on.ask("What did Anna say?", THEN)
    assert answer.trace_id is not None and lived_on.store.trace(answer.trace_id).trace["before_clip"] == THEN
    assert "keys" in answer.text and "mushrooms" not in answer.text
    assert lived_on.ask("What did Zoe say?").before_clip is None


def test_a_conversation_about_the_past_leans_on_nothing_of_now(lived_on: Home) -> None:
    assert "pizza" in lived_on.ask("What did Zoe say today?").text
    assert lived_on.ask("And yesterday?", THEN).question == "And yesterday?"
    lived_on.ask("What did Anna say today?", THEN)
    assert lived_on.ask("And yesterday?", THEN).question == "What did Anna say yesterday?"
    assert lived_on.ask("And what did she say today?", THEN).question == "And what did Anna say today?"
    assert "now" in lived_on.ask("No, that was Leo.", THEN).text
    assert all(person.name != "Leo" for person in lived_on.store.people())


def test_a_clip_that_nobody_knows_is_refused(lived_on: Home) -> None:
    with pytest.raises(UnknownId, match="no clip 99"):
        lived_on.ask("Who was here?", 99)
