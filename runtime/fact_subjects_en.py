"""Of whom an English clause tells: the speaker, somebody of theirs, or somebody by name; and who is whose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.name_claims_en import EnglishNames

_THIRD = {
    "is": "am", "has": "have", "doesn't": "don't", "does not": "do not", "isn't": "am not", "hasn't": "haven't",
}  # fmt: skip


class EnglishSubjects:
    """The rules of prompts/facts.en.yaml that are about people and pets."""

    def __init__(self, raw: Mapping[str, Any], names: EnglishNames) -> None:
        self._names = names
        self._kin_forms = raw["kin_forms"]
        kin = raw["kin"]
        self._kin_called = re.compile(
            rf"(?:and )?my (?P<kin>{kin})(?:'s name is| is (?:called|named)) (?P<name>[A-Z][a-z]+)\b",
            re.IGNORECASE,
        )
        self._kin = re.compile(rf"my (?P<kin>{kin})\b(?P<rest>.*)$", re.IGNORECASE)
        self._kin_named = re.compile(
            rf"\b[Mm]y (?P<kin>{kin})(?P<comma>,)? (?P<name>[A-Z][a-z]+)\b(?!')(?(comma)(?=,|\.?$))"
        )
        self._is_kin = re.compile(rf"(?:is|are) (?:also )?my (?P<kin>{kin})\b(?P<rest>.*)$", re.IGNORECASE)
        self._kin_of = re.compile(
            rf"(?:(?P<whose>[^\W\d_]+)'s (?:\w+ )??(?P<kin>{kin})|(?:the|an?) (?P<of_kin>{kin}) of (?P<of>[^\W\d_]+))\b"
            r"(?=$|\s+(?:and|from|here|who|as well|too)\b)",
            re.IGNORECASE,
        )
        self._pet_named = re.compile(rf"\b[Mm]y (?:\w+ )?(?P<pet>{raw['pets']}),? (?P<name>[A-Z][a-z]+)\b")

    def of(self, clause: str) -> Iterator[tuple[str, bool, str]]:
        """Of whom a clause tells: "" for the speaker, their kin, or a name; and the rest as if the speaker said "I"."""
        match = re.match(
            r"(?:(?:me|[A-Z][a-z]+|my [a-z]+) and )?(?:I|we)(?P<short>'m|'re|'ve)?\s+(?P<rest>.+)$",
            clause,
            re.IGNORECASE,
        )
        if match:
            short = {"'m": "am ", "'re": "am ", "'ve": "have "}.get((match["short"] or "").casefold(), "")
            yield "", False, short + re.sub(r"^are\b", "am", match["rest"])
            return
        match = re.match(r"<(?:face|voice)_\d+>\s+(?P<rest>.+)$", clause)
        if match:
            yield "", False, _first_person(match["rest"])
            return
        if re.match(r"my\s", clause, re.IGNORECASE):
            yield from self._of_mine(clause)
            return
        name, after = self._names.name_at(clause)
        if name and re.match(r"\s+\w", after) and not re.match(r"\s+(?:and|or)\b", after):
            yield name.casefold(), True, _first_person(after.strip())

    def _of_mine(self, clause: str) -> Iterator[tuple[str, bool, str]]:
        favourite = re.match(
            r"my (?P<what>favou?rite [\w -]{2,30}?) (?:is|are) (?P<object>.+)$", clause, re.I
        )
        if favourite or re.match(r"my (?:birthday|dog|cat|name)\b", clause, re.IGNORECASE):
            yield "", False, clause
        match = self._kin.match(clause)
        if match is None:
            return
        rest = match["rest"]
        named = re.match(r",?\s+(?P<name>[A-Z][a-z]+)\s+(?P<rest>.+)$", rest)
        rest = named["rest"] if named else rest.strip()
        if re.match(r"(?:and|'s|or)\b|'", rest):
            return
        yield self._kin_word(match["kin"]), False, _first_person(rest)

    def relatives(self, sentence: str) -> Iterator[tuple[str, str]]:
        """Who is whose, as relation and object: "my brother Leo", "Leo is my brother", "my brother's name is Leo"."""
        for match in self._kin_named.finditer(sentence):
            if self._names.is_name(match["name"]):
                yield self._kin_word(match["kin"]), match["name"]
        for match in self._pet_named.finditer(sentence):
            if self._names.is_name(match["name"]):
                yield "has", f"a {match['pet']} named {match['name']}"
        for clause in re.split(r"[,;:]\s*", sentence.strip(" .!")):
            named = self._kin_called.match(clause)
            if named and self._names.is_name(named["name"]):
                yield self._kin_word(named["kin"]), named["name"]
            name, after = self._names.name_at(clause)
            who = self._is_kin.match(after.strip()) if name else None
            if who and re.match(r"\W*$|\s+(?:and|who|he|she|from)\b", who["rest"]):
                yield self._kin_word(who["kin"]), name

    def relative_of(self, being: str) -> tuple[str, str] | None:
        """Whose relative somebody is, as relation and name: "Ben's brother" is ("brother of", "Ben")."""
        match = self._kin_of.match(being)
        name = (match["whose"] or match["of"]) if match else None
        if match is None or name is None or not self._names.is_name(name):
            return None
        return f"{self._kin_word(match['kin'] or match['of_kin'])} of", name

    def _kin_word(self, said: str) -> str:
        low = " ".join(said.casefold().split())
        bare = re.sub(
            r"^(?:(?:older|younger|elder|big|little|baby|twin|late|best|dear|old|good)\s+)+", "", low
        )
        return str(self._kin_forms.get(bare, bare))


def _first_person(rest: str) -> str:
    """A predicate of a third person as one of the first: "likes tea" as "like tea"."""
    low = rest.casefold()
    for third, first in sorted(_THIRD.items(), key=lambda pair: -len(pair[0])):
        if re.match(rf"{third}\b", low):
            return first + rest[len(third) :]
    match = re.match(
        r"(?P<adverb>(?:really|also|still|now|always|only|never|no longer)\s+)?"
        r"(?P<verb>[a-z]+?)(?P<s>(?<=[sc]h)es|ies|s)\b",
        rest,
    )
    if match is None:
        return rest
    verb = match["verb"] + ("y" if match["s"] == "ies" else "")
    return (match["adverb"] or "") + verb + rest[match.end() :]
