"""LoCoMo end to end: a fixed sample of its questions answered over its dialogues, by the robot and in other ways.

A run may be stopped, or limited with --limit-minutes, and goes on where it was; what it reports are the questions that
every method was asked. The control loop may be tuned on the first five dialogues; the others are told by themselves.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Any

from pydantic import ValidationError

from models.errors import ModelError
from models.language_process import LanguageProcess
from models.manifest import Manifest
from offline_tools.bench import locomo_read
from offline_tools.bench.evidence_recall import load_models
from offline_tools.bench.kept_completions import KeptCompletions, tally
from offline_tools.bench.locomo_questions import LocomoQuestion, sampled
from offline_tools.bench.locomo_recall import CATEGORIES, TUNED_ON, read_dialogues
from offline_tools.bench.locomo_run import METHODS, Judged, Plan, ask_dialogue
from offline_tools.bench.report import BenchmarkError, commit, media, print_report
from runtime.compose import Parts, language_model
from runtime.config import Settings
from runtime.control_switches import ControlSwitches


def main(arguments: list[str]) -> int:
    """Print the table and the JSON line."""
    options = _options(arguments)
    samples = json.loads(media("benchmarks/locomo10.json").read_text(encoding="utf-8"))
    questions = sampled(samples, options.questions)
    dialogues = {dialogue.name: dialogue for dialogue in read_dialogues(samples)}
    switches = ControlSwitches(**dict.fromkeys(options.without, False))
    plan = Plan(options.methods, options.policy, switches)
    process = _language(options)
    try:
        language = KeptCompletions(process, 60.0 * options.limit_minutes)
        models = load_models()
        judged: list[Judged] = []
        for name in _in_halves([sample["sample_id"] for sample in samples]):
            asked = [question for question in questions if question.dialogue == name]
            done, whole = ask_dialogue(dialogues[name], asked, plan, models, language)
            judged += done
            if not whole:
                break
    except ModelError as error:
        raise BenchmarkError(str(error)) from error
    finally:
        process.close()
    completions = tally([language], publish=options.publish)
    _keep(judged, options.model, plan)
    tuned = {sample["sample_id"] for sample in samples[:TUNED_ON]}
    _report(judged, questions, tuned, plan, options, completions)
    return 0


def _language(options: argparse.Namespace) -> LanguageProcess:
    models = {
        "language": options.model,
        "context_tokens": options.context_tokens,
        "language_threads": options.threads,
    }
    try:
        process = language_model(Parts(Settings.model_validate({"models": models}), Manifest.load()))
    except ValidationError as error:
        wrong = error.errors()[0]
        raise BenchmarkError(f"{wrong['loc'][-1]} = {wrong['input']}: {wrong['msg']}") from error
    except ModelError as error:
        raise BenchmarkError(str(error)) from error
    if process is None:
        raise BenchmarkError("--model none: this benchmark needs a language model")
    return process


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench locomo_answers")
    parser.add_argument(
        "--model", default="qwen2.5-coder-1.5b", help="the language model, by the manifest's name"
    )
    parser.add_argument("--context-tokens", type=int, default=4096, help="its context, for every method")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of the model")
    parser.add_argument("--questions", type=int, default=200, help="how many are drawn")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["robot", "one shot", "dialogue"])
    parser.add_argument(
        "--policy", choices=("abstain", "best_effort"), default="abstain", help="of the robot"
    )
    parser.add_argument(
        "--without",
        nargs="+",
        choices=[*asdict(ControlSwitches())],
        default=[],
        help="parts of the robot's control loop to turn off",
    )
    parser.add_argument("--limit-minutes", type=float, default=float("inf"), help="then what is done is told")
    parser.add_argument("--publish", action="store_true", help="keep the completions in the repository")
    return parser.parse_args(arguments)


def _in_halves(names: Sequence[str]) -> list[str]:
    """The dialogues, one that may be tuned on and one that may not in turn, so that a stopped run knows of both."""
    return [name for pair in zip(names[:TUNED_ON], names[TUNED_ON:], strict=True) for name in pair]


def _keep(judged: Sequence[Judged], model: str, plan: Plan) -> None:
    """All answers of this run with their prompts, for people to read."""
    root = Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser() / "answers"
    root.mkdir(parents=True, exist_ok=True)
    rows = [
        {**asdict(one), "f1": one.f1, "model": model, "plan": asdict(plan), "commit": commit()}
        for one in judged
    ]
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    (root / f"locomo-{model}.jsonl").write_text("".join(lines), encoding="utf-8")


def _report(
    judged: Sequence[Judged],
    questions: Sequence[LocomoQuestion],
    tuned: set[str],
    plan: Plan,
    options: argparse.Namespace,
    completions: tuple[int, int],
) -> None:
    by_all = set.intersection(
        *({one.question.id for one in judged if one.method == name} for name in plan.methods)
    )
    shared = [one for one in judged if one.question.id in by_all]
    parts = {
        "other five": [one for one in shared if one.question.dialogue not in tuned],
        "tuned on": [one for one in shared if one.question.dialogue in tuned],
        "all": shared,
    }
    figures = {part: _figures(items, plan.methods) for part, items in parts.items() if items}
    rows = [("questions asked in every way, of those drawn", f"{len(by_all)} of {len(questions)}", "")]
    rows.append(("completions computed; kept from earlier runs", "{}; {}".format(*completions), ""))
    for part, by_category in figures.items():
        rows += [(f"{part}: {name}", _told(values), "") for name, values in by_category.items()]
    read = locomo_read.rows_of(parts["tuned on"], plan.methods)
    rows += [(f"tuned on, {name}: right as read by a person", told, "") for name, told in read.items()]
    for name in plan.methods if shared else ():
        rows.append(
            (f"{name}: what a question cost", _cost([one for one in shared if one.method == name]), "")
        )
    print_report(
        f"LoCoMo answers, {options.model}: token F1 of the answers in few words / right by the model judge, in %",
        rows,
        {
            "model": options.model,
            "context_tokens": options.context_tokens,
            "policy": plan.policy,
            "without": options.without,
            "computed": completions[0],
            "done": len(by_all),
            "drawn": len(questions),
            "figures": figures,
            "read": read,
        },
    )


Figures = dict[str, dict[str, dict[str, float]]]


def _figures(items: Sequence[Judged], methods: Sequence[str]) -> Figures:
    """By category and for all: the number of questions and, for each method, F1, right and abstained."""
    found: Figures = {}
    groups = {
        name: [one for one in items if one.question.category == key] for key, name in CATEGORIES.items()
    }
    groups["1 to 4"] = [one for one in items if one.question.category != 5]
    groups["1 to 5"] = list(items)
    for group, members in groups.items():
        if members:
            found[group] = {name: _means([one for one in members if one.method == name]) for name in methods}
    return found


def _means(items: Sequence[Judged]) -> dict[str, float]:
    return {
        "n": len(items),
        "f1": round(mean(one.f1 for one in items), 4),
        "right": round(mean(one.verdict.right for one in items), 4),
        "abstained": round(mean(one.answered.abstained for one in items), 4),
    }


def _told(values: dict[str, dict[str, float]]) -> str:
    told = [f"{name} {100 * one['f1']:.1f}/{100 * one['right']:.1f}" for name, one in values.items()]
    return f"n = {next(iter(values.values()))['n']}: " + "; ".join(told)


def _cost(items: Sequence[Judged]) -> str:
    costs: dict[str, Any] = {
        "calls": mean(one.answered.model_calls for one in items),
        "s of the model": mean(one.answered.model_s for one in items),
        "tokens read": mean(one.answered.prompt_tokens - one.answered.cached_tokens for one in items),
        "written": mean(one.answered.generated_tokens for one in items),
    }
    return ", ".join(f"{value:.1f} {name}" for name, value in costs.items())
