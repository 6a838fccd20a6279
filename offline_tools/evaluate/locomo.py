"""LoCoMo (Maharana et al., ACL 2024): questions about ten long dialogues, with the turns that answer them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from offline_tools.bench.judging import ADVERSARIAL, locomo_f1
from offline_tools.bench.locomo_recall import CATEGORIES, DATE_FORM, evidence_of, read_dialogues
from offline_tools.evaluate.questions import Dataset, Question
from offline_tools.evaluate.reading import (
    Entry,
    Text,
    checked,
    faults_of,
    json_of,
    parsed_json,
    read_file,
    sha256_of,
)

_SESSION = re.compile(r"session_\d+")


class _Turn(Entry):
    dia_id: Text
    speaker: Text
    text: str
    blip_caption: str = ""


class _Asked(Entry):
    question: Text
    category: Annotated[int, Field(ge=1, le=5)]
    answer: str | int | float | None = None
    evidence: list[str]


class _Sample(Entry):
    sample_id: Text
    conversation: dict[str, Any]
    qa: list[_Asked]


_FORM, _TURNS = TypeAdapter(list[_Sample]), TypeAdapter(list[_Turn])


def read_locomo(name: str, path: Path) -> Dataset:
    """The dialogues and questions of locomo10.json. Raises DatasetError with all faults."""
    data = read_file(path)
    document = json_of(path, data)
    samples = parsed_json(path, document, _FORM)
    checked(path, list(_questions(samples, {})), _faults(samples))
    dialogues = {dialogue.name: dialogue for dialogue in read_dialogues(document)}
    known = {
        name: {turn.key for session in dialogue.sessions for turn in session.turns}
        for name, dialogue in dialogues.items()
    }
    return Dataset(name, path, sha256_of(data), tuple(_questions(samples, known)), dialogues, f1_of)


def f1_of(question: Question, short: str, abstained: bool) -> float:
    """LoCoMo's score of an answer in few words."""
    category = next(key for key, name in CATEGORIES.items() if name == question.types[0])
    return locomo_f1(category, short, question.answer, abstained=abstained)


def _questions(samples: list[_Sample], known: dict[str, set[str]]) -> Iterator[Question]:
    for sample in samples:
        for number, asked in enumerate(sample.qa):
            adversarial = asked.category == ADVERSARIAL
            yield Question(
                id=f"{sample.sample_id}:{number}",
                memory=sample.sample_id,
                text=asked.question,
                answer="" if adversarial else str(asked.answer),
                types=(CATEGORIES[asked.category],),
                evidence=evidence_of(asked.evidence, known.get(sample.sample_id, set())),
            )


def _faults(samples: list[_Sample]) -> Iterator[str]:
    for number, sample in enumerate(samples):
        for place, asked in enumerate(sample.qa):
            if (
                asked.category != ADVERSARIAL
                and not str("" if asked.answer is None else asked.answer).strip()
            ):
                yield f"[{number}].qa[{place}].answer: missing, which only category {ADVERSARIAL} may be"
        sessions = [key for key in sample.conversation if _SESSION.fullmatch(key)]
        if not any(sample.conversation[key] for key in sessions):
            yield f"[{number}].conversation: no session with turns"
        for key in sessions:
            yield from _session_faults(f"[{number}].conversation", sample.conversation, key)


def _session_faults(where: str, talk: dict[str, Any], key: str) -> Iterator[str]:
    try:
        if not _TURNS.validate_python(talk[key]):
            return
    except ValidationError as error:
        yield from (f"{where}.{key}: {fault}" for fault in faults_of(error))
        return
    date = talk.get(f"{key}_date_time")
    try:
        datetime.strptime(str(date), DATE_FORM)
    except ValueError:
        yield f"{where}.{key}_date_time: {date!r} is no moment such as '1:56 pm on 8 May, 2023'"
