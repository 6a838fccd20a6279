"""The objects of English facts: where one ends, whether it is one, and by which word it is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_EMPTY = re.compile(
    r"(?:it|its|that|this|these|those|them|they|you|your|yours|him|her|his|hers|their|he|she|me|us|mine|how|what|when|"
    r"where|why|which|who|everything|something|anything|nothing|everyone|everybody|someone|one|ones|some|such|any|all|"
    r"most|ever|real|hard|fetch|breakfast|lunch|dinner|supper|certain|few|couple|two|three|four|for|since|with|at|in|on|together|well|again|out|around|against|outside|inside|there|here|more|lot|lots|both|another|others?|same|each|either|seeing|hearing|being|having|getting|doing|"
    r"knowing|thinking|making|helping|giving|watching|sharing|taking|trying|spending)\b",
    re.IGNORECASE,
)
_SPEAKER_ONLY = re.compile(
    r"\b(?:you|your|yours|it|that|this|these|those|them|him|her|us|me|there|here|'s)\b", re.I
)
_VAGUE_VERBS = re.compile(
    r"to (?:be|think|see|know|hear|say|believe|call|get|have|do|make|go|take|try|keep|find|tell|give|help|let|use|"
    r"spend|add|start|bring|put|talk|look|come|share|stay|imagine)\b",
    re.IGNORECASE,
)
_HANGING = re.compile(
    r"(?:^|\s)(?:to|of|in|on|at|for|with|about|up|off|out|into|from|by|and|or|the|an?|my|our)$|^(?:not|never|no)\b",
    re.I,
)
_RELATIVE = re.compile(
    r"\s+(?:that|which|who|whose|where|like (?:this|that|these|those|it|him|her))\b", re.IGNORECASE
)
_DETERMINER = re.compile(
    r"(?:an?|the|some|any|my|our|their|his|her|to|more|lots of|all kinds of|all)\s+", re.I
)
_MONTH = (
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_DATE = re.compile(rf"\b(?:{_MONTH})\b|\b\d{{1,2}}(?:st|nd|rd|th)\b|\b(?:19|20)\d\d\b", re.IGNORECASE)
_NUMBER = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|some|many|no|an|a"


class EnglishObjects:
    """The rules of prompts/facts.en.yaml that are about objects."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._tail = re.compile(rf"\s+(?:{raw['tail']})\b.*$", re.IGNORECASE)
        self._tail_of_doing = re.compile(rf"\s+(?:{raw['tail_of_doing']})\b.*$", re.IGNORECASE)
        self._belongings = frozenset(raw["belongings"].split())
        self._professions = frozenset(raw["professions"].split())
        self._qualities = frozenset(raw["qualities"].split())
        self._places = re.compile(rf"\b(?:{raw['places']})\b", re.IGNORECASE)
        self._time = re.compile(rf"\b(?:{raw['time_words']})\b", re.IGNORECASE)
        self._counted = re.compile(rf"(?P<number>{_NUMBER}|\d+)\s+(?P<rest>.+)$", re.IGNORECASE)

    def read(self, relation: str, text: str) -> tuple[str, ...]:
        """The objects as they are said of a third person; () where the text holds none."""
        text = text.strip(" .,!?…;:*~-")
        match relation:
            case "has":
                return self._belonging(text)
            case "works_as":
                return self._profession(text)
            case "works_at":
                return self._bounded(
                    text, most=6, barred=r"(?:home|night|nights|day|it|that|this|free|my own)\b"
                )
            case "lives_in" | "from":
                return self._place(text)
            case "plans":
                return self._plan(text)
            case "plays" | "speaks" | "studies" | "collects":
                return self._each(self._bounded(text, most=4))
            case "allergic_to" | "drinks" | "eats" | "prefers":
                return self._each(self._bounded(text, most=4, barred=r"the\b"))
        return self._each(self._bounded(text, most=5, barred=r"the\b"))

    def quality(self, text: str) -> str:
        """What somebody is said to be ("vegan"), or ""."""
        first = re.sub(r"^an?\s+", "", text, flags=re.IGNORECASE)
        word = _WORD.match(first.replace("lactose intolerant", "lactose-intolerant"))
        if word is None or word.group().casefold() not in self._qualities:
            return ""
        rest = first[word.end() :].strip()
        return word.group().casefold() if not rest or not rest[:1].isalpha() or self._ends(rest) else ""

    def name_ends(self, text: str) -> bool:
        """Whether what follows a thing is no part of it."""
        return not text or not text[:1].isalpha() or self._ends(text)

    def date(self, text: str) -> str:
        """A day of the year, or ""."""
        said = re.sub(r"^(?:on|in)\s+", "", text.strip(" .,!"), flags=re.IGNORECASE)
        said = re.split(r"\s+(?:and|so|but|which|too|this year)\b", said)[0]
        return said if _DATE.search(said) and len(said.split()) <= 6 else ""

    def key(self, words: str) -> str:
        """By which words an object is known: without article and plural."""
        text = words.casefold().replace("’", "'")
        while (match := _DETERMINER.match(text)) is not None and match.end() < len(text):
            text = text[match.end() :]
        return " ".join(_singular(word) for word in _WORD.findall(text))

    def _bounded(self, text: str, *, most: int, barred: str = "") -> tuple[str, ...]:
        said = self._cut(text)
        if not said or len(said.split()) > most or _EMPTY.match(said) or _VAGUE_VERBS.match(said):
            return ()
        if _SPEAKER_ONLY.search(said) or _HANGING.search(said) or _RELATIVE.match(text[len(said) :]):
            return ()
        if barred and re.match(barred, said, re.IGNORECASE):
            return ()
        if re.search(r"^(?:a|an|the)\s+(?:\w+\s+)?(?:role|part|few|couple|lot|ton)\b", said):
            return ()
        said = re.sub(r"^(?:also|especially|even)\s+|\s+(?:itself|themselves)$", "", said)
        return (_of_another(said),)

    def _each(self, found: tuple[str, ...]) -> tuple[str, ...]:
        """ "tea and coffee" as two, where the parts are alike: "sci-fi and fantasy books" stays as it is."""
        parts = [part.strip() for said in found for part in re.split(r"\s+(?:and|or|&)\s+", said)]
        if len(parts) < 2:
            return found
        if any(not part or _EMPTY.match(part) for part in parts):
            return ()
        doing = [re.match(r"\w+ing\b", part) is not None for part in parts]
        alike = len({len(part.split()) for part in parts}) == 1 and (all(doing) or not any(doing))
        return tuple(parts) if alike else found

    def _belonging(self, text: str) -> tuple[str, ...]:
        match = self._counted.match(text)
        if match is None:
            return ()
        words = match["rest"].split()
        for at, word in enumerate(words[:4]):
            bare = word.strip(".,!?").casefold()
            if bare in self._belongings or _singular(bare) in self._belongings:
                return self._with_name(match["number"], words, at)
        return ()

    def _with_name(self, number: str, words: list[str], at: int) -> tuple[str, ...]:
        rest = " ".join(words[at + 1 :])
        named = re.match(r"(?:named|called)\s+([A-Z]\w+(?:\s+and\s+[A-Z]\w+)?)", rest)
        thing = " ".join(words[: at + 1]).strip(".,!?")
        if not named and not self.name_ends(rest):
            return ()
        counted = (
            thing if number.casefold() in ("no", "any", "some", "many") else f"{number.casefold()} {thing}"
        )
        return (f"{counted} named {named[1]}" if named else counted,)

    def _profession(self, text: str) -> tuple[str, ...]:
        match = re.match(r"(an?\s+)?(?P<what>.+)$", self._cut(text), re.IGNORECASE)
        if match is None:
            return ()
        words = re.split(r"\s+(?:at|in|for|from|of|and|here|by)\b", match["what"])[0].split()
        if not 1 <= len(words) <= 3 or words[-1].casefold().strip(".,!") not in self._professions:
            return ()
        if re.match(
            r"(?:good|great|bad|terrible|better|huge|real|big|natural|total|lucky|happy)$", words[0], re.I
        ):
            return ()
        what = " ".join(words)
        return (f"{'an' if what[0].casefold() in 'aeiou' else 'a'} {what}",)

    def _place(self, text: str) -> tuple[str, ...]:
        said = re.sub(
            r"\s+(?:by|near|close|just|about|right|last|back|alone|together|in \d+|\d+)\b.*$",
            "",
            self._cut(text),
        )
        said = re.sub(r"\s+and\s.*$", "", said)
        if not said or len(said.split()) > 5 or _SPEAKER_ONLY.search(said):
            return ()
        capital = re.search(r"(?:^|\s)[A-Z][a-z]+", said) and not re.match(r"(?:I|My)\b", said)
        return (said,) if capital or (self._places.search(said) and re.match(r"(?:an?|the)\b", said)) else ()

    def _plan(self, text: str) -> tuple[str, ...]:
        said = re.split(
            r"\s+(?:because|so|when|while|if|which|who|but|and (?:i|we|it|then)|for (?:a|the|my)|with)\b",
            text,
            flags=re.I,
        )[0]
        said = said.strip(" .,!?")
        if not 2 <= len(said.split()) <= 10 or _SPEAKER_ONLY.search(said) or re.match(r"\w+ing\b", said):
            return ()
        return (_of_another(said),)

    def has_time(self, text: str) -> bool:
        """Whether a text says when."""
        return self._time.search(text) is not None

    def _cut(self, text: str) -> str:
        tail = self._tail_of_doing if re.match(r"\w{2,}ing\b", text) else self._tail
        return tail.sub("", f" {text}").strip(" .,!?…;:*~-")

    def _ends(self, rest: str) -> bool:
        """Whether a text begins with what may stand after an object."""
        return bool(
            self._tail.match(f" {rest}")
            or re.match(
                r"(?:and|at|in|of|to|from|for|by|on|named|called|here|myself|back|today)\b", rest, re.I
            )
        )


def _of_another(said: str) -> str:
    """The words of a speaker as they are told of them: "my job" as "their job"."""
    said = re.sub(r"\b(?:my|our)\b", "their", said, flags=re.IGNORECASE)
    return re.sub(r"\b(?:myself|ourselves)\b", "themselves", said, flags=re.IGNORECASE)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return (
        word[:-1] if word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is")) else word
    )
