"""The pieces that words for times are read into, and what each means on the calendar of a household."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from runtime import named_days

Days = tuple[date, date]  # the first day, and the day after the last
Which = Literal["", "this", "last", "next", "before_last", "after_next"]
Unit = Literal["minute", "hour", "day", "week", "month", "year"]
ONE_DAY = timedelta(days=1)


class NoSuchTime(ValueError):
    """The words name a time that cannot be told. reason: the phrase `time_<reason>` says why."""

    def __init__(self, reason: str, words: str = "") -> None:
        super().__init__(reason)
        self.words = words


@dataclass(frozen=True)
class Frame:
    """What words for times are relative to: the local moment, and whether the text speaks of what is to come.

    meals: by name, first and last hour of the local day; country: ISO 3166, for the names of days.
    """

    now: datetime  # naive, local
    now_utc_s: float
    zone: ZoneInfo
    future: bool
    meals: Mapping[str, tuple[float, float]]
    country: str

    @property
    def today(self) -> date:
        return self.now.date()


@dataclass(frozen=True)
class Period:
    """Whole days. size: their rough number, for telling which of two holds the other; bare: a date without a month;
    dated: a date, which says more than a day of the week beside it.
    """

    days: Callable[[Frame, Days | None], Days]
    size: int
    bare: bool = False
    dated: bool = False


@dataclass(frozen=True)
class Part:
    """Hours of a day, such as the evening. kind: a meal, or noon and midnight, which are also moments."""

    first_h: float
    last_h: float
    kind: Literal["part", "meal", "noon"] = "part"


@dataclass(frozen=True)
class Meal:
    """A meal of the household; its hours are configuration."""

    name: str


@dataclass(frozen=True)
class Clock:
    """A time of day. half: morning or afternoon where it is said, "24" where the hour counts from midnight."""

    hour: float
    half: Literal["", "a", "p", "24"] = ""


@dataclass(frozen=True)
class Exact:
    """A span of UTC seconds counted from the present moment."""

    span: Callable[[Frame], tuple[float, float]]


@dataclass(frozen=True)
class Side:
    """Which side of the time beside it is meant."""

    word: Literal["before", "after", "since", "until", "around"]


@dataclass(frozen=True)
class Link:
    """The ends of a stretch: `from` one time `to` another; `and` may also only list two."""

    word: Literal["from", "to", "and"]


Value = Period | Part | Meal | Clock | Exact | Side | Link


@dataclass(frozen=True)
class Item:
    """A value and the characters it was read from."""

    start: int
    end: int
    value: Value


def day(offset: int) -> Period:
    """The day so many days after today."""
    return Period(lambda frame, within: _one(frame.today + offset * ONE_DAY), 1)


def this_night() -> Period:
    """The day whose night is running or comes next: until five in the morning that is yesterday's."""

    def days(frame: Frame, within: Days | None) -> Days:
        return _one(frame.today - ONE_DAY if frame.now.hour < 5 else frame.today)

    return Period(days, 1)


def weekday(index: int, which: Which = "") -> Period:
    """A day of the week, 0 Monday: the latest until today, the next where the future is meant, or as `which` says."""

    def days(frame: Frame, within: Days | None) -> Days:
        monday = frame.today - frame.today.weekday() * ONE_DAY
        if within is not None:
            return _one(within[0] + ((index - within[0].weekday()) % 7) * ONE_DAY)
        if which in ("this", "next"):
            return _one(monday + (index + (7 if which == "next" else 0)) * ONE_DAY)
        if which == "before_last":
            return _one(monday + (index - 14) * ONE_DAY)
        if frame.future and not which:
            return _one(frame.today + ((index - frame.today.weekday()) % 7) * ONE_DAY)
        back = (frame.today.weekday() - index) % 7
        return _one(frame.today - (back or (7 if which == "last" else 0)) * ONE_DAY)

    return Period(days, 1)


def weekday_of_week(index: int, weeks: int) -> Period:
    """A day of the week so many weeks after the present one."""
    return Period(
        lambda frame, within: _one(frame.today + (7 * weeks + index - frame.today.weekday()) * ONE_DAY), 1
    )


def week(offset: int) -> Period:
    """Monday to Sunday, so many weeks after the present one."""

    def days(frame: Frame, within: Days | None) -> Days:
        monday = frame.today + (7 * offset - frame.today.weekday()) * ONE_DAY
        return monday, monday + 7 * ONE_DAY

    return Period(days, 7)


