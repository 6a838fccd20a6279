"""Times named in a question, resolved to exact UTC ranges in the resident's zone, for English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from runtime.named_days import country_of
from runtime.time_items import Frame, Item, Link, NoSuchTime, Side
from runtime.time_language import TimeLanguage
from runtime.time_points import span_of
from runtime.time_words_en import ENGLISH
from runtime.time_words_zh import CHINESE

MEALS: Mapping[str, tuple[float, float]] = {
    "breakfast": (7.0, 9.0),
    "lunch": (12.0, 14.0),
    "dinner": (18.0, 20.0),
    "bedtime": (22.0, 23.0),
}
_QUOTED = re.compile("\"[^\"]*\"|“[^”]*”|「[^」]*」|『[^』]*』|(?<!\\w)'[^']+'(?!\\w)|‘[^’]*’")
_CHINESE = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True)
class Household:
    """What words for times mean here. meals: first and last hour of the local day; country: ISO 3166, "": by zone."""

    zone: ZoneInfo
    meals: Mapping[str, tuple[float, float]] = field(default_factory=lambda: MEALS)
    country: str = ""


@dataclass(frozen=True)
class TimeRange:
    """A half-open range of UTC seconds, and the words of the question that named it."""

    start_utc_s: float
    end_utc_s: float
    phrase: str


@dataclass(frozen=True)
class ReadTime:
    """What a text says of time.

    range: the time it names, or None; ahead: whether that is still to come; unclear: words that name a time which
    cannot be told, with the `reason` as in `NoSuchTime`; rest: the text without the words for the time.
    """

    range: TimeRange | None
    rest: str
    ahead: bool = False
    unclear: str = ""
    reason: str = ""


def read_time(text: str, now_utc_s: float, household: Household, *, told: bool = False) -> ReadTime:
    """Read the time that a text names; what stands in quotation marks was said, and names none.

    "On Saturday" is the last one in a question, which asks of what was; `told`: in what somebody tells it is the next
    one, unless they tell of what was.
    """
    masked = _QUOTED.sub(lambda match: "\0" * len(match.group()), text).lower()
    if len(masked) != len(text):  # a letter whose small form is longer, such as İ
        masked = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
    languages = (CHINESE, ENGLISH) if _CHINESE.search(masked) else (ENGLISH,)
    for language in languages:
        found = _read(text, masked, now_utc_s, household, language, told=told)
        if found.range is not None or found.unclear:
            return found
    return ReadTime(None, text)


def _read(
    text: str, masked: str, now_utc_s: float, household: Household, language: TimeLanguage, *, told: bool
) -> ReadTime:
    now = datetime.fromtimestamp(now_utc_s, household.zone).replace(tzinfo=None)
    country = household.country or country_of(household.zone.key)
    future = language.future.search(masked) is not None or (told and language.past.search(masked) is None)
    frame = Frame(now, now_utc_s, household.zone, future, household.meals, country)
    try:
        items = language.read(masked, country, now.year)
    except NoSuchTime as error:
        return ReadTime(None, text, unclear=error.words or text, reason=str(error))
    if all(isinstance(item.value, Side | Link) for item in items):
        return ReadTime(None, text)
    spans = _merged(items, text)
    phrase = " ".join(text[start:end].strip() for start, end in spans)
    try:
        start, end = span_of(items, frame)
    except (NoSuchTime, OverflowError, ValueError) as error:
        reason = str(error) if isinstance(error, NoSuchTime) else "too_far"
        return ReadTime(None, text, unclear=phrase, reason=reason)
    rest = text
    for first, last in reversed(spans):
        rest = f"{rest[:first]} {rest[last:]}"
    return ReadTime(TimeRange(start, end, phrase), " ".join(rest.split()), ahead=start >= now_utc_s)


def _merged(items: list[Item], text: str) -> list[tuple[int, int]]:
    """The characters of the items, with the small words before them and between them."""
    merged: list[tuple[int, int]] = []
    for item in items:
        before = _SMALL_WORDS.search(text[: item.start])
        start = before.start() if before else item.start
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(item.end, merged[-1][1]))
        else:
            merged.append((start, item.end))
    return merged


_SMALL_WORDS = re.compile(r"(?:\b(?:on|in|at|the|of|during|over|within|around|about)\s+|[\s,，]+)*$", re.I)
