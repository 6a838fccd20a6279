"""Tries a judge on answers whose verdict people do not doubt: how often it is right, by what makes them hard."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from models.language import LanguageModel
from offline_tools.bench.answer_methods import Answered
from offline_tools.chosen_model import CHOICES
from offline_tools.evaluate.answers import Given
from offline_tools.evaluate.chosen_models import Chosen, chosen, opened
from offline_tools.evaluate.errors import EvaluateError
from offline_tools.evaluate.judge import Judge
from offline_tools.evaluate.questions import Question
from offline_tools.evaluate.report import print_table
from runtime.compose import NO_LANGUAGE_MODEL

CASES = Path(__file__).with_name("judge_cases.yaml")
Opener = Callable[[Chosen], AbstractContextManager[LanguageModel | None]]


@dataclass(frozen=True)
class Tried:
    """A case: the verdict that it must get, and the one it got, None where it got none."""

    question: Question
    given: Given
    wanted: bool
    right: bool | None


def cases() -> list[tuple[Question, Given, bool]]:
    """Each case as a question with its kind, an answer, and the verdict it must get."""
    told: dict[str, list[Any]] = yaml.safe_load(CASES.read_text(encoding="utf-8"))
    found = []
    for kind, rows in told.items():
        for number, (text, truth, answer, right) in enumerate(rows):
            id = f"{kind} {number}"
            given = Given(id, Answered(answer, False), None, None, None, None, "", "", "", "")
            found.append((Question(id, kind, text, truth, (kind,)), given, bool(right)))
    return found


def main(arguments: Sequence[str], opener: Opener | None = None) -> int:
    """Print the table and one JSON line; 0: all was judged, 3: some was not. Raises EvaluateError."""
    options = _options(arguments)
    model = chosen(options.judge, options.context_tokens)
    if model.choice == NO_LANGUAGE_MODEL:
        raise EvaluateError("--judge none: there is no judge to try")
    open_it = opener or (lambda one: opened(one, options.context_tokens, options.threads, float("inf")))
    with open_it(model) as language:
        judge = Judge(
            language,
            model.about,
            code_first=options.code_first,
            timeout_s=options.timeout_s,
            holds_grammar=model.holds_grammar,
        )
        tried = [Tried(*case, judge.ruling(case[0], case[1]).right) for case in cases()]
    judged = [one for one in tried if one.right is not None]
    columns = ("what is hard", "cases", "right", "taken for right", "taken for wrong")
    print_table(f"judge {model.name}", columns, _rows(judged))
    for one in judged:
        if one.right != one.wanted:
            said = "yes" if one.right else "no"
            print(f"  {said} to: {one.question.text} {one.question.answer!r}: {one.given.text}")
    right = sum(one.right == one.wanted for one in judged)
    told = {"trial": judge.name, "cases": len(judged), "right": right, "not_judged": len(tried) - len(judged)}
    print(json.dumps(told))
    return 0 if len(judged) == len(tried) else 3


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m offline_tools.evaluate trial")
    parser.add_argument("--judge", required=True, metavar="MODEL", help=CHOICES)
    parser.add_argument("--code-first", action="store_true", help="do not ask where words settle it already")
    parser.add_argument("--context-tokens", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout-s", type=float, default=300.0, help="for one answer")
    return parser.parse_args(arguments)


def _rows(judged: Sequence[Tried]) -> list[tuple[str, ...]]:
    parts: dict[str, list[Tried]] = {}
    for one in judged:
        parts.setdefault(one.question.types[0], []).append(one)
    return [
        (
            kind,
            str(len(part)),
            str(sum(one.right == one.wanted for one in part)),
            str(sum(one.right is True and not one.wanted for one in part)),
            str(sum(one.right is False and one.wanted for one in part)),
        )
        for kind, part in {**parts, "all": list(judged)}.items()
    ]
