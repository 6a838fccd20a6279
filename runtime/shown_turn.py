"""A question with a picture or a sound: looked at, the name put in, or the answer made ready; nothing is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memory_store.store import MemoryStore
from runtime.answering import Asked
from runtime.question import Question
from runtime.say import Speech
from runtime.shown import Medium, in_words
from runtime.shown_answers import answer_about_shown
from runtime.shown_question import bound, read_shown_question
from runtime.shown_reader import ShownError, ShownReader
from runtime.timeline_answers import ComputedAnswer

ComputeShown = Callable[[MemoryStore, Question, Speech], ComputedAnswer | None]


@dataclass(frozen=True)
class ShownTurn:
    """The question as it goes on to the memory, what answers it before that, if anything, and notes for the trace."""

    text: str
    answer: ComputeShown | None = None
    notes: tuple[str, ...] = ()


def shown_turn(reader: ShownReader, store: MemoryStore, asked: Asked, text: str) -> ShownTurn:
    """Look at what came with the question. Raises ShownError."""
    if asked.picture is not None and asked.sound is not None:
        raise ShownError("give a picture or a sound with a question, not both")
    medium: Medium = "sound" if asked.picture is None else "picture"
    wanted = read_shown_question(text, medium)
    if asked.picture is not None:
        shown = reader.picture(store, asked.picture, wanted)
    else:
        shown = reader.sound(store, asked.sound or b"")
    if wanted.about == "nothing":
        return ShownTurn(text, None, (f"The question asks of nothing in the {medium}.",))
    notes = in_words(shown)
    if wanted.about == "person" and shown.person is not None:
        same = [person for person in store.people() if person.label == shown.person.label]
        whole = bound(text, shown.person, unique=len(same) == 1)
        return ShownTurn(whole, None, tuple(notes))

    def answer(store: MemoryStore, question: Question, speech: Speech) -> ComputedAnswer | None:
        return answer_about_shown(store, question, shown, wanted, speech)

    return ShownTurn(text, answer, tuple(notes))
