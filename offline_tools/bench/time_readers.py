"""Libraries that read times in natural words, each behind one call; those not installed are left out."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

Span = tuple[datetime | None, datetime | None]
Reader = Callable[
    [str, datetime, str], Span | None
]  # text, naive local now, language: naive span, a moment as (t, t)
ONE_DAY = timedelta(days=1)
_CLOCK = re.compile(r"\d:\d|\d\s*[ap]\.?m|o'clock|点|hour|minute", re.IGNORECASE)


def installed() -> dict[str, Reader]:
    """The libraries that are here, by name."""
    found: dict[str, Reader] = {}
    for name, (module, build) in _BUILDERS.items():
        try:
            found[name] = build(importlib.import_module(module))
        except ImportError:
            continue
    return found


def _whole_day(moment: datetime, timed: bool) -> Span:
    if timed:
        return moment, moment
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight, midnight + ONE_DAY


def _dateparser(module: Any) -> Reader:
    def read(text: str, now: datetime, language: str) -> Span | None:
        settings: Mapping[str, Any] = {
            "RELATIVE_BASE": now, "PREFER_DATES_FROM": "past", "RETURN_TIME_SPAN": True
        }  # fmt: skip
        found = module.search_dates(text, languages=[language], settings=dict(settings))
        if not found:
            return None
        first, last = found[0][1].replace(tzinfo=None), found[-1][1].replace(tzinfo=None)
        return (first, last) if len(found) > 1 else _whole_day(first, bool(_CLOCK.search(found[0][0])))

    return read


def _parsedatetime(module: Any) -> Reader:
    calendar = module.Calendar(version=module.VERSION_CONTEXT_STYLE)

    def read(text: str, now: datetime, language: str) -> Span | None:
        found = calendar.nlp(text, now)
        return _whole_day(found[0][0], bool(found[0][1].hasTime)) if found else None

    return read


def _timefhuman(module: Any) -> Reader:
    def read(text: str, now: datetime, language: str) -> Span | None:
        found = module.timefhuman(text, config=module.tfhConfig(now=now))
        one = found[0] if isinstance(found, list) and found else found
        if isinstance(one, tuple):
            return one[0].replace(tzinfo=None), one[1].replace(tzinfo=None)
        if isinstance(one, timedelta):
            return now - one, now
        if isinstance(one, datetime):
            return one.replace(tzinfo=None), one.replace(tzinfo=None)
        return _whole_day(datetime(one.year, one.month, one.day), False) if isinstance(one, date) else None

    return read


def _jionlp(module: Any) -> Reader:
    def read(text: str, now: datetime, language: str) -> Span | None:
        base = {part: getattr(now, part) for part in ("year", "month", "day", "hour", "minute", "second")}
        found = module.ner.extract_time(text, time_base=base)
        if not found or found[0]["detail"]["type"] not in ("time_span", "time_point"):
            return None
        first, last = (datetime.strptime(one, "%Y-%m-%d %H:%M:%S") for one in found[0]["detail"]["time"])
        return first, last + timedelta(seconds=1) if last.second == 59 else last

    return read


_BUILDERS: dict[str, tuple[str, Callable[[Any], Reader]]] = {
    "dateparser": ("dateparser.search", _dateparser),
    "parsedatetime": ("parsedatetime", _parsedatetime),
    "timefhuman": ("timefhuman", _timefhuman),
    "jionlp": ("jionlp", _jionlp),
}
