"""Puts the items of a text together: a day, a part of it and a time of day make a point, two points a stretch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from runtime.local_time import EVER_UTC_S, utc_span
from runtime.time_items import (
    ONE_DAY,
    Clock,
    Days,
    Exact,
    Frame,
    Item,
    Link,
    Meal,
    NoSuchTime,
    Part,
    Period,
    Side,
    month,
)

MOMENT_S = 300.0
AROUND_S = 1800.0
LATE_H = 17  # a part of the day that ends after this makes "eight" the evening's
_NIGHT_H = 24
_EARLY_H = 5  # "last night at two" is the next day's, up to this hour
_DAYTIME_H = 7  # without more words "three" is the afternoon's, "eight" the morning's


@dataclass(frozen=True)
class Point:
    """What is said of one time. side: before, after … it, or ""."""

    period: Period | None = None
    part: Part | None = None
    clock: Clock | None = None
    exact: Exact | None = None
    within: Period | None = None
    side: str = ""


@dataclass(frozen=True)
class Wall:
    """A half-open span of local wall-clock time; None: from ever, or until now."""

    start: datetime | None
    end: datetime | None


def span_of(found: Sequence[Item], frame: Frame) -> tuple[float, float]:
    """The UTC seconds that the items name together. Raises NoSuchTime."""
    values = [item.value for item in found]
    cut = next((n for n, value in enumerate(values) if value in (Link("to"), Link("and"))), None)
    if cut is None:
        point = _point(found, frame)
        return point.exact.span(frame) if point.exact else _utc(_wall(point, frame), frame)
    first, last = _point(found[:cut], frame), _point(found[cut + 1 :], frame)
    whole = Link("from") in values[:cut] or values[cut] == Link("to")
    return _utc(_stretch(first, last, frame, whole=whole), frame)


def _point(found: Sequence[Item], frame: Frame) -> Point:
    point = Point()
    for item in found:
        match item.value:
            case Period() as period:
                point = _with_period(point, period)
            case Part() as part:
                point = point if point.part else replace(point, part=part)
            case Meal(name):
                first, last = frame.meals[name]
                point = point if point.part else replace(point, part=Part(first, last, "meal"))
            case Clock() as clock:
                point = point if point.clock else replace(point, clock=clock)
            case Exact() as exact:
                point = point if point.exact else replace(point, exact=exact)
            case Side(word):
                point = point if point.side else replace(point, side=word)
            case Link():
                pass
    if point.part and point.part.kind == "noon" and point.side in ("before", "after", "since", "until"):
        point = replace(point, part=None, clock=point.clock or Clock(12, "24"))
    return point


def _with_period(point: Point, period: Period) -> Point:
    """Of two periods the longer holds the shorter; of two alike the date, or else the first, counts."""
    if point.period is None or (period.dated and not point.period.dated and point.period.size == 1):
        return replace(point, period=period)
    if point.within is not None or period.size == point.period.size:
        return point
    if period.size > point.period.size:
        return replace(point, within=period)
    return replace(point, period=period, within=point.period)


def _days(point: Point, frame: Frame) -> Days | None:
    if point.period is None:
        return None
    within = point.within.days(frame, None) if point.within else None
    return point.period.days(frame, within)


def _at(day: date, hour: float) -> datetime:
    """A wall-clock moment; hours from 24 on are the next day's."""
    return datetime.combine(day, time()) + timedelta(seconds=round(hour * 3600))


def _hour(clock: Clock, part: Part | None) -> float:
    """The hour of the day that is meant, from 24 on the next day's."""
    hour = clock.hour
    if clock.half == "p" and hour < 12:
        return hour + 12
    if clock.half == "a" and hour >= 12:
        hour -= 12
    if part is not None and part.kind == "part":
        if part.last_h > _NIGHT_H or (part.first_h >= LATE_H and not clock.half):
            if hour <= _EARLY_H:
                return hour + 24
            if clock.half == "" and hour == 12:
                return 24
        if clock.half != "a" and part.last_h >= LATE_H and hour < 12:
            return hour + 12
        return hour
    if part is not None and part.kind == "noon" and hour < _EARLY_H:
        return hour + 12
    return hour + 12 if clock.half == "" and 0 < hour < _DAYTIME_H else hour


def _wall(point: Point, frame: Frame) -> Wall:
    days = _days(point, frame)
    if point.clock is None and point.part is None:
        assert days is not None
        return _beside(point.side, _at(days[0], 0), _at(days[1], 0))
    if days is not None and days[1] - days[0] > ONE_DAY:
        raise NoSuchTime("no_day")
    if days is not None:
        return _of_day(point, days[0], dated=True)
    today = _of_day(point, frame.today, dated=False)
    if frame.future:
        over = today.end is not None and today.end <= frame.now
        return _of_day(point, frame.today + ONE_DAY, dated=False) if over else today
    begun = today.start is None or today.start <= frame.now
    return today if begun else _of_day(point, frame.today - ONE_DAY, dated=False)


