"""Golden prompts of an export: rows in ChatML whose last answer is what should come, asked of every step's model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from models.bundle_manifest import GoldenCase, GoldenMessage
from models.golden import agreement
from offline_tools.chatml import Row

FIRST_TOKENS = 8
Tokens = Callable[[str], Sequence[int]]


@dataclass(frozen=True)
class GoldenPrompt:
    """A prompt, and the answer that the data says should come. row: the same as the checkpoint is shown it."""

    id: str
    messages: tuple[GoldenMessage, ...]
    expected: str
    row: Row


@dataclass(frozen=True)
class Answers:
    """What the model of one step answered, in the prompts' order."""

    step: str
    texts: tuple[str, ...]
    bytes: int
    duration_s: float


@dataclass(frozen=True)
class StepAccuracy:
    """How far a step's model agrees with the checkpoint, and with what should come; shares and ratios, 0 to 1.

    first_tokens: mean share of the checkpoint's first FIRST_TOKENS tokens that come out the same, up to the first
    that differs; same_answers: share of answers that are equal; likeness: mean ratio over the characters; golden:
    the same with what should come.
    """

    step: str
    bytes: int
    first_tokens: float
    same_answers: float
    likeness: float
    golden: float
    duration_s: float


def golden_prompt(row: Row) -> GoldenPrompt:
    """A row without its last answer; the pictures and sounds of a turn stand before its text."""
    messages = tuple(
        GoldenMessage(
            turn.role,
            turn.text,
            tuple(medium.path for medium in turn.media if medium.kind == "image"),
            tuple(medium.path for medium in turn.media if medium.kind == "audio"),
        )
        for turn in row.turns[:-1]
    )
    return GoldenPrompt(row.id, messages, row.answer, row)


def golden_cases(
    prompts: Sequence[GoldenPrompt], answers: Answers, max_tokens: int
) -> tuple[GoldenCase, ...]:
    """What the robot tries: each prompt with the answer the packed model itself gave."""
    return tuple(
        GoldenCase(prompt.id, prompt.messages, answer, max_tokens)
        for prompt, answer in zip(prompts, answers.texts, strict=True)
    )


def accuracy(
    answers: Answers, reference: Answers, prompts: Sequence[GoldenPrompt], tokens_of: Tokens
) -> StepAccuracy:
    """One line of the report."""
    pairs = list(zip(answers.texts, reference.texts, strict=True))
    return StepAccuracy(
        step=answers.step,
        bytes=answers.bytes,
        first_tokens=_mean([_same_start(tokens_of(one), tokens_of(other)) for one, other in pairs]),
        same_answers=_mean([float(one.strip() == other.strip()) for one, other in pairs]),
        likeness=_mean([agreement(other, one) for one, other in pairs]),
        golden=_mean([agreement(p.expected, text) for p, text in zip(prompts, answers.texts, strict=True)]),
        duration_s=round(answers.duration_s, 1),
    )


def _same_start(one: Sequence[int], other: Sequence[int]) -> float:
    """The share of `other`'s first tokens with which `one` begins."""
    wanted = list(other[:FIRST_TOKENS])
    same = 0
    for left, right in zip(one, wanted, strict=False):
        if left != right:
            break
        same += 1
    return same / len(wanted) if wanted else float(not one)


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 1.0
