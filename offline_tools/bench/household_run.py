"""Asks the household's questions in one of several ways, and has the answers judged."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from memory_store.errors import UnknownId
from memory_store.store import MemoryStore
from models.language import LanguageModel
from models.manifest import Manifest
from offline_tools.bench.answer_methods import TIMEOUT_S, Answered, Method, OneShot, Robot, Setting
from offline_tools.bench.household_memory import HouseholdMemory, Spoken
from offline_tools.bench.household_questions import HouseholdQuestion, is_of, is_right, overlaps
from offline_tools.bench.household_script import Script
from offline_tools.bench.judging import ModelJudge
from offline_tools.bench.kept_completions import TimeIsUp
from offline_tools.bench.reference_loop import ReferenceLoop
from runtime import compose, compose_answers
from runtime.answering import Asked
from runtime.compose import Parts
from runtime.config import load_settings
from runtime.control import Control
from runtime.control_rounds import ControlLimits
from runtime.conversation import Conversations

METHODS = ("robot", "one_shot", "reference")


@dataclass(frozen=True)
class Asking:
    """What all questions of a run share. language: None for the robot alone, as it answers without a model."""

    memory: HouseholdMemory
    language: LanguageModel | None
    asked_utc_s: float

    def parts_at(self, directory: Path) -> Parts:
        """The robot's parts over a copy of the memory."""
        settings = load_settings(self.memory.config).model_copy(update={"data_dir": directory})
        return Parts(settings, Manifest.load())

    def clock(self) -> float:
        """The moment at which all questions are asked."""
        return self.asked_utc_s


@dataclass(frozen=True)
class Given:
    """A question, what a method answered, and what that is worth.

    recalled: of the evidence's ids those that stand in the memories under the answer; found: in all that was found;
    judged: what a model said of it, None where none was asked.
    """

    question: HouseholdQuestion
    answered: Answered
    recalled: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    judged: bool | None = None

    @property
    def exact(self) -> bool:
        """Whether the answer holds what it must hold."""
        return is_right(self.question, self.answered.text, abstained=self.answered.abstained)

    @property
    def told(self) -> bool:
        """Whether what was said holds it, also where that followed "I don't know"."""
        return is_right(self.question, self.answered.text, abstained=False)


def ask_all(asking: Asking, method: str, questions: Sequence[HouseholdQuestion]) -> list[Given]:
    """The answers, as far as the time goes."""
    given: list[Given] = []
    with _copied(asking) as (parts, store):
        plain = _method(asking, parts, store, method)
        for question in questions:
            corrected = question.correction and method == "robot"
            try:
                answered = _corrected(asking, question) if corrected else plain.answer(question.last)
            except TimeIsUp:
                break
            truth = [asking.memory.truth[id] for id in question.evidence]
            recalled = tuple(one.id for one in truth if _stands_in(one, answered.evidence, store))
            found = tuple(one.id for one in truth if _stands_in(one, answered.found, store))
            given.append(Given(question, answered, recalled, found))
    return given


def lines_tied(asking: Asking, script: Script) -> tuple[int, int]:
    """Of the lines that somebody in view said, how many the memory ties to who said them; and how many there are."""
    with _copied(asking) as (_, store):
        heard = [row for row in store.timeline() if row.kind == "heard"]
    said = [line for line in script.lines if not line.unseen]
    tied = 0
    for line in said:
        truth = asking.memory.truth[line.id]
        speakers = {
            row.person
            for row in heard
            if truth.start_utc_s <= (row.start_utc_s + row.end_utc_s) / 2 <= truth.end_utc_s
        }
        tied += speakers == {script.people[line.who].name}
    return tied, len(said)


def judge_all(given: Sequence[Given], language: LanguageModel) -> list[Given]:
    """The same judged by a model, as far as the time goes.

    Where an answer holds what it must hold, and whether an unanswerable question was declined, needs no judge: small
    ones take quotations for no answers. An abstention from another question is none.
    """
    judge, judged = ModelJudge(language), list[Given]()
    for one in given:
        right: bool | None = one.exact
        if one.question.answerable and not one.answered.abstained and not one.exact:
            try:
                right = judge.verdict(one.question.last, one.question.truth, one.answered.text).right
            except TimeIsUp:
                right = None
        judged.append(replace(one, judged=right))
    return judged


def _stands_in(truth: Spoken, node_ids: Sequence[int], store: MemoryStore) -> bool:
    """Whether one of the memories is of what was really said, or seen, then."""
    for node_id in node_ids:
        try:
            node = store.node(node_id)
        except UnknownId:
            continue
        if overlaps(node.start_utc_s, node.end_utc_s, truth.start_utc_s, truth.end_utc_s) and (
            not truth.text or is_of(store.render(node.text), truth.text)
        ):
            return True
    return False


@contextmanager
def _copied(asking: Asking) -> Iterator[tuple[Parts, MemoryStore]]:
    """The parts and the store over a copy of the memory: answering leaves traces, and corrections stay."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "memory"
        shutil.copytree(asking.memory.directory, directory)
        parts = asking.parts_at(directory)
        store = compose.open_store(parts)
        try:
            yield parts, store
        finally:
            store.close()


def _corrected(asking: Asking, question: HouseholdQuestion) -> Answered:
    """Asked, corrected in words and asked again, over a copy that nothing else is asked about."""
    with _copied(asking) as (parts, store):
        control = _control(asking, parts, store)
        talks = Conversations(control, store, compose.household_of(parts), asking.clock)
        for text in (question.ask, question.correction):
            talks.answer(Asked(text, conversation="household"))
        return Robot(control).answer(question.last)


def _method(asking: Asking, parts: Parts, store: MemoryStore, method: str) -> Method:
    if method == "robot" or asking.language is None:
        return Robot(_control(asking, parts, store))
    embedder = compose.text_embedder(parts)
    zone = compose.household_of(parts).zone
    setting = Setting(store, embedder.embed_query, asking.language, asking.clock, zone)
    return OneShot(setting) if method == "one_shot" else ReferenceLoop(setting)


def _control(asking: Asking, parts: Parts, store: MemoryStore) -> Control:
    """The robot's control, at the hour of the questions."""
    limits = ControlLimits(round_timeout_s=TIMEOUT_S)
    return compose_answers.control(parts, store, asking.language, clock=asking.clock, limits=limits)
