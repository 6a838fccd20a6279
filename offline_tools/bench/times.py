"""Times in natural words: how many of the table's expressions each reader resolves to the right span.

`python -m offline_tools.bench times`. A library that gives a moment where the table has a span of an hour or less
around it counts as right.
"""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from offline_tools.bench.report import ROOT, print_report
from offline_tools.bench.time_readers import Reader, Span, installed
from runtime.question_time import Household, read_time

TABLE = ROOT / "tests" / "time_expressions.yaml"
ONE_HOUR, A_LITTLE = timedelta(hours=1), timedelta(seconds=2)


def main(arguments: list[str]) -> int:
    """Print the shares of right spans by language, and of texts without a time that are left alone."""
    groups = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    total: Counter[str] = Counter(_kind(group, case) for group in groups for case in group["cases"])
    figures: dict[str, Any] = {"expressions": dict(total), "readers": {}}
    rows = []
    for name, reader in {"hearsight": None, **installed()}.items():
        right, each_ms = _measure(groups, reader)
        figures["readers"][name] = {**{kind: right[kind] for kind in total}, "ms_each": round(each_ms, 2)}
        told = ", ".join(f"{kind} {right[kind]}/{count}" for kind, count in sorted(total.items()))
        rows.append((name, f"{told}; {each_ms:.2f} ms each", "all" if reader is None else ""))
    print_report("times", rows, figures)
    return 0 if sum(figures["readers"]["hearsight"][kind] for kind in total) == sum(total.values()) else 1


def _kind(group: dict[str, Any], case: list[str]) -> str:
    return "no time" if len(case) == 2 else str(group["language"])


def _measure(groups: list[dict[str, Any]], reader: Reader | None) -> tuple[Counter[str], float]:
    """How many are right by kind (`reader` None: this project's own), and the milliseconds of one."""
    right: Counter[str] = Counter()
    began, count = time.perf_counter(), 0
    for group in groups:
        now = datetime.fromisoformat(str(group["now"]))
        for case in group["cases"]:
            count += 1
            right[_kind(group, case)] += _is_right(_read(reader, group, case[0], now), case[1:], now)
    return right, (time.perf_counter() - began) * 1000 / count


def _read(reader: Reader | None, group: dict[str, Any], text: str, now: datetime) -> Span | None:
    if reader is not None:
        try:
            return reader(text, now, group["language"])
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ):  # a wrong answer of its own
            return now, None
    zone = ZoneInfo(group["zone"])
    found = read_time(text, now.replace(tzinfo=zone).timestamp(), Household(zone)).range
    if found is None:
        return None
    first, last = (
        datetime.fromtimestamp(one, zone).replace(tzinfo=None) for one in (found.start_utc_s, found.end_utc_s)
    )
    return first if found.start_utc_s else None, last


def _is_right(found: Span | None, expected: list[str], now: datetime) -> bool:
    if len(expected) == 1 or found is None:
        return len(expected) == 1 and found is None
    start = None if expected[0] == "ever" else datetime.fromisoformat(expected[0])
    end = now if expected[1] == "now" else datetime.fromisoformat(expected[1])
    first, last = found
    if start is not None and first is not None and first == last:
        return end - start <= ONE_HOUR and start <= first < end
    return (
        first == start and last is not None and abs(last - end) <= (A_LITTLE if end == now else timedelta())
    )
