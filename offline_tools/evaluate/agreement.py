"""How far judges agree, and what a person says of the same answers: whether a small local judge can be trusted.

`label` shows cases that a model judged, drawn at random and without its verdict, and keeps what is typed as the verdict
of a judge of that name; `agreement` compares all judges of a run, two at a time.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

from offline_tools.evaluate.answers import Verdict
from offline_tools.evaluate.errors import EvaluateError
from offline_tools.evaluate.lines_file import LinesFile, read_lines
from offline_tools.evaluate.report import print_table

SEED = 7
_TYPED = {"y": True, "n": False}


def agreement(arguments: Sequence[str]) -> int:
    """Print a table of the runs' judges; 0. Raises EvaluateError."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.evaluate agreement")
    parser.add_argument("run", type=Path, nargs="+", help="folders of runs")
    options = parser.parse_args(arguments)
    verdicts: dict[str, dict[tuple[str, str], bool]] = {}
    for run in options.run:
        for one in _verdicts(run):
            if one.right is not None and one.by == "model":
                verdicts.setdefault(one.judge, {})[f"{run}:{one.id}", one.digest] = one.right
    if len(verdicts) < 2:
        raise EvaluateError(
            f"{len(verdicts)} judge has asked a model here: judge the run with another, or label it"
        )
    rows = [
        (one, other, *_compared(verdicts[one], verdicts[other]))
        for one, other in combinations(sorted(verdicts), 2)
    ]
    print_table(
        "judges",
        ("one", "the other", "answers", "both say the same, %", "kappa", "only the one says yes"),
        rows,
    )
    return 0


def label(arguments: Sequence[str], ask: Callable[[str], str] = input) -> int:
    """Let a person judge; 0. ask: shows a text and gives back what was typed. Raises EvaluateError."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.evaluate label")
    parser.add_argument("run", type=Path, help="the folder of a run")
    parser.add_argument("--count", type=int, default=30, help="how many answers (%(default)s)")
    parser.add_argument("--name", default="human", help="as what the verdicts are kept (%(default)s)")
    options = parser.parse_args(arguments)
    _verdicts(options.run)
    with LinesFile(options.run / "verdicts.jsonl", Verdict) as file:
        known = {(one.id, one.digest) for one in file.records if one.judge == options.name}
        cases = {
            (one.id, one.digest): one
            for one in file.records
            if one.by == "model" and one.judge != options.name
        }
        drawn = random.Random(SEED).sample(sorted(cases), len(cases))[: options.count]
        left = [cases[key] for key in drawn if key not in known]
        for number, case in enumerate(left, 1):
            shown = case.prompt.rpartition("\nuser: ")[2]
            try:
                typed = _typed(ask, f"\n{number} of {len(left)}\n{shown}\nRight? y, n, s to skip, q to end: ")
            except EOFError:
                break
            if typed == "q":
                break
            if typed in _TYPED:
                file.append(
                    Verdict(
                        case.id, options.name, case.digest, _TYPED[typed], "model", case.prompt, typed, "", 1
                    )
                )
    return 0


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of two judges' verdicts; None where chance alone makes them agree (both always say one thing)."""
    count = len(pairs)
    if not count:
        return None
    same = sum(one == other for one, other in pairs) / count
    yes, also = (sum(pair[place] for pair in pairs) / count for place in (0, 1))
    by_chance = yes * also + (1 - yes) * (1 - also)
    return None if by_chance == 1.0 else (same - by_chance) / (1 - by_chance)


def _typed(ask: Callable[[str], str], text: str) -> str:
    while True:
        typed = ask(text).strip().lower()[:1]
        if typed in ("y", "n", "s", "q"):
            return typed


def _compared(
    one: dict[tuple[str, str], bool], other: dict[tuple[str, str], bool]
) -> tuple[str, str, str, str]:
    pairs = [(one[key], other[key]) for key in one if key in other]
    if not pairs:
        return "0", "–", "–", "–"
    same = sum(first == second for first, second in pairs)
    found = kappa(pairs)
    lenient = sum(first and not second for first, second in pairs)
    told = "–" if found is None else f"{found:.2f}"
    return (
        str(len(pairs)),
        f"{100 * same / len(pairs):.0f}",
        told,
        f"{lenient} of {len(pairs) - same} that differ",
    )


def _verdicts(run: Path) -> list[Verdict]:
    if not (run / "verdicts.jsonl").is_file():
        raise EvaluateError(f"{run} is no folder of a run that was judged: there is no verdicts.jsonl in it")
    return read_lines(run / "verdicts.jsonl", Verdict)
