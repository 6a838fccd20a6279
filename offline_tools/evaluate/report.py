"""Tables of an evaluation: what each run is worth, by type and by sample, and what was not asked or not judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from offline_tools.evaluate.runs import Run

WIDTH = 140
_NAMED = 8


def print_run(run: Run, figures: Mapping[str, Any]) -> None:
    """The table of one run."""
    title = f"{run.plan.dataset.name}: {run.plan.title}"
    table = _table(title, ("what", "questions", "right, %", "not judged"))
    for name, part in _parts(figures):
        table.add_row(name, str(part["answered"]), told(part["right"]), str(part["not_judged"] or ""))
    Console(width=WIDTH).print(table)
    for line in notes_of(run, figures):
        print(f"  {line}")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Any table."""
    table = _table(title, columns)
    for row in rows:
        table.add_row(*row)
    Console(width=WIDTH).print(table)


def told(found: Mapping[str, float] | None) -> str:
    """A mean with its interval, in per cent."""
    if found is None:
        return "–"
    return f"{100 * found['mean']:.1f} [{100 * found['low']:.1f}, {100 * found['high']:.1f}]"


def notes_of(run: Run, figures: Mapping[str, Any]) -> list[str]:
    """What a reader of the table must know besides."""
    plan = run.plan
    answered = run.answers()
    lost = [one for one in plan.questions if one.memory in run.missing and one.id not in answered]
    open_ = len(plan.questions) - len(lost) - figures["answered"]
    lines = [f"right within [95 %]: {figures['interval']}"]
    if figures["f1"]:
        lines.append(f"token F1: {told(figures['f1'])}")
    if figures["marks"]:
        lines.append(f"marks from 1 to 5, as shares from 0 to 100 (LLM-Match): {told(figures['marks'])}")
    for name, what in (("found", "found for the question"), ("cited", "under the answer")):
        if figures["recall"][name]:
            lines.append(f"evidence {what}: {told(figures['recall'][name])}")
    if figures["answerable"]["abstained"] is not None:
        lines.append(f"answerable questions left unanswered: {figures['answerable']['abstained']:.3f}")
    if figures["unanswerable"]["false_answers"] is not None:
        lines.append(f"unanswerable questions answered: {figures['unanswerable']['false_answers']:.3f}")
    by_reason: dict[str, list[str]] = {}
    for name in dict.fromkeys(one.memory for one in lost):
        by_reason.setdefault(run.missing[name], []).append(name)
    for reason, names in by_reason.items():
        count = sum(one.memory in names for one in lost)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        lines.append(
            f"NOT ASKED: {count} questions of {len(names)} memories ({reason}): {', '.join(names[:_NAMED])}{more}"
        )
    if open_ > 0:
        lines.append(f"NOT YET ASKED: {open_} questions: run the same command again")
    if figures["not_judged"]:
        lines.append(f"NOT JUDGED: {figures['not_judged']} answers: run again, or with another judge")
    if figures["failed"]:
        lines.append(f"the model failed in {figures['failed']} answers: run again")
    if figures["refused"]:
        lines.append(f"{figures['refused']} questions could not be asked as they stand")
    if run.stopped:
        lines.append(f"stopped: {run.stopped}")
    if len(figures["commits"]) > 1:
        lines.append(f"answers of several commits: {', '.join(figures['commits'])}")
    return [*lines, f"in {run.directory}"]


def _parts(figures: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    parts = [("all", figures)]
    if figures["unanswerable"]["answered"]:
        parts.append(("answerable", figures["answerable"]))
    if len(figures["by_type"]) > 1:
        parts += [(f"  {name}", part) for name, part in figures["by_type"].items()]
    if len(figures["by_seed"]) > 1:
        parts += [(f"  sample of seed {seed}", part) for seed, part in figures["by_seed"].items()]
    return parts


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
