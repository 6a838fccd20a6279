"""Amounts of time before and after the present moment: "two hours ago", "in the last three days"."""

from __future__ import annotations

from datetime import datetime

from runtime.local_time import utc_span
from runtime.time_items import ONE_DAY, Days, Exact, Frame, NoSuchTime, Period, Unit, month_days

SECONDS = {"minute": 60.0, "hour": 3600.0}
HALF = {"week": (3, 4), "month": (15, 16), "year": (182, 183)}  # days: an amount ago is half a unit exact
LEAST_SLACK_S = 300.0
MOST_YEARS = 1000.0


def amount_ago(count: float, unit: Unit) -> Period | Exact:
    """So long before now (a negative count: after), half a unit exact; from days on whole days."""
    if unit in ("minute", "hour"):
        length_s = count * SECONDS[unit]
        slack_s = max(LEAST_SLACK_S, SECONDS[unit] / 2 if abs(count) >= 1 else length_s / 2)
        return Exact(
            lambda frame: (frame.now_utc_s - length_s - slack_s, frame.now_utc_s - length_s + slack_s)
        )

    def days(frame: Frame, within: Days | None) -> Days:
        centre = back(frame.now, count, unit).date()
        before, after = HALF.get(unit, (0, 1))
        return centre - before * ONE_DAY, centre + after * ONE_DAY

    return Period(days, 1)


def last_amount(count: float, unit: Unit) -> Exact:
    """From so long ago until now, the present second included."""

    def span(frame: Frame) -> tuple[float, float]:
        if unit in ("minute", "hour"):
            return frame.now_utc_s - count * SECONDS[unit], frame.now_utc_s + 1.0
        start = utc_span(back(frame.now, count, unit), frame.now, frame.zone)
        return frame.now_utc_s if start is None else start[0], frame.now_utc_s + 1.0

    return Exact(span)


def back(moment: datetime, count: float, unit: Unit) -> datetime:
    """The wall-clock moment so many days, weeks, months or years earlier. Raises NoSuchTime."""
    if abs(count) * {"day": 1 / 365, "week": 1 / 52, "month": 1 / 12}.get(unit, 1.0) > MOST_YEARS:
        raise NoSuchTime("too_far")
    if unit in ("day", "week"):
        return moment - count * (7 if unit == "week" else 1) * ONE_DAY
    months = moment.year * 12 + moment.month - 1 - round(count * (12 if unit == "year" else 1))
    first, end = month_days(months // 12, months % 12 + 1)
    return moment.replace(year=first.year, month=first.month, day=min(moment.day, (end - ONE_DAY).day))
