"""OpenEQA (Majumdar et al., CVPR 2024): questions about walks through rooms, by the walk's history of frames.

Its measure, LLM-Match, is the mean of marks from 1 to 5 as shares from 0 to 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from offline_tools.evaluate.questions import Dataset, Question
from offline_tools.evaluate.reading import Entry, Text, checked, parsed, read_file, sha256_of


class _Asked(Entry):
    question_id: Text
    question: Text
    answer: Text
    category: Text
    episode_history: Text
    extra_answers: Annotated[list[str], Field(default_factory=list)]  # one of them is empty as published


_FORM = TypeAdapter(list[_Asked])


def read_openeqa(name: str, path: Path) -> Dataset:
    """The questions of open-eqa-v0.json; further answers are right too. Raises DatasetError with all faults."""
    data = read_file(path)
    questions = [
        Question(
            id=asked.question_id,
            memory=asked.episode_history,
            text=asked.question,
            answer=asked.answer,
            types=(asked.category,),
            marked=True,
            also_right=tuple(answer.strip() for answer in asked.extra_answers if answer.strip()),
        )
        for asked in parsed(path, data, _FORM)
    ]
    return Dataset(name, path, sha256_of(data), checked(path, questions))
