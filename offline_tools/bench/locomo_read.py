"""What a person found of answers to LoCoMo's questions: whether each says what the truth says.

They were read in an order of chance, without the names of the methods (a quotation tells the robot's all the same). Of
a truth that is a list, half is enough; of a date the month, where the truth tells no more. locomo_read.yaml holds keys
of question and answer, and no words of the dialogues. Only dialogues that rules may be made on were read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import yaml

from offline_tools.bench.judging import ADVERSARIAL
from offline_tools.bench.locomo_run import Judged

PATH = Path(__file__).with_name("locomo_read.yaml")
_KEY_LENGTH = 12


def key_of(question_id: str, answer: str) -> str:
    """Under which a verdict stands."""
    return f"{question_id} {hashlib.sha256(answer.encode()).hexdigest()[:_KEY_LENGTH]}"


@cache
def verdicts() -> dict[str, bool]:
    """All verdicts by key."""
    found: dict[str, bool] = yaml.safe_load(PATH.read_text(encoding="utf-8"))
    return found


def rows_of(judged: Sequence[Judged], methods: Sequence[str]) -> dict[str, str]:
    """For each method what a person found right of the questions with an answer, and how often the judge agrees.

    judged: of dialogues that were read. An abstention is wrong unread.
    """
    asked = [one for one in judged if one.question.category != ADVERSARIAL]
    return (
        {method: _told([one for one in asked if one.method == method]) for method in methods} if asked else {}
    )


def _told(asked: Sequence[Judged]) -> str:
    given = [one for one in asked if not one.answered.abstained]
    read = [(one, verdicts().get(key_of(one.question.id, one.answered.text))) for one in given]
    known = [(one.verdict.right, right) for one, right in read if right is not None]
    agreed = sum(judge == person for judge, person in known)
    unread = f", {len(given) - len(known)} unread" if len(known) < len(given) else ""
    return f"{sum(person for _, person in known)} of {len(asked)}{unread}; judge agrees on {agreed} of {len(known)}"
