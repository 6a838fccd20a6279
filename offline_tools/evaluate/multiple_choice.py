"""The option of a multiple choice that an answer means: chosen by the model that answered, by words where none did.

The method answers the bare question, as a robot is asked; that its words stand for an option is a step of its own.
"""

from __future__ import annotations

from models.language import LanguageModel
from offline_tools.bench.answer_methods import Answered, Calls, fits
from offline_tools.bench.judging import token_f1
from offline_tools.evaluate.prompts import framed
from offline_tools.evaluate.questions import Question
from offline_tools.evaluate.videomme import LETTERS

_LONGEST = 1000  # characters of an answer


def option_meant(question: Question, answered: Answered, language: LanguageModel | None) -> str:
    """The letter, "" where the answer is an abstention or its words fit no option. Raises ModelError."""
    if answered.abstained:
        return ""
    by_words = _by_words(question, answered.text)
    if by_words or language is None:
        return by_words or _nearest(question, answered.text)
    letters = LETTERS[: len(question.options)]
    options = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, question.options, strict=False))
    messages = framed("choice", question=question.text, answer=answered.text[:_LONGEST], options=options)
    if not fits(language, messages, reply_tokens=8):
        return _nearest(question, answered.text)
    grammar = "root ::= " + " | ".join(f'"{letter}"' for letter in letters)
    text = Calls(language).complete(messages, max_tokens=8, grammar=grammar).strip().lstrip("(")
    return text[0] if text and text[0] in letters and not text[1:2].isalnum() else ""


def _by_words(question: Question, answer: str) -> str:
    """The only option that is the answer, word for word."""
    same = [
        letter
        for letter, option in zip(LETTERS, question.options, strict=False)
        if token_f1(answer, option) == 1.0
    ]
    return same[0] if len(same) == 1 else ""


def _nearest(question: Question, answer: str) -> str:
    """The option with the most words in common, "" where none has any or two have as many."""
    scores = [token_f1(answer, option) for option in question.options]
    best = max(scores)
    return LETTERS[scores.index(best)] if best > 0 and scores.count(best) == 1 else ""
