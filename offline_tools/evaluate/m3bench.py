"""M3-Bench (Long et al., arXiv 2508.09736), robot and web: questions about long videos, by the video's id.

A question of the robot's videos is asked at a moment. What may be known then are the clips that had ended, which the
benchmark states as the number of the last one, from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from offline_tools.evaluate.questions import Dataset, Question
from offline_tools.evaluate.reading import Entry, Text, checked, parsed, read_file, sha256_of

CLIP_S = 30
_TIMESTAMP = re.compile(r"(?:(\d{1,2}):)?(\d{1,3}):([0-5]\d)")


class _Asked(Entry):
    question_id: Text
    question: Text
    answer: Text
    type: Annotated[list[Text], Field(min_length=1)]
    timestamp: str | None = None
    before_clip: Annotated[int, Field(ge=-1)] | None = None


class _Video(Entry):
    qa_list: list[_Asked]


_FORM = TypeAdapter(dict[str, _Video])


def read_m3bench(name: str, path: Path) -> Dataset:
    """The questions of robot.json or web.json. Raises DatasetError with all faults."""
    data = read_file(path)
    videos = parsed(path, data, _FORM)
    questions = [
        Question(
            id=asked.question_id,
            memory=video,
            text=asked.question,
            answer=asked.answer,
            types=tuple(asked.type),
            before_clip=asked.before_clip,
        )
        for video, entry in videos.items()
        for asked in entry.qa_list
    ]
    return Dataset(name, path, sha256_of(data), checked(path, questions, _faults(videos)))


def before_clip(timestamp: str) -> int:
    """The last clip that had ended at "MM:SS" or "H:MM:SS"; -1 within the first. Raises ValueError."""
    found = _TIMESTAMP.fullmatch(timestamp.strip())
    if found is None:
        raise ValueError(f"{timestamp!r} is no moment such as 16:10")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return (3600 * hours + 60 * minutes + seconds) // CLIP_S - 1


def _faults(videos: dict[str, _Video]) -> Iterator[str]:
    for video, entry in videos.items():
        for number, asked in enumerate(entry.qa_list):
            if asked.timestamp is None:
                continue
            where = f"{video}.qa_list[{number}]"
            try:
                last = before_clip(asked.timestamp)
            except ValueError as error:
                yield f"{where}.timestamp: {error}"
                continue
            if asked.before_clip != last:
                yield f"{where}.before_clip: {asked.before_clip}, but {asked.timestamp} gives {last}"
