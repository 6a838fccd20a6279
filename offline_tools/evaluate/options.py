"""The command line of an evaluation."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from offline_tools.chosen_model import CHOICES
from offline_tools.evaluate.asking import METHODS
from offline_tools.evaluate.datasets import DATASETS
from offline_tools.evaluate.leaderboard import FILE
from runtime.config import Settings
from runtime.control_switches import ControlSwitches

SWITCHES = tuple(asdict(ControlSwitches()))
SEED = 7


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of `python -m offline_tools.evaluate DATASET`."""
    parser = argparse.ArgumentParser(
        prog="python -m offline_tools.evaluate",
        description="Asks a benchmark's questions, has the answers judged and compares ways to answer. A run that was "
        "stopped goes on when the same command is given again; "
        "Instead of a data set: leaderboard prints what was entered with --leaderboard; agreement RUN compares judges; "
        "label RUN lets a person judge; trial --judge MODEL tries a judge on cases of which nobody doubts.",
    )
    parser.add_argument("dataset", choices=tuple(DATASETS))
    parser.add_argument(
        "--file", type=Path, help="its annotations; default: those of the shared media folder"
    )
    _add_models(parser)
    _add_sample(parser)
    _add_variants(parser)
    parser.add_argument(
        "--memories", type=Path, metavar="DIR", help="a folder of memories, named by video id"
    )
    parser.add_argument(
        "--videos", type=Path, metavar="DIR", help="videos of which memories may be made there"
    )
    parser.add_argument("--no-facts", action="store_true", help="read no facts from dialogues' talk")
    parser.add_argument(
        "--out", type=Path, default=_runs(), metavar="DIR", help="where runs are kept (%(default)s)"
    )
    parser.add_argument(
        "--leaderboard", type=Path, nargs="?", const=FILE, metavar="FILE", help="enter complete runs there"
    )
    parser.add_argument(
        "--limit-minutes", type=_duration, default=float("inf"), help="then what is done is told"
    )
    parser.add_argument("--quiet", action="store_true", help="no line of progress for each question")
    return parser.parse_args(arguments)


def _add_models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", default=Settings().models.language, metavar="MODEL", help=f"that answers: none, {CHOICES}"
    )
    parser.add_argument(
        "--control-model", nargs="+", default=[], metavar="MODEL", help="others to compare with it"
    )
    parser.add_argument(
        "--judge", default="none", metavar="MODEL", help="that judges; none: by words and rules alone"
    )
    parser.add_argument(
        "--judge-everything", action="store_true", help="ask the judge also where words settle it already"
    )
    parser.add_argument(
        "--judge-attempts", type=_positive, default=3, help="tries for one answer (%(default)s)"
    )
    parser.add_argument("--judge-timeout-s", type=_duration, default=300.0, help="for one try (%(default)s)")
    parser.add_argument(
        "--parallel", type=_positive, default=1, metavar="N", help="calls at once of a model at an address"
    )
    parser.add_argument(
        "--context-tokens", type=_positive, default=4096, help="of local models (%(default)s)"
    )
    parser.add_argument("--threads", type=_positive, default=2, help="of local models (%(default)s)")


def _add_sample(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--questions", type=_positive, metavar="N", help="draw so many; default: all")
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[SEED], help="one draw of N for each, all asked (%(default)s)"
    )


def _add_variants(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["robot"])
    parser.add_argument(
        "--policy",
        nargs="+",
        choices=("abstain", "best_effort"),
        default=["abstain"],
        help="of the robot: strict, or guessing; both may be given",
    )
    parser.add_argument(
        "--ablate",
        type=_switches,
        default=(),
        metavar="LIST",
        help=f"parts of the robot's loop to turn off, one after the other: {','.join(SWITCHES)}",
    )


def _switches(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in SWITCHES]
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"{', '.join(unknown) or repr(text)}: give some of {', '.join(SWITCHES)}"
        )
    return names


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: give at least 1")
    return value


def _duration(text: str) -> float:
    value = float(text)
    if not value >= 0.0:
        raise argparse.ArgumentTypeError(f"{text}: give a number from 0 on")
    return value


def _runs() -> Path:
    return Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser() / "evaluations"
