"""The household: four composed days replayed by the robot, then questions about them, answered in three ways.

The scenes (household_script.yaml) are photographs of people with synthesized voices, between recordings of real sound;
the robot perceives and remembers them as it does any recording. Its answers are compared with one-shot retrieval and
with the loop of M3-Agent, over the same memory with the same language model. What the model
wrote is kept in the cache, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from models.errors import ModelError
from models.manifest import Manifest
from offline_tools.bench.household_memory import cache, household_memory
from offline_tools.bench.household_questions import HouseholdQuestion, load_questions
from offline_tools.bench.household_run import METHODS, Asking, Given, ask_all, judge_all, lines_tied
from offline_tools.bench.household_script import load_script
from offline_tools.bench.household_tables import SPLITS, figures_of, rows_of
from offline_tools.bench.kept_completions import KeptCompletions, tally
from offline_tools.bench.report import BenchmarkError, print_report
from runtime import compose
from runtime.compose import Parts
from runtime.config import Settings

JUDGE = "qwen2.5-coder-1.5b"


def main(arguments: list[str]) -> int:
    """Replay what is not replayed, ask and judge what is not answered and judged, and print the table."""
    options, started = _options(arguments), time.monotonic()
    script = load_script()
    questions = load_questions(script)
    chosen = [one for one in _mixed(questions.questions) if _is_chosen(one, options.split)]
    memory = household_memory(script, Parts(Settings(), Manifest.load()), keep=options.keep_memory)
    limit_s = 60.0 * options.limit_minutes
    asked_utc_s = questions.asked_utc_s(script.timezone)
    with _language(options.model, limit_s) as language:
        asking = Asking(memory, language, asked_utc_s)
        given = {method: ask_all(asking, method, chosen) for method in options.methods}
        tied, said = lines_tied(asking, script)
        used = [language]
    left_s = limit_s - (time.monotonic() - started)
    with _language(JUDGE, left_s) as judge:
        given = {method: judge_all(answers, judge) for method, answers in given.items() if judge}
        used.append(judge)
    computed, kept = tally(used, publish=options.publish)
    _keep(given, options.model)
    by_all = min(len(answers) for answers in given.values())
    figures = {method: figures_of(answers[:by_all]) for method, answers in given.items()}
    rows = [
        ("lines said in view that are tied to who said them", f"{tied} of {said}", ""),
        ("questions asked in every way", f"{by_all} of {len(chosen)}", ""),
    ]
    rows.append(("completions computed; kept from earlier runs", f"{computed}; {kept}", ""))
    rows += [row for method, told in figures.items() for row in rows_of(method, told)]
    about = {
        "model": options.model,
        "judge": JUDGE,
        "memory": memory.key,
        "done": by_all,
        "lines_tied": tied,
        "computed": computed,
    }
    print_report(f"household, {options.model}", rows, {**about, **figures})
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m offline_tools.bench household")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument(
        "--model",
        default=Manifest.load().default("language").id,
        help="the language model that answers; none: the robot answers without one",
    )
    parser.add_argument("--split", choices=("all", *SPLITS), default="all", help="one part of the questions")
    parser.add_argument("--limit-minutes", type=float, default=1e6, help="stop asking after so long")
    parser.add_argument(
        "--keep-memory", action="store_true", help="ask the memory replayed last, though the code has changed"
    )
    parser.add_argument("--publish", action="store_true", help="keep the completions in the repository")
    options = parser.parse_args(arguments)
    if options.model == "none":
        options.methods = ["robot"]
    return options


def _is_chosen(question: HouseholdQuestion, split: str) -> bool:
    """Whether a question is of the chosen part; all are the two halves, without what was only practised on."""
    return question.split == split or (split == "all" and question.split != "practice")


def _mixed(questions: Sequence[HouseholdQuestion]) -> list[HouseholdQuestion]:
    """In an order of chance, the same each time, so that a run that is cut short has asked some of each type."""
    return sorted(questions, key=lambda one: hashlib.sha256(one.id.encode()).digest())


@contextmanager
def _language(model: str, limit_s: float) -> Iterator[KeptCompletions | None]:
    """The model of that name, with its completions kept; None for "none"."""
    settings = Settings()
    models = settings.models.model_copy(update={"language": model})
    parts = Parts(settings.model_copy(update={"models": models}), Manifest.load())
    process = compose.language_model(parts)
    try:
        yield None if process is None else KeptCompletions(process, limit_s)
    except ModelError as error:
        raise BenchmarkError(str(error)) from error
    finally:
        if process is not None:
            process.close()


def _keep(given: Mapping[str, Sequence[Given]], model: str) -> None:
    """All answers of this run, for people to read."""
    path = cache() / f"answers-{model}.jsonl"
    rows = [
        {"method": method, "exact": one.exact, **asdict(one)}
        for method, answers in given.items()
        for one in answers
    ]
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8")
