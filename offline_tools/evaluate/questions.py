"""What is asked: one record for a question of any benchmark, and the data set that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from offline_tools.bench.dialogues import Dialogue


@dataclass(frozen=True)
class Question:
    """One question.

    id: unique in its data set; memory: whose memory is asked, a dialogue's or a video's; answer: the truth, of several
    options the letter, "" where there is none; also_right: other answers that are right; types: all that it counts
    under, of which samples are drawn by the first; options: of a multiple choice, without their letters; before_clip:
    the last clip, of 30 s and from 0, that may be known, where not all is (-1: none); evidence: keys of what holds the
    answer; asker: who says "I"; rubric: the answer is a note of what a good one takes into account;
    marked: answers get marks from 1 to 5, and not only right or wrong.
    """

    id: str
    memory: str
    text: str
    answer: str
    types: tuple[str, ...]
    also_right: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    before_clip: int | None = None
    evidence: frozenset[str] = frozenset()
    asker: str | None = None
    rubric: bool = False
    marked: bool = False

    @property
    def answerable(self) -> bool:
        """Whether there is an answer; else whoever says so is right."""
        return bool(self.answer)


F1 = Callable[[Question, str, bool], float]
"""Of a question, an answer in few words, and whether that is an abstention: the token F1 that a data set defines."""


@dataclass(frozen=True)
class Dataset:
    """A benchmark as it was read. dialogues: by memory, of those that ask about dialogues; the others ask about videos.

    sha256: of the file; f1: None where the benchmark does not count words.
    """

    name: str
    path: Path
    sha256: str
    questions: tuple[Question, ...]
    dialogues: Mapping[str, Dialogue] = field(default_factory=dict)
    f1: F1 | None = None
