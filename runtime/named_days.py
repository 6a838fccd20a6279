"""Days with a name, such as Easter Monday or 中秋节, from the public holidays of the household's country."""

from __future__ import annotations

import re
import zoneinfo
from datetime import date, timedelta
from functools import cache
from pathlib import Path

import holidays

from runtime.prompts import time_words

_LANGUAGES = ("en_US", "zh_CN")
_NOT_THE_DAY = re.compile(r"observed|substitut|day off|调休|补假|^sunday$", re.IGNORECASE)


@cache
def country_of(zone: str) -> str:
    """The ISO 3166 code of the country that the zone database lists the zone under, or ""."""
    for directory in zoneinfo.TZPATH:
        table = Path(directory) / "zone.tab"
        if not table.is_file():
            continue
        for line in table.read_text(encoding="utf-8").splitlines():
            columns = line.split("\t")
            if len(columns) >= 3 and columns[2] == zone:
                return columns[0]
    return ""


@cache
def names(country: str, year: int) -> dict[str, list[tuple[date, date]]]:
    """By lower-case name: the spans of days, end not included, from the year before to the year after."""
    days: dict[str, set[date]] = {}
    years = range(year - 1, year + 2)
    for name, (month, of_month) in [
        *time_words("en").fixed_days.items(),
        *time_words("zh").fixed_days.items(),
    ]:
        days[name] = {date(one, month, of_month) for one in years}
    found = _of_country(country, list(years))
    for day, name in found or [(date(one, 12, 25), "christmas") for one in years]:
        days.setdefault(name, set()).add(day)
        short = (
            name.removeprefix("second day of ").removesuffix(" day").removeprefix("农历").removesuffix("节")
        )
        days.setdefault(short, set()).add(
            day
        )  # "Christmas Day" and the "Second Day of Christmas" are Christmas
        if name == "easter monday":
            for easter in ("easter", "easter sunday"):
                days.setdefault(easter, set()).add(day - timedelta(days=1))
            days["easter"].add(day)
    return {name: _spans(sorted(each)) for name, each in days.items()}


def _of_country(country: str, years: list[int]) -> list[tuple[date, str]]:
    if country not in holidays.list_supported_countries():
        return []
    languages = [None, *(language for language in _LANGUAGES if language in _supported(country))]
    calendars = [holidays.country_holidays(country, years=years, language=each) for each in languages]
    return [
        (day, name.strip().lower())
        for calendar in calendars
        for day, together in calendar.items()
        for name in together.split(";")
        if not _NOT_THE_DAY.search(name)
    ]


def _supported(country: str) -> tuple[str, ...]:
    return tuple(getattr(holidays.country_holidays(country), "supported_languages", ()))


def _spans(days: list[date]) -> list[tuple[date, date]]:
    """Days in a row as one span."""
    spans: list[tuple[date, date]] = []
    for day in days:
        if spans and spans[-1][1] == day:
            spans[-1] = (spans[-1][0], day + timedelta(days=1))
        else:
            spans.append((day, day + timedelta(days=1)))
    return spans
