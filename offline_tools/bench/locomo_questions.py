"""A fixed sample of LoCoMo's questions with their answers, the same share of each category, over all ten dialogues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from offline_tools.bench.judging import ADVERSARIAL
from offline_tools.evaluate.sampling import drawn

SEED = 7


@dataclass(frozen=True)
class LocomoQuestion:
    """One question. id: the dialogue and the question's place in it; answer: "" where there is none (adversarial)."""

    id: str
    dialogue: str
    category: int
    text: str
    answer: str


def sampled(samples: Sequence[dict[str, Any]], count: int) -> list[LocomoQuestion]:
    """`count` questions, drawn by SEED, by dialogue and place; categories in proportion, dialogues in turn.

    Fewer questions are some of those that more would be.
    """
    questions = [
        _question(sample["sample_id"], number, asked)
        for sample in samples
        for number, asked in enumerate(sample["qa"])
    ]
    return drawn(questions, count, SEED, type_of=lambda one: one.category, memory_of=lambda one: one.dialogue)


def _question(dialogue: str, number: int, asked: dict[str, Any]) -> LocomoQuestion:
    category = int(asked["category"])
    answer = "" if category == ADVERSARIAL else str(asked["answer"])
    return LocomoQuestion(f"{dialogue}:{number}", dialogue, category, asked["question"].strip(), answer)
