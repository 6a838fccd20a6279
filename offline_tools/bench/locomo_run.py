"""Asks LoCoMo's questions in several ways, dialogue by dialogue, shortens the answers and judges them.

Every answer goes through the same last step, which brings it into the few words that LoCoMo expects; token F1 is
counted on these, the model judges the answer as it was given. Adversarial questions are right where a method abstains.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

from memory_store.store import MemoryStore
from models.language import LanguageModel
from offline_tools.bench.answer_methods import Answered, Method, OneShot, Robot, Setting, shortened
from offline_tools.bench.dialogues import Dialogue, remember
from offline_tools.bench.evidence_recall import Models
from offline_tools.bench.judging import ADVERSARIAL, ModelJudge, Verdict, locomo_f1
from offline_tools.bench.kept_completions import TimeIsUp
from offline_tools.bench.locomo_questions import LocomoQuestion
from offline_tools.bench.reference_loop import ReferenceLoop
from offline_tools.bench.whole_dialogue import WholeDialogue
from runtime.control import Control, Policy
from runtime.control_switches import ControlSwitches
from runtime.recall import Recall, RecallLimits

ROBOT, ONE_SHOT, REFERENCE, DIALOGUE = METHODS = ("robot", "one shot", "reference", "dialogue")
ZONE = ZoneInfo("UTC")


@dataclass(frozen=True)
class Judged:
    """A question, what a method said, the same in few words, and what that is worth."""

    method: str
    question: LocomoQuestion
    answered: Answered
    short: str
    verdict: Verdict

    @property
    def f1(self) -> float:
        """Token F1 of the few words."""
        question = self.question
        return locomo_f1(question.category, self.short, question.answer, abstained=self.answered.abstained)


@dataclass(frozen=True)
class Plan:
    """What is asked how: the names of the methods, and how the robot's own is set."""

    methods: Sequence[str]
    policy: Policy = "abstain"
    switches: ControlSwitches = field(default_factory=ControlSwitches)


def ask_dialogue(
    dialogue: Dialogue,
    questions: Sequence[LocomoQuestion],
    plan: Plan,
    models: Models,
    language: LanguageModel,
) -> tuple[list[Judged], bool]:
    """What came of each question and method, and whether all was done before the time was up.

    All methods but the whole dialogue take turns; that one then has its prompt to itself.
    """
    with (
        tempfile.TemporaryDirectory() as directory,
        MemoryStore.open(Path(directory), [models.space], clock=lambda: dialogue.asked_utc_s) as store,
    ):
        remember(store, dialogue, models.passage)
        setting = Setting(store, models.query, language, lambda: dialogue.asked_utc_s, ZONE)
        methods = _methods(setting, dialogue, plan, models)
        work = _Work(language)
        try:
            work.answer({name: one for name, one in methods.items() if name != DIALOGUE}, questions)
            work.answer({name: one for name, one in methods.items() if name == DIALOGUE}, questions)
            work.shorten()
            work.judge()
        except TimeIsUp:
            return work.done(), False
        return work.done(), True


def _methods(setting: Setting, dialogue: Dialogue, plan: Plan, models: Models) -> dict[str, Method]:
    made: dict[str, Callable[[], Method]] = {
        ROBOT: lambda: Robot(_control(setting, plan, models)),
        ONE_SHOT: lambda: OneShot(setting),
        REFERENCE: lambda: ReferenceLoop(setting),
        DIALOGUE: lambda: WholeDialogue(setting, dialogue),
    }
    return {name: made[name]() for name in plan.methods}


def _control(setting: Setting, plan: Plan, models: Models) -> Control:
    recall = Recall(setting.store, setting.embed_query, limits=RecallLimits(similarity_floor=models.about))
    return Control(
        recall,
        setting.language,
        clock=setting.clock,
        zone=setting.zone,
        policy=plan.policy,
        switches=plan.switches,
    )


class _Work:
    """Step after step over the same questions, so that each step finds its prompt's head evaluated."""

    def __init__(self, language: LanguageModel) -> None:
        self._language = language
        self._answers: dict[tuple[str, str], tuple[LocomoQuestion, Answered]] = {}
        self._short: dict[tuple[str, str], str] = {}
        self._verdicts: dict[tuple[str, str], Verdict] = {}

    def answer(self, methods: Mapping[str, Method], questions: Sequence[LocomoQuestion]) -> None:
        for question in questions:
            for name, method in methods.items():
                self._answers[name, question.id] = (question, method.answer(question.text))

    def shorten(self) -> None:
        for key, (question, answered) in self._answers.items():
            self._short[key] = shortened(answered, question.text, self._language)

    def judge(self) -> None:
        judge = ModelJudge(self._language)
        for key, (question, answered) in self._answers.items():
            if question.category == ADVERSARIAL or answered.abstained:
                right = answered.abstained and question.category == ADVERSARIAL
                self._verdicts[key] = Verdict(right, "", "abstained" if answered.abstained else "answered")
            else:
                self._verdicts[key] = judge.verdict(question.text, question.answer, answered.text)

    def done(self) -> list[Judged]:
        """What went through all steps."""
        return [
            Judged(key[0], *self._answers[key], self._short[key], verdict)
            for key, verdict in self._verdicts.items()
        ]
