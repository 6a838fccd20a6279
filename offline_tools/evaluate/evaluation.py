"""One evaluation from its options: which runs there are, asking and judging them, and telling what came of it."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from models.language import LanguageModel
from offline_tools.evaluate import leaderboard
from offline_tools.evaluate.asking import Asking
from offline_tools.evaluate.chosen_models import Chosen, chosen
from offline_tools.evaluate.compare import compared, rows_of
from offline_tools.evaluate.datasets import read_dataset
from offline_tools.evaluate.judge import Judge
from offline_tools.evaluate.leaderboard import Standing
from offline_tools.evaluate.lines_file import write_json
from offline_tools.evaluate.memories import Memories, TextModel
from offline_tools.evaluate.pace import Pace
from offline_tools.evaluate.plans import plans_of, samples_of
from offline_tools.evaluate.report import print_run, print_table
from offline_tools.evaluate.runs import Run
from offline_tools.evaluate.scoring import Scored, figures_of

Opener = Callable[[Chosen, float], AbstractContextManager[LanguageModel | None]]


@dataclass(frozen=True)
class Tools:
    """What an evaluation works with.

    text: loads the text model; opened: opens a language model for so many seconds; clock: now, UTC seconds.
    """

    text: Callable[[], TextModel]
    opened: Opener
    commit: str
    clock: Callable[[], float] = time.time


def evaluate(options: argparse.Namespace, tools: Tools) -> int:
    """Ask, judge and tell; 0 when every question of every run is answered and judged, else 3. Raises EvaluateError."""
    dataset = read_dataset(options.dataset, options.file)
    samples = samples_of(dataset, options)
    judge_model = chosen(options.judge, options.context_tokens)
    text = tools.text()
    planned = plans_of(options, dataset, samples, text)
    memories = Memories(text, dataset.dialogues, folder=options.memories, videos=options.videos)
    until_s, runs = time.monotonic() + 60.0 * options.limit_minutes, list[Run]()
    for model, plans in planned:
        with tools.opened(model, until_s - time.monotonic()) as language:
            for plan in plans:
                runs.append(Run(plan, options.out))
                asking = Asking(plan.variant, text, language, dataset.f1 is not None, tools.commit)
                runs[-1].answer(asking, memories, _pace(options, model, until_s))
    with tools.opened(judge_model, until_s - time.monotonic()) as language:
        judge = Judge(
            language,
            judge_model.about,
            code_first=not options.judge_everything,
            attempts=options.judge_attempts,
            timeout_s=options.judge_timeout_s,
            holds_grammar=judge_model.holds_grammar,
        )
        for run in runs:
            run.judge(judge, _pace(options, judge_model, until_s))
    return _tell(options, runs, judge, samples, tools)


def _pace(options: argparse.Namespace, model: Chosen, until_s: float) -> Pace:
    at_once = options.parallel if model.is_endpoint else 1
    return Pace(until_s, at_once, (lambda line: None) if options.quiet else _progress)


def _tell(
    options: argparse.Namespace,
    runs: Sequence[Run],
    judge: Judge,
    samples: dict[int, frozenset[str]],
    tools: Tools,
) -> int:
    items = {run.plan.title: run.scored(judge) for run in runs}
    whole = [_tell_one(run, items[run.plan.title], judge, samples, options, tools) for run in runs]
    if len(runs) > 1:
        print_table(
            f"{options.dataset}: differences to {runs[0].plan.title}, in points, paired",
            ("run", "judged", "right, %", "right", "F1", "found"),
            rows_of(items),
        )
        _warn_of_nothing_to_remove(items.values(), options.ablate)
    told = {
        "evaluation": options.dataset,
        "complete": all(whole),
        "judge": judge.name,
        "runs": {run.plan.title: str(run.directory) for run in runs},
        "differences": compared(items) if len(runs) > 1 else {},
        "commit": tools.commit,
    }
    print(json.dumps(told, ensure_ascii=False))
    return 0 if all(whole) else 3


def _tell_one(
    run: Run,
    items: Sequence[Scored],
    judge: Judge,
    samples: dict[int, frozenset[str]],
    options: argparse.Namespace,
    tools: Tools,
) -> bool:
    """Print and keep the figures of a run, and enter it into the leaderboard; whether it is complete."""
    figures = figures_of(items, samples)
    results = {
        "title": run.plan.title,
        **run.plan.identity,
        "judge": judge.about,
        "judge_prompt": judge.prompt,
        "not_asked": run.missing,
        "stopped": run.stopped,
        "figures": figures,
    }
    write_json(run.directory / "results.json", results)
    print_run(run, figures)
    whole = _is_whole(run, figures)
    if options.leaderboard is not None:
        if whole:
            leaderboard.enter(options.leaderboard, [_standing(run, judge, figures, tools.clock())])
        else:
            print("  not entered into the leaderboard: it is not complete")
    return whole


def _is_whole(run: Run, figures: dict[str, Any]) -> bool:
    answered = figures["answered"] == len(run.plan.questions)
    return answered and not figures["not_judged"] and not figures["failed"]


def _standing(run: Run, judge: Judge, figures: dict[str, Any], now_utc_s: float) -> Standing:
    identity = run.plan.identity
    sample = ("questions", "questions_sha256", "dataset_sha256", "seeds")
    return Standing(
        dataset=run.plan.dataset.name,
        sample={name: identity[name] for name in sample},
        judge=judge.about,
        run=run.plan.key,
        title=run.plan.title,
        model=dict(run.plan.model),
        variant=asdict(run.plan.variant),
        figures=figures,
        commit=", ".join(figures["commits"]),
        asked_utc=datetime.fromtimestamp(now_utc_s, UTC).date().isoformat(),
    )


def _warn_of_nothing_to_remove(runs: Iterable[Sequence[Scored]], ablated: Sequence[str]) -> None:
    told = [one.given.removable for items in runs for one in items]
    for name in ablated:
        if told and all(counts.get(name) == 0 for counts in told):
            print(f"  without {name}: the memories hold nothing of it, so that nothing was taken away")


def _progress(line: str) -> None:
    print(line, flush=True)
