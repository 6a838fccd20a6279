"""Whether an answer is right: token F1 as LoCoMo counts it, words that must stand in it, and a model that judges.

The model judge is the local language model, asked for yes or no under a grammar where words and dates do not settle it;
its prompt stands here, and prompt and verdict go into the benchmarks' records.
"""

from __future__ import annotations

import calendar
import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import snowballstemmer

from models.language import LanguageModel, Message
from runtime.grounding import content_terms, coverage, language_of, squash

MULTI_HOP, OPEN_DOMAIN, ADVERSARIAL = 1, 3, 5  # categories of LoCoMo that are counted in ways of their own

JUDGE = """You check answers to questions. Compare the answer given with the right answer. They agree if they mean the
same: other words, more detail, or a part of a date more are fine. They do not agree if the answer names another thing,
person, number or time, is less exact, leaves out what was asked, or says that it does not know. Write yes or no."""

_EXAMPLES = (
    ("When does the circus open?", "7 May 2021", "It opens on Friday 7 May 2021 at noon.", "yes"),
    ("What do the penguins eat?", "herring", "The penguins eat shrimp.", "no"),
    ("Which instruments are in the tent?", "drums, two trumpets", "There are instruments in it.", "no"),
    ("Who broke the lens?", "Assistant Vega", "I don't know.", "no"),
    ("矿工老何养了什么？", "两只山羊", "老何养了山羊，一共两只。", "yes"),
    ("Where does the ferry sail to?", "to the island of Hven", "The ferry sails to Hven.", "yes"),
    ("How many lamps are left?", "forty", "Fourteen lamps are left.", "no"),
)
GRAMMAR = 'root ::= "yes" | "no"'
_PORTER = snowballstemmer.stemmer("porter")
_MOMENT = re.compile(r"\s*[(（][^()（）]*\d{1,2}:\d\d[^()（）]*[)）]")
_TELLS_TIME = re.compile(
    r"\d|\b(?:today|yesterday|tomorrow|noon|midnight|morning|afternoon|evening|night|ago|o'clock|days?|weeks?|months?"
    r"|years?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|spring|summer|autumn|winter)\b|[今明昨前后]天|[早晚]上|上午|下午|点|月|号|周|星期|年",
    re.IGNORECASE,
)
_SAYS_WHETHER = re.compile(r"\b(?:yes|no|not|never)\b|n't\b|[是不没]", re.IGNORECASE)
_MONTHS = {_PORTER.stemWord(name.lower()) for name in calendar.month_name if name}
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class Verdict:
    """What the model judge said, and to which prompt."""

    right: bool
    prompt: str
    reply: str


def tokens_of(text: str) -> list[str]:
    """Lower-case words without punctuation, articles and "and", by their stems."""
    plain = text.lower().translate(_PUNCTUATION)
    words = re.sub(r"\b(?:a|an|the|and)\b", " ", plain).split()
    return [str(_PORTER.stemWord(word)) for word in words]


def token_f1(answer: str, truth: str) -> float:
    """The harmonic mean of the shares of words that answer and truth have in common."""
    given, wanted = tokens_of(answer), tokens_of(truth)
    common = sum((Counter(given) & Counter(wanted)).values())
    return 2 * common / (len(given) + len(wanted)) if common else 0.0


def parts_f1(answer: str, truth: str) -> float:
    """For truths of several parts between commas: the mean over them of the F1 of the answer's best part."""
    given = [part.strip() for part in answer.split(",")]
    return float(np.mean([max(token_f1(one, part.strip()) for one in given) for part in truth.split(",")]))


def locomo_f1(category: int, answer: str, truth: str, *, abstained: bool) -> float:
    """LoCoMo's score of an answer (task_eval/evaluation.py of its repository).

    Adversarial questions have no answer, and an abstention is right. Of an open-domain truth what stands before a
    semicolon counts. An abstention from any other question is compared as nothing said.
    """
    if category == ADVERSARIAL:
        return float(abstained)
    if abstained:
        return 0.0
    if category == OPEN_DOMAIN:
        truth = truth.split(";")[0].strip()
    return parts_f1(answer, truth) if category == MULTI_HOP else token_f1(answer, truth)


def is_exact(answer: str, truth: str) -> bool:
    """Whether both have the same set of words."""
    return set(tokens_of(answer)) == set(tokens_of(truth))


def holds(answer: str, pieces: Iterable[str]) -> bool:
    """Whether all pieces stand in the answer, numbers as words or digits, in English or Chinese."""
    told = squash(answer)
    return all(squash(piece) in told for piece in pieces)


class ModelJudge:
    """Asks a language model whether an answer says what the truth says, where code cannot tell. Raises ModelError.

    Small models take one date for another, and a fluent answer for a right one: a `small` one is not asked where an
    answer holds no word of the truth's own.
    """

    def __init__(self, language: LanguageModel, timeout_s: float = 900.0, *, small: bool = True) -> None:
        self._language = language
        self._timeout_s = timeout_s
        self._small = small

    def verdict(self, question: str, truth: str, answer: str) -> Verdict:
        """The judgement; an empty answer is wrong without being asked about."""
        by_code = plainly(truth, answer)
        if by_code is not None or (self._small and shares_nothing(question, truth, answer)):
            return Verdict(bool(by_code), "", "by code")
        messages = judge_messages(question, truth, without_moments(answer, [truth]))
        completion = self._language.complete(
            messages, max_tokens=4, grammar=GRAMMAR, timeout_s=self._timeout_s
        )
        prompt = "\n".join(f"{message.role}: {message.content}" for message in messages)
        return Verdict(completion.text.strip() == "yes", prompt, completion.text)


def judge_messages(question: str, truth: str, answer: str) -> list[Message]:
    """What a judge is asked: the task, examples, and the case."""
    messages = [Message("system", " ".join(JUDGE.split()))]
    for one in _EXAMPLES:
        messages += [Message("user", _case(*one[:3])), Message("assistant", one[3])]
    return [*messages, Message("user", _case(question, truth, answer[:1000]))]


def plainly(truth: str, answer: str) -> bool | None:
    """Right where all of several words of the truth are there; by that alone where it is but a date; else None."""
    wanted, given = set(tokens_of(truth)), set(tokens_of(answer))
    if not given:
        return False
    if wanted and all(word.isdigit() or word in _MONTHS for word in wanted):
        return wanted <= given
    return True if len(wanted) > 1 and wanted <= given else None


def shares_nothing(question: str, truth: str, answer: str) -> bool:
    """Whether an answer holds none of the words that the truth has beyond its question: a small judge overlooks that.

    Nothing is said of yes and no, nor across languages.
    """
    own = [term for term in content_terms(truth) if not coverage((term,), question)]
    if not own or _SAYS_WHETHER.search(truth) or language_of(truth) != language_of(answer):
        return False
    told = squash(answer)
    same = set(tokens_of(" ".join(own))) & set(tokens_of(answer))
    return not same and not coverage(own, answer) and not any(squash(term) in told for term in own)


def _case(question: str, truth: str, answer: str) -> str:
    return f"Question: {question}\nRight answer: {truth}\nAnswer given: {answer}"


def without_moments(answer: str, truths: Sequence[str]) -> str:
    """An answer without the notes of when its memories are from, in brackets, unless a truth tells of a time.

    Small models take a right answer with such a note for another one.
    """
    if any(_TELLS_TIME.search(truth) for truth in truths):
        return answer
    return _MOMENT.sub("", answer).strip() or answer
