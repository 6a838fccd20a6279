"""How the robot words times, lists and its own sentences, in the language of the question."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from runtime.prompts import Language, load_phrases

_SAYS = re.compile(r'(?P<who>[^"“]{1,80}?)(?: says: "|说：“)(?P<what>.*)["”]')
_IN_VIEW = re.compile(r"(?P<who>[^\":]{1,80}?) is in view\.?")
_PICTURE = re.compile(r"A picture of (?P<who>[^\":]{1,80}?) is in view\.?")
_SCREEN = re.compile(r"A screen shows (?P<who>[^\":]{1,80}?)\.?")
_LINES = ((_SAYS, "says_line"), (_PICTURE, "picture_line"), (_SCREEN, "screen_line"), (_IN_VIEW, "view_line"))
_SOMEBODY = ("Somebody", "有人")

FIRST_KNOWN_UTC_S = 365 * 86400.0


@dataclass(frozen=True)
class Speech:
    """A language, the resident's zone and the present moment: all that a wording needs."""

    language: Language
    zone: ZoneInfo
    now_utc_s: float

    def phrase(self, key: str, **values: object) -> str:
        """The robot's sentence of that name with the values put in."""
        return load_phrases(self.language)[key].format(**values)

    def moment(self, utc_s: float) -> str:
        """A time as one says it: today at 10:30, yesterday at …, on Saturday 28 November 2026 at …."""
        if utc_s < FIRST_KNOWN_UTC_S:
            return self.phrase("unknown_time")
        local = datetime.fromtimestamp(utc_s, self.zone)
        today = datetime.fromtimestamp(self.now_utc_s, self.zone).date()
        if local.date() == today:
            return self.phrase("today", clock=local.strftime("%H:%M"))
        if local.date() == today - timedelta(days=1):
            return self.phrase("yesterday", clock=local.strftime("%H:%M"))
        return self.phrase("other_day", **self._date_parts(local))

    def _date_parts(self, local: datetime) -> dict[str, object]:
        return {
            "weekday": self.phrase("weekdays").split()[local.weekday()],
            "day": local.day,
            "month": self.phrase("months").split()[local.month - 1],
            "year": local.year,
            "clock": local.strftime("%H:%M"),
        }

    def is_same_day(self, one_utc_s: float, other_utc_s: float) -> bool:
        """Whether two moments are on the same local day."""
        one, other = (datetime.fromtimestamp(utc_s, self.zone) for utc_s in (one_utc_s, other_utc_s))
        return one.date() == other.date()

    def days(self, start_utc_s: float, end_utc_s: float) -> str:
        """The local days from one moment to before another: a date, two dates, a month, a year or around which."""
        first = datetime.fromtimestamp(start_utc_s, self.zone)
        end = datetime.fromtimestamp(end_utc_s, self.zone)
        last = datetime.fromtimestamp(end_utc_s - 1, self.zone)
        if (end - first).days > 31:
            if first.year == last.year:
                return self.phrase("whole_year", year=first.year)
            return self.phrase("around_year", year=(first + (end - first) / 2).year)
        parts = self._date_parts(first)
        if (first.day, end.day) == (1, 1) and end - first > timedelta(days=27):
            return self.phrase("whole_month", **parts)
        if end - first <= timedelta(hours=25):
            return self.phrase("date", **parts)
        return self.phrase(
            "dates", first=self.phrase("date", **parts), last=self.phrase("date", **self._date_parts(last))
        )

    def enumeration(self, items: list[str]) -> str:
        """Items as "a, b and c"."""
        if len(items) < 2:
            return "".join(items)
        return self.phrase("comma").join(items[:-1]) + self.phrase("and") + items[-1]

    def sentences(self, parts: list[str]) -> str:
        """Whole sentences one after the other."""
        return self.phrase("sentence_join").join(parts)

    def memory(self, line: str) -> str:
        """A grounded line in this language; every other line as it is."""
        for pattern, key in _LINES:
            match = pattern.fullmatch(line)
            if match is not None:
                values = match.groupdict()
                if values["who"] in _SOMEBODY:
                    values["who"] = self.phrase("someone_subject")
                elif values["who"] == "somebody":
                    values["who"] = self.phrase("someone_subject").lower()
                return self.phrase(key, **values)
        return line
