"""Asks the questions about one memory in one of several ways, and notes what it cost and what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from models.errors import ModelError
from models.language import Completion, LanguageModel, Message
from offline_tools.bench.answer_methods import (
    TIMEOUT_S,
    Answered,
    Method,
    OneShot,
    Robot,
    Setting,
    shortened,
)
from offline_tools.bench.reference_loop import ReferenceLoop
from offline_tools.bench.whole_dialogue import WholeDialogue
from offline_tools.evaluate.answers import Given
from offline_tools.evaluate.errors import EvaluateError
from offline_tools.evaluate.memories import Memory, TextModel, first_unknown
from offline_tools.evaluate.multiple_choice import option_meant
from offline_tools.evaluate.questions import Question
from runtime.control import Control, Policy
from runtime.control_rounds import ControlLimits
from runtime.control_switches import ControlSwitches
from runtime.question import QuestionError

MethodName = Literal["robot", "one_shot", "reference", "dialogue"]
METHODS: tuple[MethodName, ...] = get_args(MethodName)
ZONE = ZoneInfo("UTC")


@dataclass(frozen=True)
class Variant:
    """How questions are asked: the method, and of the robot's own the policy and what is turned off."""

    method: MethodName = "robot"
    policy: Policy = "abstain"
    switches: ControlSwitches = field(default_factory=ControlSwitches)


@dataclass(frozen=True)
class Asking:
    """What all questions of a run share. language: None asks the robot alone, as it answers without a model.

    few_words: whether answers are brought into few words, for token F1.
    """

    variant: Variant
    text: TextModel
    language: LanguageModel | None
    few_words: bool
    commit: str

    def __post_init__(self) -> None:
        if self.language is None and self.variant.method != "robot":
            raise EvaluateError(
                f"{self.variant.method} needs a language model: the robot alone answers without"
            )


def ask(asking: Asking, memory: Memory, questions: Sequence[Question]) -> Iterator[Given]:
    """The answers one after the other; a model that fails is noted in them. Raises TimeIsUp."""
    watched = None if asking.language is None else Watched(asking.language)
    methods: dict[int | None, Method] = {}
    for question in sorted(questions, key=lambda one: (one.before_clip is None, one.before_clip or 0)):
        until = first_unknown(memory.store, question.before_clip)
        if until not in methods:
            methods = {
                until: _method(asking, memory, watched, until)
            }  # copies of the past are kept one at a time
        yield _given(asking, memory, question, methods[until], watched)


class Watched:
    """A LanguageModel that notes what failed: the robot answers all the same, which a comparison must know of."""

    def __init__(self, language: LanguageModel) -> None:
        self._language = language
        self.failure = ""

    @property
    def context_tokens(self) -> int:
        return self._language.context_tokens

    @property
    def name(self) -> str:
        return self._language.name

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        grammar: str | None = None,
        temperature: float = 0.0,
        stop: Sequence[str] = (),
        timeout_s: float = 120.0,
    ) -> Completion:
        try:
            return self._language.complete(
                messages,
                max_tokens=max_tokens,
                grammar=grammar,
                temperature=temperature,
                stop=stop,
                timeout_s=timeout_s,
            )
        except ModelError as error:
            self.failure = str(error) or type(error).__name__
            raise

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return self._language.count_tokens(messages)

    def close(self) -> None:
        self._language.close()


def _given(
    asking: Asking, memory: Memory, question: Question, method: Method, watched: Watched | None
) -> Given:
    if watched is not None:
        watched.failure = ""
    short: str | None = None
    choice: str | None = None
    failure, refused, answered = "", "", Answered("", True)
    try:
        answered = method.answer(question.text, asker=memory.where.persons.get(question.asker or ""))
        if asking.few_words and watched is not None:
            short = shortened(answered, question.text, watched)
        if question.options:
            choice = option_meant(question, answered, watched)
    except ModelError as error:
        failure = str(error) or type(error).__name__
    except QuestionError as error:
        refused = str(error)
    return Given(
        id=question.id,
        answered=answered,
        short=short,
        choice=choice,
        cited=_recall(question, memory, answered.evidence),
        found=_recall(question, memory, answered.found),
        failure=failure or (watched.failure if watched is not None else ""),
        refused=refused,
        fingerprint=memory.fingerprint,
        commit=asking.commit,
        removable=memory.removable,
    )


def _recall(question: Question, memory: Memory, node_ids: Sequence[int]) -> float | None:
    """The share of the evidence, turns or whole sessions, that these memories hold; None where none is known."""
    if not question.evidence:
        return None
    keys = memory.keys_of(node_ids)
    keys |= {key.partition("#")[0] for key in keys}
    return len(question.evidence & keys) / len(question.evidence)


def _method(asking: Asking, memory: Memory, watched: Watched | None, until: int | None) -> Method:
    """The method over the memory as it was before the clip `until`, by the clock of then."""
    variant = asking.variant
    if variant.method == "robot":
        control = Control(
            asking.text.recall(memory.store),
            watched,
            clock=lambda: memory.asked_utc_s,
            zone=ZONE,
            policy=variant.policy,
            switches=variant.switches,
            limits=ControlLimits(round_timeout_s=TIMEOUT_S),
        )
        return Robot(control, until)
    if watched is None:
        raise EvaluateError(f"{variant.method} needs a language model")
    store, now_utc_s = memory.store, memory.asked_utc_s
    if until is not None:
        store, now_utc_s = store.as_of(until), store.clip(until).start_utc_s
    setting = Setting(store, asking.text.query, watched, lambda: now_utc_s, ZONE)
    if variant.method == "one_shot":
        return OneShot(setting)
    if variant.method == "reference":
        return ReferenceLoop(setting)
    if memory.dialogue is None:
        raise EvaluateError("the method dialogue is for dialogues alone: there is no text of a whole video")
    return WholeDialogue(setting, memory.dialogue)
