"""EgoTempo (Plizzari et al., CVPR 2025): questions about the order of things in short first-person videos."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from offline_tools.evaluate.questions import Dataset, Question
from offline_tools.evaluate.reading import Entry, Text, checked, parsed, read_file, sha256_of


class _Asked(Entry):
    question_id: Text
    clip_id: Text
    question_type: Text
    question: Text
    answer: Text


class _File(Entry):
    annotations: list[_Asked]


_FORM = TypeAdapter(_File)


def read_egotempo(name: str, path: Path) -> Dataset:
    """The questions of egotempo_openQA.json. Raises DatasetError with all faults."""
    data = read_file(path)
    questions = [
        Question(asked.question_id, asked.clip_id, asked.question, asked.answer, (asked.question_type,))
        for asked in parsed(path, data, _FORM).annotations
    ]
    return Dataset(name, path, sha256_of(data), checked(path, questions))
