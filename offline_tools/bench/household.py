"""The household: four composed days replayed by the robot, then questions about them, answered in three ways.

The scenes (household_script.yaml) are photographs of people with synthesized voices, between recordings of real sound;
the robot perceives and remembers them as it does any recording. Its answers are compared with one-shot retrieval and
with the loop of M3-Agent, over the same memory with the same language model. What was answered is kept in the cache
and not asked again by the same code, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Sequence

from models.language_process import LanguageProcess
from models.manifest import Manifest
from offline_tools.bench.household_memory import CODE, HouseholdMemory, cache, code_key, household_memory
from offline_tools.bench.household_questions import HouseholdQuestion, load_questions
from offline_tools.bench.household_records import Judged, Record, Records, judge_all
from offline_tools.bench.household_run import METHODS, Asking, ask_all
from offline_tools.bench.household_script import load_script
from offline_tools.bench.household_tables import SPLITS, Given, figures_of, rows_of
from offline_tools.bench.report import BenchmarkError, print_report
from runtime import compose
from runtime.compose import Parts
from runtime.config import Settings

JUDGE = "qwen2.5-coder-1.5b"
_BENCH = tuple(
    f"offline_tools/bench/{name}"
    for name in ("answer_methods.py", "answer_prompts.yaml", "reference_loop.py")
)
_OTHERS = ("memory_store", "models", "runtime/judge.py", "runtime/say.py", "runtime/grounding.py")


def main(arguments: list[str]) -> int:
    """Replay what is not replayed, ask and judge what is not answered and judged, and print the table."""
    options = _options(arguments)
    script = load_script()
    questions = load_questions(script)
    chosen = [one for one in _mixed(questions.questions) if options.split in ("all", one.split)]
    parts = _parts(options.model)
    memory = household_memory(script, parts, keep=options.keep_memory)
    ends_at = time.monotonic() + 60.0 * options.limit_minutes
    methods = options.methods.split(",")
    answers = {method: _answers(memory, method, options.model) for method in methods}
    language = _language(parts)
    try:
        asking = Asking(memory, language, questions.asked_utc_s(script.timezone))
        for method in methods:
            ask_all(asking, method, chosen, answers[method], ends_at)
    finally:
        language.close()
    judged = {method: _verdicts(memory, method, options.model) for method in methods}
    judge = _language(_parts(JUDGE))
    try:
        for method in methods:
            judge_all(chosen, answers[method], judged[method], judge, ends_at)
    finally:
        judge.close()
    given = {method: _given(chosen, answers[method], judged[method]) for method in methods}
    figures = {method: figures_of(part) for method, part in given.items() if part}
    rows = [row for method, told in figures.items() for row in rows_of(method, told)]
    about = {"model": options.model, "judge": JUDGE, "memory": memory.key}
    print_report(f"household, {options.model}", rows, {**about, **figures})
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m offline_tools.bench household")
    parser.add_argument("--methods", default=",".join(METHODS), help="which of robot, one_shot, reference")
    parser.add_argument("--model", default=Settings().models.language, help="the language model that answers")
    parser.add_argument("--split", choices=("all", *SPLITS), default="all", help="one half of the questions")
    parser.add_argument("--limit-minutes", type=float, default=1e6, help="stop asking after so long")
    parser.add_argument(
        "--keep-memory", action="store_true", help="ask the memory replayed last, though the code has changed"
    )
    options = parser.parse_args(arguments)
    unknown = set(options.methods.split(",")) - set(METHODS)
    if unknown:
        parser.error(f"--methods: {', '.join(sorted(unknown))}: choose from {', '.join(METHODS)}")
    return options


def _mixed(questions: Sequence[HouseholdQuestion]) -> list[HouseholdQuestion]:
    """In an order of chance, the same each time, so that a run that is cut short has asked some of each type."""
    return sorted(questions, key=lambda one: hashlib.sha256(one.id.encode()).digest())


def _parts(model: str) -> Parts:
    settings = Settings()
    models = settings.models.model_copy(update={"language": model})
    return Parts(settings.model_copy(update={"models": models}), Manifest.load())


def _language(parts: Parts) -> LanguageProcess:
    language = compose.language_model(parts)
    if language is None:
        raise BenchmarkError("the benchmark needs a language model: --model qwen2.5-coder-0.5b")
    return language


def _answers(memory: HouseholdMemory, method: str, model: str) -> Records[Record]:
    """What was answered over this memory by this code; the other methods use little of the robot's."""
    key = code_key((*(CODE if method == "robot" else _OTHERS), *_BENCH))
    return Records(cache() / "answers" / memory.directory.name / f"{method}-{model}-{key}.jsonl", Record)


def _verdicts(memory: HouseholdMemory, method: str, model: str) -> Records[Judged]:
    return Records(cache() / "answers" / memory.directory.name / f"{method}-{model}-judged.jsonl", Judged)


def _given(
    questions: Sequence[HouseholdQuestion], answers: Records[Record], judged: Records[Judged]
) -> list[Given]:
    given = []
    for question in questions:
        record, verdict = answers.done.get(question.id), judged.done.get(question.id)
        if record is not None:
            known = verdict is not None and verdict.text == record.text
            given.append(Given(question, record, verdict.right if verdict is not None and known else None))
    return given
