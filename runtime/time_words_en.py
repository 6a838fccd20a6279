"""English words for times, read into items; what they mean on the calendar is time_items' part."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from runtime import time_amounts as amounts
from runtime import time_items as items
from runtime.prompts import time_words
from runtime.time_items import Clock, Meal, NoSuchTime, Part, Side, Unit, Value, Which
from runtime.time_language import Builder, TimeLanguage

_WORDS = time_words("en")


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted((re.escape(word) for word in words), key=len, reverse=True))


_DAY = _any(_WORDS.weekdays)
SHORT_DAYS = r"mon|tues?|weds?|thu(?:rs?)?|fri|sat|sun"
"""Short names of weekdays, which are days only behind "on", "last" or "next": "he sat", "the sun", "they wed"."""
_SHORT_DAY = rf"(?P<day>{SHORT_DAYS})\b\.?"
_MONTH = f"{_any(_WORDS.months)}|{'|'.join(name[:3] for name in _WORDS.months)}|sept"
_PART = _any(_WORDS.parts)
_MEAL = _any(_WORDS.meals)
_COUNT = rf"\d{{1,9}}|{_any(_WORDS.numbers)}"
_HOURS = [name for name, count in _WORDS.numbers.items() if 1 <= count <= 12 and name.isalpha()]
_HOURS = [name for name in _HOURS if name not in ("a", "an", "few")]
_HOUR = rf"\d{{1,2}}|{_any(_HOURS)}"
_NTH = rf"\d{{1,2}}(?:st|nd|rd|th)|{_any(_WORDS.ordinals)}"
_UNIT = "minute|hour|day|week|month|year"
_AMPM = r"(?:\s*(?P<half>[ap])\.?m\b\.?)"
_WHICH = r"(?:(?P<which>last|this|next)\s+)"
# What may follow a word that is a time only by where it stands: "at 3", "came Wednesday".
_END = (
    r"(?=\s*(?:[?.!,;:\0\x01]|$|(?:on|in|at|and|or|to|with|by|when|while|between|before|after|from|until|today|yesterday"
    rf"|tomorrow|last|this|{_PART}|{_DAY})\b))"
)

# A time of day that only says which ("the night shift", "the morning train"); things that are a family's, not all.
_OF_A_THING = (
    r"(?! (?:shift|duty|train|bus|flight|ferry|news|paper|show|class|course|school|dress|tea|coffee|snack|nap|nurse"
    r"|guard|light|lamp|table|stand|sky|walk|run|meeting|routine|person|cream|club|market|service|prayer)s?\b)"
)


def _number(text: str | None) -> float:
    text = re.sub(r"\s+", " ", (text or "").strip())
    return _WORDS.numbers[text] if text in _WORDS.numbers else float(text or 1)


def _ordinal(text: str) -> int:
    return _WORDS.ordinals.index(text) + 1 if text in _WORDS.ordinals else int(re.sub(r"\D", "", text))


def _month_number(text: str) -> int:
    return [name[:3] for name in _WORDS.months].index(text[:3]) + 1


def _part(name: str) -> Part:
    name = re.sub(r"\s+", " ", name)
    first, last = _WORDS.parts[name]
    return Part(first, last, "noon" if name in ("noon", "midday") else "part")


def _date(match: re.Match[str]) -> list[Value]:
    found = match.groupdict()
    year = int(found["year"]) if found.get("year") else None
    return [items.calendar_day(_ordinal(found["day"]), _month_number(found["month"]), year)]


def _numeric_date(match: re.Match[str]) -> list[Value]:
    return [items.calendar_day(int(match["d"]), int(match["m"]), int(match["y"]))]


def _slashed(match: re.Match[str]) -> list[Value]:
    first, second = int(match["a"]), int(match["b"])
    if first <= 12 and second <= 12 and first != second:
        raise NoSuchTime("two_orders")
    return [items.calendar_day(max(first, second), min(first, second), int(match["y"]))]


def _clock(match: re.Match[str]) -> list[Value]:
    found = match.groupdict()
    hour, minute = _number(found["hour"]), _number(found.get("minute") or "0")
    half = found.get("half") or ("24" if found.get("minute") else "")
    if hour > 24 or minute > 59:
        raise NoSuchTime("no_such_hour")
    if hour > 12:
        half = "24"
    return [Clock(hour + minute / 60, half)]  # type: ignore[arg-type]


def _past_or_to(match: re.Match[str]) -> list[Value]:
    share = {"half": 0.5, "quarter": 0.25}.get(match["share"]) or _number(match["share"]) / 60
    hour = _number(match["hour"]) + (share if match["side"] == "past" else -share)
    return [Clock(hour, match["half"] or "")]  # type: ignore[arg-type]


def _rolling(match: re.Match[str]) -> list[Value]:
    count, unit = _number(match["count"]), cast(Unit, match["unit"])
    if match["count"] is None and match["word"] == "last" and unit in ("day", "week", "month", "year"):
        return [items.week(-1)] if unit == "week" else [_named_unit(unit, "last")]
    return [amounts.last_amount(count, unit)]


def _named_unit(unit: str, which: str) -> Value:
    offset = {"last": -1, "this": 0, "next": 1}[which]
    if unit == "week":
        return items.week(offset)
    if unit == "month":
        return items.month(None, offset=offset)
    return items.day(offset) if unit == "day" else items.year(None, offset)


def _before_last(match: re.Match[str]) -> list[Value]:
    what = match["what"]
    if what in _WORDS.parts:
        return [items.day(-2), _part(what)]
    if what in _WORDS.weekdays:
        return [items.weekday(_WORDS.weekdays.index(what), "before_last")]
    return [items.week(-2)] if what == "week" else [items.weekend("before_last")]


def _weekday(match: re.Match[str]) -> list[Value]:
    index = [name[:3] for name in _WORDS.weekdays].index(match["day"][:3])
    return [items.weekday(index, cast(Which, match["which"] or ""))]


def _month(match: re.Match[str]) -> list[Value]:
    found = match.groupdict()
    year = int(found["year"]) if found.get("year") else None
    return [items.month(_month_number(found["month"]), year, last=found.get("which") == "last")]


_BESIDE = "on|since|until|till|by|before|after|between|from|to|and|of|around|about|at|in|during"
_RULES: list[tuple[str, Builder]] = [
    (r"\b(?:the )?day before yesterday\b", lambda m: [items.day(-2)]),
    (r"\b(?:the )?day after tomorrow\b", lambda m: [items.day(2)]),
    (rf"\b(?:the )?(?P<what>{_PART}|{_DAY}|week|weekend) before last\b", _before_last),
    (r"\blast night\b", lambda m: [items.day(-1), Part(18, 29)]),
    (r"\btonight\b", lambda m: [items.this_night(), Part(18, 29)]),
    (
        r"\b(?P<word>yesterday|today|tomorrow)(?:['’]s)?\b",
        lambda m: [items.day({"yesterday": -1, "today": 0, "tomorrow": 1}[m["word"]])],
    ),
    (rf"\bthis (?P<part>{_PART})\b", lambda m: [items.day(0), _part(m["part"])]),
    (r"\b(?:until|till|up to) now\b", lambda m: [Side("since")]),
    (
        r"\b(?:just now|right now|at the moment|a moment ago)\b",
        lambda m: [amounts.last_amount(10, "minute")],
    ),
    (r"\b(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})\b", _numeric_date),
    (r"\b(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})\b", _numeric_date),
    (r"\b(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<y>\d{4})\b", _slashed),
    (
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?= (?:to|and|until|till) (?:the )?\d{{1,2}}(?:st|nd|rd|th)? (?:of )?"
        rf"(?P<month>{_MONTH})\b)",
        _date,
    ),
    (
        rf"\b(?P<day>\d{{1,2}}|{_NTH}) ?(?:of )?(?P<month>{_MONTH})\b\.?(?:,? (?P<year>\d{{4}})\b)?",
        _date,
    ),
    (
        rf"\b(?P<month>{_MONTH})\.? (?:the )?(?P<day>{_NTH}|\d{{1,2}}(?!:?\d))\b(?:,? (?P<year>\d{{4}})\b)?",
        _date,
    ),
    (rf"\b(?P<month>{_MONTH}),? (?P<year>\d{{4}})\b", _month),
    (rf"\b(?P<which>last|next) (?P<month>{_MONTH})\b", _month),
    (
        rf"(?P<pre>\b(?:in|since|during|of|until|before|after|between|from|to|and) )(?P<month>{_MONTH})\b",
        _month,
    ),
    (
        rf"(?P<pre>\b(?:on|since|until|before|after) the )(?P<nth>{_NTH})\b(?! (?:{_UNIT}|time)s?\b)",
        lambda m: [items.calendar_day(_ordinal(m["nth"]))],
    ),
    (
        r"(?P<pre>\b(?:in|since|during|of|before|after|until) )(?P<year>(?:19|20)\d\d)\b",
        lambda m: [items.year(int(m["year"]))],
    ),
    (
        rf"\b(?P<count>{_COUNT}) (?P<unit>{_UNIT})s? ago\b",
        lambda m: [amounts.amount_ago(_number(m["count"]), cast(Unit, m["unit"]))],
    ),
    (
        rf"\b(?P<word>last|past|previous) (?:(?P<count>{_COUNT}) )?(?P<unit>{_UNIT})s?\b",
        _rolling,
    ),
    (
        rf"\bin (?P<count>{_COUNT}) (?P<unit>{_UNIT})s?\b{_END}",
        lambda m: [amounts.amount_ago(-_number(m["count"]), cast(Unit, m["unit"]))],
    ),
    (r"\b(?P<which>this|next) (?P<unit>week|month|year)\b", lambda m: [_named_unit(m["unit"], m["which"])]),
    (
        r"\b(?:(?P<which>last|this|next)|the|(?:at|on|over|during)(?: the)?) weekend\b",
        lambda m: [items.weekend(cast(Which, m["which"] or ""))],
    ),
    (rf"(?P<pre>\b(?:{_BESIDE}) )(?:(?P<which>last|this|next) )?(?P<day>{_DAY})\b", _weekday),
    (rf"\b(?P<which>last|this|next) (?P<day>{_DAY})\b", _weekday),
    (rf"(?P<pre>\bon )(?:(?P<which>last|this|next) )?{_SHORT_DAY}", _weekday),
    (rf"\b(?P<which>last|next) {_SHORT_DAY}", _weekday),
    (rf"(?<!every )(?<!each )(?<!an )(?<!\ba )\b(?P<which>)(?P<day>{_DAY})\b{_END}", _weekday),
    (
        rf"(?<!from )(?<!between )\b(?:a )?(?P<share>half|quarter|[125]?[05]|five|ten|twenty) (?P<side>past|to) "
        rf"(?P<hour>{_HOUR})\b{_AMPM}?",
        _past_or_to,
    ),
    (rf"(?<![\d:.])(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})(?![\d:]){_AMPM}?", _clock),
    (
        rf"\b(?P<hour>{_HOUR}) (?P<spoken>fifteen|twenty|thirty|forty[- ]five)\b{_END}",
        lambda m: [
            Clock(_number(m["hour"]) + {"fi": 0.25, "tw": 1 / 3, "th": 0.5, "fo": 0.75}[m["spoken"][:2]])
        ],
    ),
    (rf"\b(?P<hour>{_HOUR})(?:{_AMPM}|\s*o['’]?clock\b)", _clock),
    (rf"\b(?P<hour>{_HOUR})(?=\s*(?:and|to|until|till|-|–)\s*\x01)", _clock),
    (rf"(?P<pre>\bbetween )(?P<hour>{_HOUR})(?= and (?:{_HOUR})\b{_END})", _clock),
    (rf"(?P<pre>\bfrom )(?P<hour>{_HOUR})(?= (?:to|until|till) (?:{_HOUR})\b{_END})", _clock),
    (rf"(?P<pre>(?:\bat|\baround|\babout|\x01 (?:and|to|until)) )(?P<hour>{_HOUR})\b{_END}", _clock),
    (r"\bmidnight\b", lambda m: [Clock(0, "24")]),
    (
        rf"(?P<pre>\b(?:{_BESIDE}) (?:the )?|\x01\s+|\bthe )(?P<part>{_PART})\b{_OF_A_THING}",
        lambda m: [_part(m["part"])],
    ),
    (
        r"(?P<pre>\b(?:at|over|during|around|since|before|after|until|till|between|and|from|to) (?:the )?)"
        rf"(?P<meal>{_MEAL})\b",
        lambda m: [Meal(_WORDS.meals[m["meal"]])],
    ),
]
_LINKS = r"(?P<from>\b(?:between|from)\b)|(?P<to>\b(?:to|until|till)\b|[-–])|(?P<and>\b(?:and|or)\b)"
_SIDES = (
    r"\b(?:(?P<before>before)|(?P<after>after)|(?P<since>since)|(?P<until>until|till|by|up to)"
    r"|(?P<around>around|about))\b"
)
_FUTURE = r"\b(?:will|going to|plan(?:s|ned|ning)?|upcoming|shall)\b|\w['’]ll\b"
_PAST = (
    r"\b(?:was|were|had|did|went|came|saw|got|took|made|said|told|met|left|bought|brought|found|gave|knew|thought|felt|ran"
    r"|sat|stood|won|lost|spent|sent|slept|spoke|wrote|ate|drank|drove|flew|fell|began|broke|built|caught|chose|drew|kept"
    r"|lent|paid|rode|rose|sang|sold|taught|wore|heard|been|ago|(?!need|feed|speed|indeed|hundred)\w{2,}ed)\b|didn['’]t"
)
_FILLER = r"(?:\b(?:on|in|at|the|of|during|over|within|for)\b|[\s,])*"

ENGLISH = TimeLanguage(
    rules=tuple((re.compile(pattern), build) for pattern, build in _RULES),
    links=re.compile(_LINKS),
    sides=re.compile(_SIDES),
    future=re.compile(_FUTURE),
    past=re.compile(_PAST),
    filler=re.compile(_FILLER),
    named_days=re.compile(
        r"\b(?:christmas|easter|thanksgiving|halloween|pentecost|good friday|new year|\w+ (?:day|eve|festival))\b"
    ),
    before_name=rf"\b(?:{_BESIDE}|over|last|next|this) (?:the )?",
)
