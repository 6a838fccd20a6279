"""Follow-ups and corrections in words, over the made-up household and a real control without a language model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_store.store import MemoryStore
from runtime.answer import Answer
from runtime.answering import Asked
from runtime.control import Control
from runtime.conversation import FORGOTTEN_AFTER_S, MOST_CONVERSATIONS, Conversations
from runtime.question_time import Household
from runtime.recall import Recall
from runtime.spoken_correction import Correction, read_correction
from tests.household import NOW, ZONE, embed_words, open_household


class Home:
    """A household that is talked to; the clock stands at `now_s`."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.now_s = NOW
        control = Control(Recall(store, embed_words), None, clock=lambda: self.now_s, zone=ZONE)
        self.talks = Conversations(control, store, Household(ZONE), lambda: self.now_s)

    def ask(
        self, text: str, conversation: str | None = "c", *, asker: int | None = None, spoken: bool = False
    ) -> Answer:
        return self.talks.answer(Asked(text, asker, conversation, spoken=spoken))

    def talk(self, *texts: str) -> Answer:
        return [self.ask(text) for text in texts][-1]

    def who_said(self, words: str) -> str:
        (row,) = [row for row in self.store.timeline() if row.kind == "heard" and words in row.text]
        return row.person or "somebody"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with open_household(tmp_path) as store:
        yield Home(store)


@pytest.mark.parametrize(
    ("first", "then", "whole"),
    [
        ("What did Anna say yesterday?", "And today?", "What did Anna say today?"),
        ("What did Anna say?", "And yesterday?", "What did Anna say yesterday?"),
        ("What did Anna say yesterday?", "What about Bob?", "What did Bob say yesterday?"),
        ("When did you last see Anna?", "and Bob?", "When did you last see Bob?"),
        ("When did you last see Anna?", "What did she say?", "What did Anna say?"),
        ("Where are Anna's keys?", "When did she say that?", "When did Anna say that?"),
        ("When did you last see Anna?", "Where are her keys?", "Where are Anna's keys?"),
        ("When did you last see Anna?", "Did you see her yesterday?", "Did you see Anna yesterday?"),
        ("Who was here yesterday morning?", "And what did Bob say then?", "And what did Bob say yesterday morning?"),
        ("小明昨天说了什么？", "今天呢？", "小明今天说了什么？"),
        ("小明昨天说了什么？", "那Bob呢？", "Bob昨天说了什么？"),
        ("你最后一次看到小明是什么时候？", "他说了什么？", "小明说了什么？"),
    ],
)  # fmt: skip
def test_a_follow_up_is_made_whole(home: Home, first: str, then: str, whole: str) -> None:
    answer = home.talk(first, then)
    assert answer.question == whole and f"Asked as {then!r}." in answer.notes
    assert answer.text == home.ask(whole, None).text


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("What did Anna say yesterday?", "What is the wifi password?"),
        ("What did Anna and Bob say?", "What did she say?"),
        ("Who was here today?", "What did he say?"),
        ("What did Anna say?", "What about the weather?"),
        ("What did Anna say?", "And Bob and the drill?"),
        ("What did Anna say?", "What did Bob say about her?"),
    ],
)
def test_what_stands_alone_or_is_unclear_stays_as_it_was_said(home: Home, first: str, then: str) -> None:
    assert home.talk(first, then).question == then


def test_conversations_are_apart_and_forgotten_after_a_while(home: Home) -> None:
    home.ask("What did Anna say yesterday?", "one")
    assert home.ask("And today?", "two").question == "And today?"
    assert home.ask("And today?", None).question == "And today?"
    home.now_s += FORGOTTEN_AFTER_S + 1
    assert home.ask("And today?", "one").question == "And today?"
    for number in range(2 * MOST_CONVERSATIONS):
        home.ask("What did Anna say?", f"c{number}")
    assert len(home.talks._talks) == MOST_CONVERSATIONS


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("No, that was Leo.", Correction("was", "Leo")),
        ("no that was Leo", Correction("was", "Leo")),
        ("No, it was Grandma Liu!", Correction("was", "Grandma Liu")),
        ("That wasn't Anna, it was Leo.", Correction("was", "Leo")),
        ("Wrong. That was Leo.", Correction("was", "Leo")),
        ("That was not Anna.", Correction("was_not", "Anna")),
        ("No, that wasn't Anna", Correction("was_not", "Anna")),
        ("不对，那是小红。", Correction("was", "小红")),
        ("不，那是Leo说的。", Correction("was", "Leo")),
        ("那不是小明。", Correction("was_not", "小明")),
        ("Undo that.", Correction("undo")),
        ("撤回", Correction("undo")),
        ("No, that was great.", None),
        ("That was Leo?", None),
        ("That was Leo.", None),
        ("No, it was yesterday.", None),
        ("It was not good.", None),
        ("No.", None),
        ("Who was that?", None),
        ("I put the keys on the piano, not on the shelf.", None),
    ],
)
def test_what_is_a_correction(said: str, read: Correction | None) -> None:
    assert read_correction(said) == read


def test_no_that_was_leo(home: Home) -> None:
    assert "Bob" in home.ask("Who said the washing machine is leaking?").text
    answer = home.ask("No, that was Leo.")
    assert answer.text == "Thank you. I noted that it was Leo." and answer.method == "computed"
    assert home.who_said("washing machine") == "Leo"
    assert home.who_said("dentist") == "Bob", "the other lines stay"
    assert [trace.question for trace in home.store.traces()][-1] == "No, that was Leo."
    assert home.store.history()[-1].source == "resident"
    assert "Leo" in home.ask("Who said the washing machine is leaking?").text
    assert home.ask("Undo that.").text == "I took the last correction back."
    assert home.who_said("washing machine") == "Bob"
    assert "no correction" in home.ask("Undo that.").text


def test_a_correction_to_somebody_known_and_to_nobody(home: Home) -> None:
    home.ask("Who said the washing machine is leaking?")
    people = len(home.store.people())
    assert "it was Anna" in home.ask("No, that was Anna.").text
    assert home.who_said("washing machine") == "Anna" and len(home.store.people()) == people
    home.ask("Who said the washing machine is leaking?")
    assert "not Anna" in home.ask("No, that wasn't Anna.").text
    assert home.who_said("washing machine") == "somebody"


def test_corrections_that_cannot_be_made_change_nothing(home: Home) -> None:
    before = [(row.id, row.action) for row in home.store.history()]
    home.ask("What did Anna say?")
    assert "which memory" in home.ask("No, that was Leo.").text
    home.ask("What is the airspeed of a swallow?")
    assert "no single memory" in home.ask("No, that was Leo.").text
    home.ask("Who said the washing machine is leaking?")
    assert home.ask("No, that was Bob.").text == "That is what I remember: it was Bob."
    assert "did not say" in home.ask("That wasn't Anna.").text
    assert home.ask("No, that was Leo.", spoken=True).text == "I take corrections only from residents."
    assert [(row.id, row.action) for row in home.store.history()] == before
    assert home.who_said("washing machine") == "Bob"
