"""The questions about the household: read strictly from YAML, and how an answer to one of them is scored."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import ConfigDict

from offline_tools.bench.household_script import HERE, Script, is_chinese, read_strictly

QUESTIONS = HERE / "household_questions.yaml"
Type = Literal[
    "multi_detail", "multi_hop", "cross_modal", "person", "general", "temporal", "corrective", "unanswerable"
]
TYPES: tuple[Type, ...] = get_args(Type)
SHARED = 1 / 3  # of a line's words that a memory must hold to be of it
_MARGIN_S = 1.0
_STRICT = ConfigDict(extra="forbid")
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
# When a memory is from, as the robot says it; numbers in it answer nothing.
_MOMENT = re.compile(
    rf"\b\d{{1,2}} (?:{_MONTHS}) \d{{4}} at \d\d:\d\d|\b(?:today|yesterday) at \d\d:\d\d"
    r"|\d{4}年\d{1,2}月\d{1,2}日\D{0,6}\d\d:\d\d|(?:今天|昨天)\D{0,2}\d\d:\d\d"
)
_WORD = re.compile(r"[a-z0-9']+|[\u4e00-\u9fff]+")


@dataclass(frozen=True)
class HouseholdQuestion:
    """One question. keys: alternatives of which a right answer holds one each; evidence: ids of the script.

    correction: what is said to the first answer; then: what is asked after it, by default the same again.
    """

    __pydantic_config__ = _STRICT
    id: str
    type: Type
    split: Literal["tune", "report", "practice"]
    ask: str
    keys: tuple[tuple[str, ...], ...] = ()
    evidence: tuple[str, ...] = ()
    correction: str = ""
    then: str = ""

    @property
    def last(self) -> str:
        """The question whose answer counts."""
        return self.then or self.ask

    @property
    def language(self) -> str:
        return "zh" if is_chinese(re.sub("小美|李明", "", self.ask)) else "en"

    @property
    def truth(self) -> str:
        """The right answer in the fewest words, for a judge."""
        return ", ".join(group[0].rstrip("*") for group in self.keys)

    @property
    def answerable(self) -> bool:
        return self.type != "unanswerable"


@dataclass(frozen=True)
class HouseholdQuestions:
    """All questions, and the local time at which they are asked."""

    __pydantic_config__ = _STRICT
    asked_at: datetime
    questions: tuple[HouseholdQuestion, ...]

    def asked_utc_s(self, timezone: str) -> float:
        """When they are asked, UTC seconds."""
        return self.asked_at.replace(tzinfo=ZoneInfo(timezone)).timestamp()


def load_questions(script: Script, path: Path = QUESTIONS) -> HouseholdQuestions:
    """The questions. Raises BenchmarkError with all their faults together."""
    return read_strictly(HouseholdQuestions, path, lambda read: _faults(read.questions, script))


def is_right(question: HouseholdQuestion, answer: str, *, abstained: bool) -> bool:
    """Whether an answer holds all keys; of an unanswerable question: whether it says so."""
    if not question.answerable:
        return abstained or bool(question.keys and _holds_all(answer, question.keys))
    return not abstained and _holds_all(answer, question.keys)


def is_of(text: str, line: str) -> bool:
    """Whether a memory's text is about a line: a third of the line's words, or pairs of characters, stand in it."""
    wanted, found = _words(line), _words(text)
    return bool(wanted) and len(wanted & found) >= SHARED * len(wanted)


def overlaps(start_s: float, end_s: float, other_start_s: float, other_end_s: float) -> bool:
    """Whether two spans share a moment, give or take a second."""
    return start_s <= other_end_s + _MARGIN_S and other_start_s <= end_s + _MARGIN_S


def _holds_all(answer: str, keys: Sequence[Sequence[str]]) -> bool:
    plain = unicodedata.normalize("NFKC", answer).casefold()
    undated = _MOMENT.sub(" ", plain)
    return all(any(_stands(key.casefold(), plain, undated) for key in group) for group in keys)


def _stands(key: str, plain: str, undated: str) -> bool:
    text = undated if any(mark.isdigit() for mark in key) and not key.strip("0123456789") else plain
    if is_chinese(key):
        return key in text
    end = "" if key.endswith("*") else r"(?![a-z0-9])"
    return re.search(rf"(?<![a-z0-9]){re.escape(key.rstrip('*'))}{end}", text) is not None


def _words(text: str) -> set[str]:
    words = set[str]()
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        pairs = {word[at : at + 2] for at in range(max(1, len(word) - 1))}
        words |= pairs if is_chinese(word) else {word} if len(word) > 2 else set()
    return words


def _faults(questions: Sequence[HouseholdQuestion], script: Script) -> Iterator[str]:
    counts = Counter(question.id for question in questions)
    yield from (f"{id} is the id of {count} questions" for id, count in counts.items() if count > 1)
    for question in questions:
        unknown = set(question.evidence) - script.evidence_ids
        yield from (f"{question.id} names {id}, which is not in the script" for id in sorted(unknown))
        if question.answerable and not (question.keys and question.evidence):
            yield f"{question.id} has no keys or no evidence"
        if (question.type == "corrective") != bool(question.correction):
            yield f"{question.id} is corrective or has a correction, but not both"
