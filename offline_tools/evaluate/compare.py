"""Puts runs of the same questions beside one another: what each is worth, and how far it is from the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from offline_tools.evaluate.scoring import Scored, rights
from offline_tools.evaluate.statistics import Estimate, difference, estimate


def compared(runs: Mapping[str, Sequence[Scored]]) -> dict[str, Any]:
    """By title of all runs but the first: differences to the first, over the questions that both answered.

    right: of those that are judged in both; f1, found and cited: of those where both count them.
    """
    titles = list(runs)
    base = runs[titles[0]]
    memory_of = {one.question.id: one.question.memory for items in runs.values() for one in items}
    return {
        title: {
            name: _rounded(difference(_values(runs[title], name), _values(base, name), memory_of))
            for name in ("right", "f1", "found", "cited")
        }
        for title in titles[1:]
    }


def rows_of(runs: Mapping[str, Sequence[Scored]]) -> list[tuple[str, ...]]:
    """A row a run: its title, right in per cent, and the differences to the first in points."""
    titles = list(runs)
    memory_of = {one.question.id: one.question.memory for items in runs.values() for one in items}
    rows: list[tuple[str, ...]] = []
    for title, items in runs.items():
        values = _values(items, "right")
        whole = estimate(list(values.values()), [memory_of[name] for name in values])
        cells = [title, str(len(values)), whole.told if whole else "–"]
        for name in ("right", "f1", "found"):
            other = None
            if title != titles[0]:
                other = difference(_values(items, name), _values(runs[titles[0]], name), memory_of)
            cells.append(_signed(other))
        rows.append(tuple(cells))
    return rows


def _values(items: Sequence[Scored], name: str) -> dict[str, float]:
    if name == "right":
        return rights(items)
    values = {one.question.id: one.f1 if name == "f1" else getattr(one.given, name) for one in items}
    return {id: float(value) for id, value in values.items() if value is not None}


def _signed(found: Estimate | None) -> str:
    if found is None:
        return ""
    return f"{100 * found.mean:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}], n {found.n}"


def _rounded(found: Estimate | None) -> dict[str, float] | None:
    return None if found is None else {name: round(value, 4) for name, value in asdict(found).items()}
