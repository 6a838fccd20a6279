"""Video-MME (Fu et al., CVPR 2025): questions about videos with four options each.

Published in two forms, which are both read: one row a question (the data set's own), and the questions of a video
together (the template of its evaluation).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, Field, TypeAdapter

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

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERED = re.compile(r"\s*\(?([A-Z])[.):]\s*")


class _Asked(Entry):
    question_id: Text
    task_type: Text
    question: Text
    options: Annotated[
        list[Text], Field(min_length=2, max_length=26, validation_alias=AliasChoices("options", "choices"))
    ]
    answer: Annotated[str, Field(pattern="^[A-Z]$")]


class _Row(_Asked):
    video_id: Text
    videoID: Text | None = None  # the name of the video's file
    duration: Text


class _Video(Entry):
    video_id: Text
    videoID: Text | None = None
    duration: Annotated[Text, Field(validation_alias=AliasChoices("duration", "duration_category"))]
    questions: list[_Asked]


_ROWS, _VIDEOS = TypeAdapter(list[_Row]), TypeAdapter(list[_Video])


def read_videomme(name: str, path: Path) -> Dataset:
    """The questions of a .json or .jsonl file. Raises DatasetError with all faults."""
    data = read_file(path)
    document = json_of(path, data)
    asked = list(_asked(path, document))
    questions = [
        Question(
            id=one.question_id,
            memory=memory,
            text=one.question,
            answer=one.answer,
            types=(one.task_type, f"{duration} videos"),
            options=tuple(_LETTERED.sub("", option, count=1) for option in one.options),
        )
        for _, memory, duration, one in asked
    ]
    return Dataset(name, path, sha256_of(data), checked(path, questions, _faults(asked)))


def _asked(path: Path, document: Any) -> Iterator[tuple[str, str, str, _Asked]]:
    """Where each question stands, the video's file, its length in a word, and the question."""
    grouped = isinstance(document, list) and any(
        isinstance(one, dict) and "questions" in one for one in document
    )
    if not grouped:
        rows = parsed_json(path, document, _ROWS)
        for number, row in enumerate(rows):
            yield f"[{number}]", row.videoID or row.video_id, row.duration, row
        return
    videos = parsed_json(path, document, _VIDEOS)
    for number, video in enumerate(videos):
        for place, one in enumerate(video.questions):
            yield f"[{number}].questions[{place}]", video.videoID or video.video_id, video.duration, one


def _faults(asked: list[tuple[str, str, str, _Asked]]) -> Iterator[str]:
    for where, _, _, one in asked:
        letters = [found[1] for option in one.options if (found := _LETTERED.match(option))]
        wanted = list(LETTERS[: len(one.options)])
        if letters and letters != wanted:
            yield f"{where}.options: begin with {', '.join(letters)}, not with {', '.join(wanted)}"
        if one.answer not in wanted:
            yield f"{where}.answer: {one.answer}, but the options end at {wanted[-1]}"