def _of_day(point: Point, day: date, *, dated: bool) -> Wall:
    """A part, meal or time of one day. dated: the day was named, so that before its evening is all that was before."""
    midnight, end = _at(day, 0), _at(day, 24)
    if point.clock is not None:
        moment = _at(day, _hour(point.clock, point.part))
        if point.side in ("before", "until"):
            return Wall(min(midnight, moment), moment)
        if point.side == "after":
            return Wall(moment, max(end, _at(day, point.part.last_h) if point.part else end))
        if point.side == "since":
            return Wall(moment, None)
        slack = timedelta(seconds=AROUND_S if point.side == "around" else MOMENT_S)
        return Wall(moment - slack, moment + slack)
    assert point.part is not None
    first, last = _at(day, point.part.first_h), _at(day, point.part.last_h)
    if point.part.kind == "meal" or not dated:
        if point.side in ("before", "until"):
            return Wall(midnight, first if point.side == "before" else last)
        if point.side == "after":
            return Wall(last, max(end, last))
    return _beside(point.side, first, last)


def _beside(side: str, start: datetime, end: datetime) -> Wall:
    match side:
        case "before":
            return Wall(None, start)
        case "until":
            return Wall(None, end)
        case "after":
            return Wall(end, None)
        case "since":
            return Wall(start, None)
    return Wall(start, end)


def _stretch(first: Point, last: Point, frame: Frame, *, whole: bool) -> Wall:
    """From one point to another; what is said of one only is meant of both."""
    first, last = replace(first, side=""), replace(last, side="")
    if first.exact or last.exact or not (_says(first) and _says(last)):
        raise NoSuchTime("ends")
    if last.period is None or first.period is None:
        shared = first.period or last.period
        first, last = replace(first, period=shared), replace(last, period=shared)
    first, last = _shared_half(first, last)
    if first.period is None:
        begins = _wall(replace(first, side="since"), frame).start
        assert begins is not None
        start, end = begins, _edge(last, begins.date(), frame, ends=True)
    else:
        if last.period and last.period.bare and (begins_on := _days(first, frame)):
            last = replace(last, within=month(begins_on[0].month, begins_on[0].year))
        days = _days(first, frame), _days(last, frame)
        assert days[0] is not None and days[1] is not None
        start = _edge(first, days[0][0], frame, ends=False)
        end = _edge(last, days[1][1] - ONE_DAY, frame, ends=True)
    if end <= start and last.clock is not None:
        end += ONE_DAY
    if end <= start:
        raise NoSuchTime("ends")
    if not whole and not (first.clock or last.clock) and end - start > 2 * ONE_DAY:
        raise NoSuchTime("two_times")
    return Wall(start, end)


def _says(point: Point) -> bool:
    return bool(point.period or point.part or point.clock)


def _shared_half(first: Point, last: Point) -> tuple[Point, Point]:
    """What is said of the half of the day at one end: "between 2 and 4 pm", "下午两点到四点"."""
    early, late = first.clock, last.clock
    if early is None or late is None:
        return first, last
    if last.part is None and first.part is not None:
        last = replace(last, part=first.part)
    half = late.half
    if first.part is not None or early.half != "" or half not in ("a", "p"):
        return first, last
    if early.hour % 12 > late.hour % 12:
        half = "a" if half == "p" else "p"
    return replace(first, clock=replace(early, half=half)), last


def _edge(point: Point, day: date, frame: Frame, *, ends: bool) -> datetime:
    """Where a stretch begins or ends at a point: between two meals lies neither of them."""
    if point.clock is not None:
        return _at(day, _hour(point.clock, point.part))
    if point.part is not None:
        inner = point.part.kind == "meal"
        return _at(day, point.part.first_h if ends == inner else point.part.last_h)
    return _at(day, 24 if ends else 0)


def _utc(wall: Wall, frame: Frame) -> tuple[float, float]:
    """The span in UTC. Raises NoSuchTime where clocks went forward over all of it."""
    start = wall.start or (wall.end or frame.now) - ONE_DAY
    span = utc_span(start, wall.end or max(frame.now, start) + timedelta(seconds=1), frame.zone)
    if span is None:
        raise NoSuchTime("skipped")
    first = EVER_UTC_S if wall.start is None else span[0]
    last = max(frame.now_utc_s + 1.0, first + 1.0) if wall.end is None else span[1]
    return first, last
