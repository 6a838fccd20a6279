"""Wall and monotonic time, handed to whoever needs it; tests hand in their own."""

from __future__ import annotations

import os
import time
from datetime import datetime
from typing import Protocol
from zoneinfo import ZoneInfo

# A device without a battery clock starts in 1970: nothing can have been recorded before this software existed.
EARLIEST_BELIEVABLE_UTC_S = datetime.fromisoformat("2025-01-01T00:00:00+00:00").timestamp()


class Clock(Protocol):
    """Seconds since 1970 UTC, and seconds that never run backwards."""

    def utc_s(self) -> float: ...
    def monotonic_s(self) -> float: ...


class SystemClock:
    """The machine's own clocks."""

    def utc_s(self) -> float:
        return time.time()

    def monotonic_s(self) -> float:
        return time.monotonic()


def asleep_s() -> float:
    """How long this machine has slept since it booted, in which its monotonic clock stood still."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


def is_believable(utc_s: float) -> bool:
    """Whether a wall clock reading can be true; clips read with another are marked "time unknown"."""
    return utc_s >= EARLIEST_BELIEVABLE_UTC_S


def local_zone(name: str) -> ZoneInfo:
    """The zone called `name`; where it is empty the system's own, or UTC if the system names none."""
    if name:
        return ZoneInfo(name)
    link = os.path.realpath("/etc/localtime")
    _, found, key = link.partition("zoneinfo/")
    try:
        return ZoneInfo(key) if found else ZoneInfo("UTC")
    except (KeyError, ValueError, OSError):
        return ZoneInfo("UTC")


def parse_instant(text: str, zone: ZoneInfo) -> float:
    """ISO 8601 text as seconds since 1970 UTC; local time of `zone` where the text names no offset.

    Raises:
        ValueError: `text` is no ISO time.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(
            f"{text!r} is no ISO time, such as 2026-05-01T09:30 or 2026-05-01T09:30:00Z"
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()


def iso_utc(utc_s: float) -> str:
    """`utc_s` as ISO 8601 text in UTC, to the millisecond."""
    return datetime.fromtimestamp(utc_s, ZoneInfo("UTC")).isoformat(timespec="milliseconds")
