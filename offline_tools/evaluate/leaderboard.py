"""The leaderboard: a line for each complete run, told as one table for each sample and judge, which are never mixed."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offline_tools.evaluate.errors import EvaluateError
from offline_tools.evaluate.lines_file import LinesFile, read_lines
from offline_tools.evaluate.report import print_table, told

FILE = Path(__file__).with_name("leaderboard.jsonl")


@dataclass(frozen=True)
class Standing:
    """One run on the leaderboard. run: its key; sample: what was asked; judge: by whom it was judged.

    figures: as in results.json. asked_utc: the day.
    """

    dataset: str
    sample: dict[str, Any]
    judge: dict[str, Any]
    run: str
    title: str
    model: dict[str, Any]
    variant: dict[str, Any]
    figures: dict[str, Any]
    commit: str
    asked_utc: str

    @property
    def column(self) -> str:
        """Runs of the same column may be compared."""
        return json.dumps([self.dataset, self.sample, self.judge], sort_keys=True, ensure_ascii=False)


def enter(path: Path, standings: Sequence[Standing]) -> None:
    """Add runs; one that stands there already is replaced by what comes later. Raises EvaluateError."""
    with LinesFile(path, Standing) as file:
        for standing in standings:
            if standing not in file.records:
                file.append(standing)


def main(arguments: Sequence[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.evaluate leaderboard")
    parser.add_argument(
        "file", nargs="?", type=Path, default=FILE, help="the file; default: the project's own"
    )
    parser.add_argument("--dataset", help="of this one alone")
    parser.add_argument(
        "--one-table",
        action="store_true",
        help="refuse where runs of different samples or judges would be mixed",
    )
    options = parser.parse_args(arguments)
    if not options.file.is_file():
        raise EvaluateError(f"there is no leaderboard {options.file} yet: evaluate with --leaderboard")
    read = read_lines(options.file, Standing)
    standings = [one for one in read if options.dataset in (None, one.dataset)]
    columns = columns_of(standings)
    if not columns:
        raise EvaluateError(
            f"{options.file} holds no run{f' of {options.dataset}' if options.dataset else ''}"
        )
    if options.one_table and len(columns) > 1:
        raise EvaluateError(
            f"{len(standings)} runs are of {len(columns)} different samples or judges, and cannot stand in one table:\n"
            + "\n".join(f"  {_heading(members[0])}" for members in columns)
        )
    for members in columns:
        print_table(
            _heading(members[0]), ("run", "model", "right, %", "F1, %", "found, %", "by type"), _rows(members)
        )
    return 0


def columns_of(standings: Sequence[Standing]) -> list[list[Standing]]:
    """The latest standing of each run, those that may be compared together, best first."""
    latest = {(one.column, one.run): one for one in standings}
    columns: dict[str, list[Standing]] = defaultdict(list)
    for one in latest.values():
        columns[one.column].append(one)
    ordered = sorted(columns.values(), key=lambda members: _heading(members[0]))
    return [sorted(members, key=lambda one: (-_mean(one.figures["right"]), one.title)) for members in ordered]


def _rows(members: Sequence[Standing]) -> list[tuple[str, ...]]:
    return [
        (
            one.title,
            str(one.model["name"]),
            told(one.figures["right"]),
            told(one.figures["f1"]),
            told(one.figures["recall"]["found"]),
            ", ".join(
                f"{name} {100 * _mean(part['right']):.0f}" for name, part in one.figures["by_type"].items()
            ),
        )
        for one in members
    ]


def _heading(one: Standing) -> str:
    sample = one.sample
    drawn = f", drawn by seed {', '.join(map(str, sample['seeds']))}" if sample["seeds"] else ""
    return (
        f"{one.dataset}, {sample['questions']} questions{drawn} (sample {sample['questions_sha256'][:8]}), "
        f"judged by {one.judge['name']}"
    )


def _mean(found: Mapping[str, float] | None) -> float:
    return 0.0 if found is None else found["mean"]
