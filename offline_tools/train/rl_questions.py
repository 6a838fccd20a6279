"""The questions of reinforcement learning: one JSON line each, with the memory that it is asked of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from offline_tools.train.errors import TrainingError

_SHOWN = 10


@checked(frozen=True, config=ConfigDict(extra="forbid"))
class TrainingQuestion:
    """A question of a memory, the folder under --memories.

    answer: the right one; "" where nobody can know, so that only "I don't know" is right. before_clip: id of the clip
    at whose begin it is asked, from which on nothing is known; asked_utc_s: when, where that is left out (default: at
    the end of the memory). evidence: ids of the clips that hold the answer, for the graded reward.
    """

    id: str
    memory: str
    question: str
    answer: str
    before_clip: int | None = None
    asked_utc_s: float | None = None
    evidence: tuple[int, ...] = ()


@dataclass(frozen=True)
class QuestionFile:
    """The questions of a file, each id once."""

    path: Path
    questions: tuple[TrainingQuestion, ...]

    @property
    def by_id(self) -> dict[str, TrainingQuestion]:
        return {question.id: question for question in self.questions}


_ADAPTER = TypeAdapter(TrainingQuestion)


def read_questions(path: Path, memories: Path) -> QuestionFile:
    """The questions, whose memories must be there. Raises TrainingError, which names each broken line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TrainingError(f"the questions {path} cannot be read as UTF-8 text: {error}") from error
    questions: list[TrainingQuestion] = []
    faults: list[str] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            question = _ADAPTER.validate_python(json.loads(line))
        except ValueError as error:
            faults.append(f"{path}:{number}: {_reason(error)}")
            continue
        fault = _fault(question, memories)
        if question.id in seen:
            fault = f"id {question.id} stands also in line {seen[question.id]}"
        if fault:
            faults.append(f"{path}:{number}: {fault}")
        seen.setdefault(question.id, number)
        questions.append(question)
    _refuse(faults)
    if not questions:
        raise TrainingError(f"{path} holds no question")
    return QuestionFile(path, tuple(questions))


def _fault(question: TrainingQuestion, memories: Path) -> str:
    if not question.question.strip():
        return "the question is empty"
    folder = (memories / question.memory).resolve()
    if not question.memory or not folder.is_relative_to(memories.resolve()):
        return f"memory {question.memory!r} is no folder under {memories}"
    if not (folder / "memory.db").is_file():
        return f"there is no memory {folder / 'memory.db'}"
    return ""


def _reason(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
    return f"no JSON ({error})"


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        more = f"\n… and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise TrainingError("broken questions, put them right:\n" + "\n".join(faults[:_SHOWN]) + more)
