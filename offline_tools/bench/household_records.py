"""What the benchmark `household` keeps of each answer, and of each judgement, so that nothing is asked twice."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Generic, TypeVar

from models.language import LanguageModel
from offline_tools.bench.household_questions import HouseholdQuestion
from offline_tools.bench.judging import ModelJudge


@dataclass(frozen=True)
class Record:
    """One answer. recalled: of the evidence's ids those that stand in the memories under it; found: in all found."""

    id: str
    asked: str
    text: str
    abstained: bool
    recalled: tuple[str, ...]
    found: tuple[str, ...]
    model_calls: int
    prompt_tokens: int
    cached_tokens: int
    duration_s: float


@dataclass(frozen=True)
class Judged:
    """What a model judge said of one answer."""

    id: str
    text: str
    right: bool
    prompt: str


Kept = TypeVar("Kept", Record, Judged)


class Records(Generic[Kept]):
    """What was answered or judged, as JSON lines in the cache; the last line of an id counts."""

    def __init__(self, path: Path, kind: type[Kept]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self.done: dict[str, Kept] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                record = kind(**json.loads(line))
                self.done[record.id] = record

    def add(self, record: Kept) -> None:
        """Keep one more."""
        self.done[record.id] = record
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(asdict(record), ensure_ascii=False)}\n")


def judge_all(
    questions: Sequence[HouseholdQuestion],
    answers: Records[Record],
    judged: Records[Judged],
    language: LanguageModel,
    ends_at: float,
) -> None:
    """Let a model judge what was answered and not judged yet, until the time is up (by time.monotonic).

    Whether an unanswerable question was declined needs no judge, and an abstention is no answer.
    """
    judge = ModelJudge(language)
    for question in questions:
        record, known = answers.done.get(question.id), judged.done.get(question.id)
        if record is None or record.abstained or not question.answerable:
            continue
        if known is not None and known.text == record.text:
            continue
        if time.monotonic() > ends_at:
            return
        verdict = judge.verdict(question.last, question.truth, record.text)
        judged.add(Judged(question.id, record.text, verdict.right, verdict.prompt))