def weekend(which: Which = "", *, of_week: int | None = None) -> Period:
    """Saturday and Sunday: the latest that has begun, the one before it, or that of a given week."""

    def days(frame: Frame, within: Days | None) -> Days:
        saturday = frame.today + (5 - frame.today.weekday()) * ONE_DAY
        if of_week is not None:
            saturday += 7 * of_week * ONE_DAY
        elif which == "next" or (which == "" and frame.future):
            saturday += 7 * ONE_DAY if which == "next" else timedelta(0)
        elif which != "this":
            back = {"": int(saturday > frame.today), "last": 1, "before_last": 2}[which]
            saturday -= 7 * back * ONE_DAY
        return saturday, saturday + 2 * ONE_DAY

    return Period(days, 2)


def month(number: int | None, year: int | None = None, offset: int = 0, *, last: bool = False) -> Period:
    """A month by number, the latest that has begun; without a number so many months after this one."""

    def days(frame: Frame, within: Days | None) -> Days:
        if number is None:
            return month_days(frame.today.year, frame.today.month + offset)
        chosen = year if year is not None else (within[0].year if within else None)
        if chosen is None:
            chosen = frame.today.year
            if frame.future and number < frame.today.month:
                chosen += 1
            elif not frame.future and number >= frame.today.month + (0 if last else 1):
                chosen -= 1
        return month_days(chosen, number)

    return Period(days, 30)


def year(number: int | None, offset: int = 0) -> Period:
    """A year by number, or so many years after this one."""

    def days(frame: Frame, within: Days | None) -> Days:
        chosen = frame.today.year + offset if number is None else number
        return _date(chosen, 1, 1), _date(chosen + 1, 1, 1)

    return Period(days, 365)


def calendar_day(number: int, month_number: int | None = None, year_number: int | None = None) -> Period:
    """A date; what is left out is the latest that is not in the future, or the next where that is meant."""

    def days(frame: Frame, within: Days | None) -> Days:
        if year_number is not None and month_number is not None:
            return _one(_date(year_number, month_number, number))
        if month_number is not None:
            years = range(frame.today.year - 8, frame.today.year + 9)
            if within is not None:
                years = range(within[0].year, within[0].year + 1)
            found = [_try(one, month_number, number) for one in years]
        else:
            first = within[0] if within else None
            start = frame.today.year * 12 + frame.today.month - 1
            months = [first.year * 12 + first.month - 1] if first else range(start - 12, start + 13)
            found = [_try(one // 12, one % 12 + 1, number) for one in months]
        return _one(_nearest([one for one in found if one is not None], frame, within))

    return Period(days, 1, bare=month_number is None, dated=month_number is not None)


def named_day(name: str) -> Period:
    """A day or feast that the household's country knows by this name."""

    def days(frame: Frame, within: Days | None) -> Days:
        at = within[0].year if within else frame.today.year
        spans = named_days.names(frame.country, at).get(name, [])
        if within is not None:
            spans = [span for span in spans if within[0] <= span[0] < within[1]]
        begun = [span for span in spans if span[0] <= frame.today]
        coming = [span for span in spans if span[1] > frame.today]
        if within is not None and spans:
            return spans[0]
        if frame.future and coming:
            return coming[0]
        if not frame.future and begun:
            return begun[-1]
        raise NoSuchTime("no_such_name")

    return Period(days, 1)


def _one(first: date) -> Days:
    return first, first + ONE_DAY


def month_days(year_number: int, number: int) -> Days:
    """A month; numbers below 1 and above 12 are other years'."""
    index = year_number * 12 + number - 1
    return _date(index // 12, index % 12 + 1, 1), _date((index + 1) // 12, (index + 1) % 12 + 1, 1)


def _date(year_number: int, number: int, of_month: int) -> date:
    try:
        return date(year_number, number, of_month)
    except ValueError as error:
        raise NoSuchTime("no_such_day") from error


def _try(year_number: int, number: int, of_month: int) -> date | None:
    try:
        return date(year_number, number, of_month)
    except ValueError:
        return None


def _nearest(found: list[date], frame: Frame, within: Days | None) -> date:
    past = [one for one in found if one <= frame.today]
    coming = [one for one in found if one >= frame.today]
    if within is not None and found:
        return found[0]
    if frame.future and coming:
        return coming[0]
    if past:
        return past[-1]
    raise NoSuchTime("no_such_day")
