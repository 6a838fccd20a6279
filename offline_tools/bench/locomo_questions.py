"""A fixed sample of LoCoMo's questions with their answers, the same share of each category, over all ten dialogues."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from offline_tools.bench.judging import ADVERSARIAL

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
    by_category: dict[int, dict[str, list[LocomoQuestion]]] = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        for number, asked in enumerate(sample["qa"]):
            question = _question(sample["sample_id"], number, asked)
            by_category[question.category][question.dialogue].append(question)
    sizes = {name: sum(map(len, groups.values())) for name, groups in by_category.items()}
    drawn = random.Random(SEED)
    chosen = [
        question
        for name, share in sorted(_shares(sizes, count).items())
        for question in _in_turn(by_category[name], share, drawn)
    ]
    order = {sample["sample_id"]: place for place, sample in enumerate(samples)}
    return sorted(chosen, key=lambda one: (order[one.dialogue], int(one.id.rpartition(":")[2])))


def _question(dialogue: str, number: int, asked: dict[str, Any]) -> LocomoQuestion:
    category = int(asked["category"])
    answer = "" if category == ADVERSARIAL else str(asked["answer"])
    return LocomoQuestion(f"{dialogue}:{number}", dialogue, category, asked["question"].strip(), answer)


def _shares(sizes: dict[int, int], count: int) -> dict[int, int]:
    """`count` divided in proportion to the sizes; what is left over goes to the largest remainders."""
    whole = sum(sizes.values())
    exact = {name: min(count, whole) * size / whole for name, size in sizes.items()}
    shares = {name: int(value) for name, value in exact.items()}
    left = min(count, whole) - sum(shares.values())
    for name in sorted(exact, key=lambda name: (shares[name] - exact[name], name))[:left]:
        shares[name] += 1
    return shares


def _in_turn(
    groups: dict[str, list[LocomoQuestion]], count: int, drawn: random.Random
) -> list[LocomoQuestion]:
    """Questions drawn from the dialogues one after the other, beginning with any."""
    names = sorted(groups)
    drawn.shuffle(names)
    queues = [drawn.sample(groups[name], len(groups[name])) for name in names]
    rounds = max(map(len, queues))
    return [queue[turn] for turn in range(rounds) for queue in queues if turn < len(queue)][:count]
