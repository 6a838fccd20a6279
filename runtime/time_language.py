"""One language's words for times: what is looked for in a text, in which order, and what it is read into."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from runtime import named_days
from runtime.time_items import Item, Link, NoSuchTime, Side, Value, named_day

Builder = Callable[[re.Match[str]], list[Value]]
READ = "\x01"  # stands for characters that were read as a time
_SideWord = Literal["before", "after", "since", "until", "around"]
_SIDES: tuple[_SideWord, ...] = ("before", "after", "since", "until", "around")


@dataclass(frozen=True)
class TimeLanguage:
    """Rules tried in turn over lower-case text. A group `pre` must be there, and is no part of the time.

    links: groups `from`, `to` and `and`, what stands at the ends of a stretch; sides: groups named as in `Side`;
    future, past: words that speak of what is to come, or was; filler: what may stand between a side and its time;
    sides_follow: whether the word for a side comes after the time. named_days: names of days that are common, or
    hints that there may be one; before_name: what must stand before such a name.
    """

    rules: tuple[tuple[re.Pattern[str], Builder], ...]
    links: re.Pattern[str]
    sides: re.Pattern[str]
    future: re.Pattern[str]
    past: re.Pattern[str]
    filler: re.Pattern[str]
    named_days: re.Pattern[str]
    before_name: str
    sides_follow: bool = False

    def read(self, text: str, country: str, year: int) -> list[Item]:
        """The items in the order in which they stand; country, year: of the days' names. Raises NoSuchTime."""
        found: list[Item] = []

        def blank(match: re.Match[str], build: Builder) -> str:
            start = match.end("pre") if "pre" in match.re.groupindex else match.start()
            try:
                found.extend(Item(start, match.end(), value) for value in build(match))
            except NoSuchTime as error:
                raise NoSuchTime(str(error), match.group()) from error
            return match.group()[: start - match.start()] + READ * (match.end() - start)

        for pattern, build in [*self._rules_of_names(text, country, year), *self.rules]:
            text = pattern.sub(partial(blank, build=build), text)
        found.sort(key=lambda item: item.start)
        return sorted(found + self._beside(text, found), key=lambda item: item.start)

    def _rules_of_names(self, text: str, country: str, year: int) -> list[tuple[re.Pattern[str], Builder]]:
        """A rule for the names of days, where the text may hold one: the calendar is read only then."""
        hints = [match.group() for match in self.named_days.finditer(text)]
        if not hints:
            return []
        known = named_days.names(country, year)
        alone = [hint for hint in hints if re.fullmatch(r"\w+", hint)]
        words = "|".join(re.escape(name) for name in sorted({*known, *alone}, key=len, reverse=True))
        end = r"\b" if self.before_name else "节?"
        pattern = re.compile(rf"(?P<pre>{self.before_name})(?P<name>{words}){end}")
        return [(pattern, lambda match: [named_day(match["name"])])]

    def _beside(self, text: str, found: list[Item]) -> list[Item]:
        """The sides and links that stand beside a time."""
        beside: list[Item] = []
        starts, ends = {item.start for item in found}, {item.end for item in found}
        for match in self.links.finditer(text):
            follows = self._next(text, match.end()) in starts
            precedes = self._previous(text, match.start()) in ends
            if match.lastgroup == "from" and follows:
                beside.append(Item(*match.span(), Link("from")))
            elif match.lastgroup in ("to", "and") and follows and precedes:
                beside.append(Item(*match.span(), Link("to" if match.lastgroup == "to" else "and")))
        linked = {item.start for item in beside}
        for match in self.sides.finditer(text):
            near = (
                self._previous(text, match.start()) in ends
                if self.sides_follow
                else self._next(text, match.end()) in starts
            )
            word = next(word for word in _SIDES if match[word])
            if near and match.start() not in linked:
                beside.append(Item(*match.span(), Side(word)))
        return beside

    def _next(self, text: str, at: int) -> int:
        match = self.filler.match(text, at)
        return match.end() if match else at

    def _previous(self, text: str, at: int) -> int:
        while at > 0 and text[at - 1] in " ,，、的":
            at -= 1
        return at
