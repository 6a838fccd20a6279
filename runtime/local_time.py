"""Local wall-clock times as UTC, where a day has 23 or 25 hours and some readings never or twice occur."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

EVER_UTC_S = 0.0  # nothing is remembered from before 1970


def utc_span(start: datetime, end: datetime, zone: ZoneInfo) -> tuple[float, float] | None:
    """The smallest half-open span of UTC seconds that holds every instant whose wall clock reads in [start, end).

    start, end: naive wall-clock times. What reads twice, when clocks go back, is in it both times; None where no
    instant reads so, because clocks went forward over it.
    """
    first, last = _first_at(start, zone), _last_before(end, zone)
    return (first, last) if first < last else None


def _first_at(wall: datetime, zone: ZoneInfo) -> float:
    """The first instant at which the clock reads `wall` or later; the jump itself where it jumps over `wall`."""
    early, late = _both(wall, zone)
    return _jump(late, early, zone) if early > late else early


def _last_before(wall: datetime, zone: ZoneInfo) -> float:
    """The instant up to which the clock reads earlier than `wall`, for the last time."""
    early, late = _both(wall, zone)
    if early > late:
        return _jump(late, early, zone)
    before = datetime.fromtimestamp(late - 1e-3, zone).replace(tzinfo=None)
    return late if before < wall else early  # a fold that begins at `wall` holds nothing earlier


def _both(wall: datetime, zone: ZoneInfo) -> tuple[float, float]:
    """What the reading means by the offset before and after a change of clocks; the same where there is none."""
    return (
        wall.replace(tzinfo=zone, fold=0).timestamp(),
        wall.replace(tzinfo=zone, fold=1).timestamp(),
    )


def _jump(low: float, high: float, zone: ZoneInfo) -> float:
    """The second within (low, high] at which the zone's offset changes."""
    before = datetime.fromtimestamp(low - 1.0, zone).utcoffset()
    low, high = float(int(low) - 1), float(int(high) + 1)
    while high - low > 1.0:
        middle = float((low + high) // 2)
        if datetime.fromtimestamp(middle, zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high
