"""One run: the questions of a sample asked in one way of one model, judged, and kept so that it can go on.

A run lies in a folder of its own, named by all that its answers depend on: run.json says what that is, answers.jsonl
and verdicts.jsonl hold a line a question, results.json the figures.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from offline_tools.bench.kept_completions import TimeIsUp
from offline_tools.evaluate.answers import Given, Verdict
from offline_tools.evaluate.asking import Asking, Variant, ask
from offline_tools.evaluate.errors import EvaluateError, MemoryUnusable
from offline_tools.evaluate.judge import Judge, Ruling
from offline_tools.evaluate.lines_file import LinesFile, read_lines, write_json
from offline_tools.evaluate.memories import Memories, Memory
from offline_tools.evaluate.pace import Pace, in_threads
from offline_tools.evaluate.questions import Dataset, Question
from offline_tools.evaluate.scoring import Scored, scored

IN_A_ROW = 3  # questions of which a model fails before the run stops


@dataclass(frozen=True)
class Plan:
    """What a run asks. model: what the record says of the language model; title: for tables."""

    title: str
    dataset: Dataset
    questions: tuple[Question, ...]
    variant: Variant
    model: Mapping[str, Any]
    about: Mapping[str, Any]

    @property
    def identity(self) -> dict[str, Any]:
        """All that the answers depend on; two runs with the same are one."""
        ids = "\n".join(question.id for question in self.questions)
        return {
            "dataset": self.dataset.name,
            "dataset_sha256": self.dataset.sha256,
            "questions": len(self.questions),
            "questions_sha256": hashlib.sha256(ids.encode()).hexdigest(),
            "model": dict(self.model),
            **asdict(self.variant),
            **self.about,
        }

    @property
    def key(self) -> str:
        """The identity in a few letters."""
        told = json.dumps(self.identity, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(told.encode()).hexdigest()[:12]


class Run:
    """A run's folder.

    missing: memories that could not be asked, with reasons; stopped: why it holds fewer answers than it might.
    """

    def __init__(self, plan: Plan, root: Path) -> None:
        """Makes the folder. Raises EvaluateError."""
        self.plan = plan
        self.directory = root / plan.dataset.name / f"{_slug(plan.title)}-{plan.key}"
        self.stopped = ""
        self.missing: dict[str, str] = {}
        self._fingerprints: dict[str, str | None] = {}
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            write_json(self.directory / "run.json", {"title": plan.title, **plan.identity})
        except OSError as error:
            raise EvaluateError(
                f"cannot write {self.directory}: {error.strerror}; name a place with --out"
            ) from error

    def answer(self, asking: Asking, memories: Memories, pace: Pace) -> None:
        """Ask what is not answered yet, some memories at once. Raises EvaluateError."""
        self.missing = memories.missing(question.memory for question in self.plan.questions)
        by_memory: dict[str, list[Question]] = defaultdict(list)
        for question in self.plan.questions:
            if question.memory not in self.missing:
                by_memory[question.memory].append(question)
        with LinesFile(self.directory / "answers.jsonl", Given) as file:
            jobs = [
                partial(self._ask_memory, asking, memories, name, questions, file, pace)
                for name, questions in by_memory.items()
            ]
            try:
                in_threads(jobs, pace)
            except TimeIsUp:
                self.stopped = "the time was up"

    def _ask_memory(
        self,
        asking: Asking,
        memories: Memories,
        name: str,
        questions: Sequence[Question],
        file: LinesFile[Given],
        pace: Pace,
    ) -> None:
        """Ask the questions about one memory that have no answer without a failure from this memory as it is."""
        kept = _latest(file.records)
        self._fingerprints[name] = fingerprint = memories.fingerprint(name)
        wanted = [one for one in questions if not _stands(kept.get(one.id), fingerprint)]
        if not wanted:
            return
        try:
            with memories.open(name) as memory:
                self._fingerprints[name] = memory.fingerprint
                self._ask(asking, memory, wanted, file, pace)
        except MemoryUnusable as error:
            self.missing[name] = str(error)

    def _ask(
        self,
        asking: Asking,
        memory: Memory,
        questions: Sequence[Question],
        file: LinesFile[Given],
        pace: Pace,
    ) -> None:
        failures = 0
        for number, given in enumerate(ask(asking, memory, questions), 1):
            file.append(given)
            pace.tell(f"{self.plan.title}: {memory.name}, {number} of {len(questions)}")
            failures = failures + 1 if given.failure else 0
            if failures >= IN_A_ROW:
                raise EvaluateError(
                    f"the model failed {failures} times in a row, the last time with: {given.failure}\n"
                    f"what is answered is kept in {self.directory}; the same command goes on from there"
                )
            pace.check()

    def judge(self, judge: Judge, pace: Pace) -> None:
        """Judge the answers that this judge has not judged yet; one that fails again and again is asked no more."""
        answers = self.answers()
        with LinesFile(self.directory / "verdicts.jsonl", Verdict) as file:
            known = _of_judge(file.records, judge.name)
            left = [
                (question, answers[question.id])
                for question in self.plan.questions
                if question.id in answers and not _holds(known.get(question.id), answers[question.id])
            ]
            failures = 0
            for start in range(0, len(left), pace.at_once):
                batch = left[start : start + pace.at_once]
                for (question, given), ruling in self._rulings(judge, batch, failures < IN_A_ROW, pace):
                    file.append(Verdict(question.id, judge.name, given.digest, **asdict(ruling)))
                    pace.tell(f"{self.plan.title}: judged {question.id}")
                    if ruling.attempts:
                        failures = 0 if ruling.reply else failures + 1
                        if failures >= IN_A_ROW:
                            self.stopped = f"the judge failed {failures} times in a row: {ruling.reason}"
                if pace.is_over:
                    self.stopped = self.stopped or "the time was up"
                    return

    def _rulings(
        self, judge: Judge, batch: Sequence[tuple[Question, Given]], ask_model: bool, pace: Pace
    ) -> list[tuple[tuple[Question, Given], Ruling]]:
        """What came of a few answers, at once; those of which nothing came are left out."""
        rulings: dict[int, Ruling] = {}

        def rule(place: int) -> None:
            rulings[place] = judge.ruling(*batch[place], ask=ask_model)

        try:
            in_threads([partial(rule, place) for place in range(len(batch))], pace)
        except TimeIsUp:
            self.stopped = self.stopped or "the time was up"
        told = [(batch[place], ruling) for place, ruling in sorted(rulings.items())]
        return [(one, ruling) for one, ruling in told if ruling.right is not None or ruling.attempts]

    def answers(self) -> dict[str, Given]:
        """The latest answers, by question, of memories as they are now, as far as that is known."""
        memory_of = {question.id: question.memory for question in self.plan.questions}
        latest = _latest(read_lines(self.directory / "answers.jsonl", Given))
        return {
            id: given
            for id, given in latest.items()
            if id in memory_of
            and self._fingerprints.get(memory_of[id], given.fingerprint) == given.fingerprint
        }

    def scored(self, judge: Judge) -> list[Scored]:
        """The answered questions with this judge's verdicts, where they are of the answers as they are now."""
        answers = self.answers()
        verdicts = _of_judge(read_lines(self.directory / "verdicts.jsonl", Verdict), judge.name)
        current = {
            id: one for id, one in verdicts.items() if id in answers and one.digest == answers[id].digest
        }
        return scored(self.plan.questions, answers, current, self.plan.dataset.f1)


def _latest(records: Sequence[Given]) -> dict[str, Given]:
    """By question the last answer."""
    return {one.id: one for one in records}


def _of_judge(records: Sequence[Verdict], judge: str) -> dict[str, Verdict]:
    return {one.id: one for one in records if one.judge == judge}


def _stands(given: Given | None, fingerprint: str | None) -> bool:
    return given is not None and not given.failure and given.fingerprint == fingerprint


def _holds(verdict: Verdict | None, given: Given) -> bool:
    return verdict is not None and verdict.right is not None and verdict.digest == given.digest


def _slug(title: str) -> str:
    kept = "".join(letter if letter.isalnum() else "-" for letter in title.lower())
    return "-".join(part for part in kept.split("-") if part)[:60] or "run"
