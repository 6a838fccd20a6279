"""LongMemEval (Wu et al., ICLR 2025): questions about histories of chats with an assistant.

Read as published, one question a history, and in the form in which a history has several. A question whose id ends with
"_abs" has no answer, and one about a preference has a note of what a good answer takes into account.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from offline_tools.bench.longmemeval_recall import DATE_FORM, SPEAKERS, read_dialogue
from offline_tools.evaluate.questions import Dataset, Question
from offline_tools.evaluate.reading import (
    Entry,
    Text,
    checked,
    json_of,
    parsed_json,
    read_file,
    sha256_of,
)

ABSTENTION = "_abs"
PREFERENCE = "single-session-preference"


class _Turn(Entry):
    role: Literal["user", "assistant"]
    content: str


class _History(Entry):
    question_id: Text
    question_type: Text
    question_date: Text
    haystack_dates: list[Text]
    haystack_session_ids: list[Text]
    haystack_sessions: list[list[_Turn]]


class _One(_History):
    question: Text
    answer: str | int | float
    answer_session_ids: list[Text]


class _Several(_History):
    questions: list[Text]
    answers: list[str | int | float]
    answer_session_ids: list[list[Text]]


_ONES, _SEVERALS = TypeAdapter(list[_One]), TypeAdapter(list[_Several])


def read_longmemeval(name: str, path: Path) -> Dataset:
    """The histories and their questions. Raises DatasetError with all faults."""
    data = read_file(path)
    document = json_of(path, data)
    if isinstance(document, list) and any(isinstance(one, dict) and "questions" in one for one in document):
        histories = parsed_json(path, document, _SEVERALS)
    else:
        histories = [_as_several(one) for one in parsed_json(path, document, _ONES)]
    faults = list(_faults(histories))
    checked(path, [] if faults else list(_questions(histories)), faults)
    dialogues = {one.question_id: read_dialogue(_raw(one)) for one in histories}
    return Dataset(name, path, sha256_of(data), tuple(_questions(histories)), dialogues)


def _as_several(one: _One) -> _Several:
    told = one.model_dump(exclude={"question", "answer", "answer_session_ids"})
    return _Several(
        **told, questions=[one.question], answers=[one.answer], answer_session_ids=[one.answer_session_ids]
    )


def _raw(history: _Several) -> dict[str, Any]:
    return history.model_dump()


def _questions(histories: Sequence[_Several]) -> Iterator[Question]:
    for history in histories:
        several = len(history.questions) > 1
        asked = zip(history.questions, history.answers, history.answer_session_ids, strict=True)
        for number, (text, answer, sessions) in enumerate(asked):
            abstention = history.question_id.endswith(ABSTENTION)
            yield Question(
                id=f"{history.question_id}:{number}" if several else history.question_id,
                memory=history.question_id,
                text=text,
                answer="" if abstention else str(answer).strip(),
                types=("abstention",) if abstention else (history.question_type,),
                evidence=frozenset() if abstention else frozenset(sessions),
                asker=SPEAKERS["user"],
                rubric=history.question_type == PREFERENCE,
            )


def _faults(histories: Sequence[_Several]) -> Iterator[str]:
    for number, history in enumerate(histories):
        where = f"[{number}]"
        lengths = {
            name: len(getattr(history, name))
            for name in ("haystack_dates", "haystack_session_ids", "haystack_sessions")
        }
        if len(set(lengths.values())) > 1:
            yield f"{where}: of different lengths: {_listed(lengths)}"
        if not any(turn.content.strip() for session in history.haystack_sessions for turn in session):
            yield f"{where}.haystack_sessions: no turn with words"
        asked = {name: len(getattr(history, name)) for name in ("questions", "answers", "answer_session_ids")}
        if len(set(asked.values())) > 1:
            yield f"{where}: of different lengths: {_listed(asked)}"
        dates = {"question_date": history.question_date} | {
            f"haystack_dates[{place}]": date for place, date in enumerate(history.haystack_dates)
        }
        yield from (
            f"{where}.{name}: {date!r} is no moment such as '2023/05/20 (Sat) 02:21'"
            for name, date in dates.items()
            if not _is_date(date)
        )
        for place, answer in enumerate(history.answers):
            if not str(answer).strip():
                yield f"{where}.answers[{place}]: empty"
        for place, sessions in enumerate(history.answer_session_ids):
            unknown = sorted(set(sessions) - set(history.haystack_session_ids))
            if unknown:
                yield f"{where}.answer_session_ids[{place}]: {unknown[0]!r} is no session of the history"


def _listed(lengths: dict[str, int]) -> str:
    return ", ".join(f"{name} {length}" for name, length in lengths.items())


def _is_date(date: str) -> bool:
    try:
        datetime.strptime(date, DATE_FORM)
    except ValueError:
        return False
    return True
