"""Facts in English sentences: what people say that they like, have, are, plan, or no longer do.

Questions, suppositions, reports of what others said and everything half said are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from memory_store.records import Triple
from runtime.fact_claim import FactClaim
from runtime.fact_objects_en import EnglishObjects
from runtime.fact_subjects_en import EnglishSubjects
from runtime.name_claims_en import EnglishNames

_CLAUSE = re.compile(
    r"\s*[,()]\s*|:\s+|\s+-+\s+|\s+(?:and|but|so|because|cause|since|though|although|yet)\s+"
    r"(?=(?:now|nowadays|these days|I|I'm|I've|we|we're|we've|my|our|he|she|they|it|it's|that|this|these|there|you|your"
    r"|<\w+>)\b)",
    re.IGNORECASE,
)
_BETWEEN_ADJECTIVES = re.compile(r"\b(an? [a-z]+), (?=[a-z]+ [a-z])")  # "a safe, inviting place"
_VAGUE = re.compile(r"\b(?:part|thing|one|memory|moment|time)\b")
_NEVER = re.compile(r"never\s+|don't\s+|do not\s+|not\s+|haven't\s+", re.IGNORECASE)
_CHANGE = re.compile(r"\b(?:any ?more|any longer|now|nowadays|these days)\b", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?P<age>\d{1,3}|[a-z]+(?:-[a-z]+)?)(?P<unit> years? old| yrs old)?(?P<rest>.*)$", re.I
)
# "Today I start my new job at the library."
_JOB = re.compile(
    r"(?:have )?(?:just |recently )?(?:start(?:ed)?|begin|began|g[eo]t|found|have|took|accepted) (?:an?|my|the) "
    r"(?:(?!old\b)\w+ ){0,2}job (?P<place>(?:at|with|in) .+)$",
    re.IGNORECASE,
)
_DAY_OF_JOB = re.compile(
    r"^(?:today|tomorrow|yesterday|(?:last|this|next) \w+),? (?=I \w+ (?:an?|my|the) (?:\w+ ){0,2}job\b)",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"planning (?:to|on) (?P<plan>.+)$|going to (?P<go>.+)$|(?P<way>flying|travell?ing|driving|moving) to (?P<to>.+)$",
    re.IGNORECASE,
)


class EnglishFacts:
    """The rules of prompts/facts.en.yaml; names look as those of prompts/names.en.yaml."""

    def __init__(self, raw: Mapping[str, Any], names: EnglishNames) -> None:
        self._objects = EnglishObjects(raw)
        self._names = names
        self._subjects = EnglishSubjects(raw, names)
        self._verbs, self._states = raw["verbs"], raw["states"]
        self._gerunds = raw["gerunds"]
        self._verb = _longest_first(self._verbs)
        self._state = _longest_first(self._states)
        self._gerund = _longest_first(self._gerunds)
        self._perfects = raw["perfects"]
        self._perfect = re.compile(
            rf"have (?:always |(?P<never>never ))?(?P<verb>{'|'.join(self._perfects)})(?=\s)", re.IGNORECASE
        )
        self._pet = re.compile(
            rf"my (?P<pet>{raw['pets']})(?:'s name is| is (?:called|named)) (?P<name>[A-Z][a-z]+)\b",
            re.IGNORECASE,
        )
        self._adverbs = re.compile(rf"(?:{'|'.join(raw['adverbs'].split())})\s+", re.IGNORECASE)
        self._hedges = re.compile(rf"(?:^|\s)(?:{raw['hedges']})\b|'d\b", re.IGNORECASE)
        self._supposing = re.compile(rf"\b(?:{raw['supposing']})\b|[\"“”]", re.IGNORECASE)
        self._quoting = re.compile(rf"\b(?:{raw['quoting']})\b", re.IGNORECASE)
        self._lead = re.compile(rf"(?:(?:{raw['lead']})\b[\s,]*)+", re.IGNORECASE)

    def claims(self, sentence: str) -> Iterator[FactClaim]:
        """What one sentence says of the speaker, of theirs, and of others by name or tag."""
        sentence = _BETWEEN_ADJECTIVES.sub(r"\1 ", sentence.replace("’", "'").strip())
        if sentence.endswith("?") or self._supposing.search(sentence):
            return
        before, former = "", ""
        for clause in _CLAUSE.split(sentence):
            if self._quoting.search(before):
                return
            before += f" {clause}"
            for claim in self._clause(clause.strip(" .!*~"), former):
                former = claim.triple.relation if claim.changed and claim.triple.polarity < 0 else former
                yield claim
        if not self._quoting.search(sentence):
            for relation, words in self._subjects.relatives(sentence):
                yield self._claim(relation, 1, words)

    def key(self, words: str) -> str:
        """By which words an object is known."""
        return self._objects.key(words)

    def _clause(self, clause: str, former: str) -> Iterator[FactClaim]:
        lead = self._lead.match(clause)
        changed = bool(lead and re.search(r"\b(?:now|nowadays|these days)\b", lead.group(), re.IGNORECASE))
        clause = _DAY_OF_JOB.sub("", clause[lead.end() :] if lead else clause)
        if changed and former and re.match(r"(?:it's |only |just )*\w[\w -]{1,30}$", clause):
            found = list(self._objects.read(former, re.sub(r"^(?:it's |only |just )*", "", clause)))
            if found and not re.match(r"(?:I|we|my)\b", clause, re.I):
                yield from (self._claim(former, 1, words, changed=True) for words in found)
                return
        if self._hedges.search(clause):
            return
        for subject, by_name, rest in self._subjects.of(clause):
            for claim in self._predicate(rest):
                now = claim.changed or changed
                yield replace(
                    claim, triple=replace(claim.triple, subject=subject), by_name=by_name, changed=now
                )

    def _predicate(self, rest: str) -> Iterator[FactClaim]:
        """What a clause says, as if in the first person: "am allergic to nuts", "don't like tea any more"."""
        if rest.casefold().startswith("my "):
            yield from self._mine(rest)
            return
        polarity, changed, past = 1, False, False
        while True:
            if match := self._adverbs.match(rest):
                pass
            elif match := re.match(r"now\s+", rest, re.IGNORECASE):
                changed = True
            elif match := re.match(r"no longer\s+", rest, re.IGNORECASE):
                polarity, changed = -polarity, True
            elif match := _NEVER.match(rest):
                polarity = -polarity
            elif match := re.match(r"will (?=always\s)", rest, re.IGNORECASE):
                pass
            elif match := re.match(r"have been (?=\w+ing\b)", rest, re.IGNORECASE):
                rest = match.group() + self._gerund.sub(self._infinitive, rest[match.end() :], count=1)
            elif match := re.match(r"used to\s+", rest, re.IGNORECASE):
                polarity, changed, past = -polarity, True, True
            elif match := re.match(r"(?:have )?(?:stopped|quit|given up|gave up)\s+(?=\w+ing\b)", rest, re.I):
                polarity, changed = -1, True
                rest = match.group() + self._gerund.sub(self._infinitive, rest[match.end() :], count=1)
            else:
                break
            rest = rest[match.end() :]
        changed = changed or (not past and bool(_CHANGE.search(rest)))
        yield from self._said(rest, polarity, changed)

    def _infinitive(self, match: re.Match[str]) -> str:
        return str(self._gerunds[match[1].casefold()])

    def _said(self, rest: str, polarity: int, changed: bool) -> Iterator[FactClaim]:
        moved = re.match(r"(?:have )?(?:just |recently |also )?moved (?:back )?to (?P<place>.+)$", rest, re.I)
        if moved and polarity == 1:
            yield from self._claims("lives_in", 1, moved["place"], changed=True)
            return
        job = _JOB.match(rest)
        if job and polarity == 1:
            yield from self._claims("works_at", 1, job["place"].partition(" ")[2], changed=True)
            return
        if re.match(r"smoke\b", rest, re.IGNORECASE) and self._objects.name_ends(rest[5:].strip()):
            yield self._claim("smokes", polarity, "cigarettes", changed=changed)
            return
        born = re.match(r"was born (?P<rest>(?:on|in) .+)$", rest, re.IGNORECASE)
        if born:
            yield from self._born(born["rest"], polarity)
        if re.match(r"am\s", rest, re.IGNORECASE):
            yield from self._being(rest[3:], polarity, changed)
            return
        plan = re.match(r"plan (?:to|on) (?P<plan>.+)$", rest, re.IGNORECASE)
        if plan:
            yield from self._claims("plans", polarity, plan["plan"], changed=False)
            return
        perfect = self._perfect.match(rest)
        if perfect:
            rest = self._perfects[perfect["verb"].casefold()] + rest[perfect.end() :]
            polarity = -polarity if perfect["never"] else polarity
        match = self._verb.match(rest)
        if match is None:
            return
        relation, sign = self._verbs[match[1].casefold()]
        said = rest[match.end() :].strip()
        none = re.match(r"no\s+", said, re.IGNORECASE)
        if relation == "has" and (none or polarity < 0):
            said = re.sub(r"^no\s+", "any ", said, flags=re.IGNORECASE)
            polarity = -1
        yield from self._claims(relation, polarity * sign, said, changed=changed)

    def _being(self, rest: str, polarity: int, changed: bool) -> Iterator[FactClaim]:
        while match := self._adverbs.match(rest) or re.match(
            r"(?:not|no longer|now)\s+", rest, re.IGNORECASE
        ):
            word = match.group().strip().casefold()
            polarity = -polarity if word in ("not", "no longer") else polarity
            changed = changed or word in ("no longer", "now")
            rest = rest[match.end() :]
        if of := self._subjects.relative_of(rest):
            yield self._claim(of[0], polarity, of[1])
            return
        state = self._state.match(rest)
        if state:
            relation, sign = self._states[state[1].casefold()]
            yield from self._claims(relation, polarity * sign, rest[state.end() :].strip(), changed=changed)
            return
        plan = _PLAN.match(rest)
        if plan:
            yield from self._plan(plan, polarity)
        elif quality := self._objects.quality(rest):
            yield self._claim("is", polarity, quality, changed=changed)
        elif age := self._age(rest):
            yield self._claim("age", polarity, age, changed=False)
        elif re.match(r"an?\s", rest, re.IGNORECASE):
            yield from self._claims("works_as", polarity, rest, changed=changed)

    def _plan(self, plan: re.Match[str], polarity: int) -> Iterator[FactClaim]:
        if plan["plan"]:
            yield from self._claims("plans", polarity, plan["plan"], changed=False)
            return
        told = plan["go"] or plan["to"]
        if not self._objects.has_time(told):
            return
        if plan["go"]:
            verb = "go to " if re.match(r"[A-Z]", told) or re.match(r"(?:the|an?|my|see)\s", told) else ""
            yield from self._claims("plans", polarity, verb + told, changed=False)
        else:
            base = {"flying": "fly", "driving": "drive", "moving": "move"}.get(
                plan["way"].casefold(), "travel"
            )
            yield from self._claims("plans", polarity, f"{base} to {told}", changed=False)

    def _mine(self, clause: str) -> Iterator[FactClaim]:
        favourite = re.match(
            r"my (?P<what>favou?rite [\w -]{2,30}?) (?:is|are) (?P<object>.+)$", clause, re.I
        )
        if favourite:
            relation = favourite["what"].casefold().replace("favorite", "favourite")
            if len(relation.split()) <= 4 and not _VAGUE.search(relation):
                said = re.sub(r"^(?:definitely|probably)\s+", "", favourite["object"])
                yield from self._claims(relation, 1, said)
        birthday = re.match(r"my birthday is (?P<day>.+)$", clause, re.IGNORECASE)
        if birthday:
            yield from self._born(birthday["day"], 1)
        pet = self._pet.match(clause)
        if pet and self._names.is_name(pet["name"]):
            yield self._claim("has", 1, f"a {pet['pet'].casefold()} named {pet['name']}")

    def _born(self, text: str, polarity: int) -> Iterator[FactClaim]:
        if day := self._objects.date(text):
            yield self._claim("born_on", polarity, day)
        elif text.casefold().startswith("in ") and self._objects.read("from", text[3:]):
            yield from self._claims("from", polarity, text[3:])

    def _age(self, rest: str) -> str:
        match = _NUMBERED.match(rest)
        if match is None or not (
            match["unit"] or (match["age"].isdigit() and not match["rest"].strip(" .!"))
        ):
            return ""
        return match["age"].casefold() if match["age"].isdigit() or match["unit"] else ""

    def _claims(
        self, relation: str, polarity: int, text: str, *, changed: bool = False
    ) -> Iterator[FactClaim]:
        for words in self._objects.read(relation, text):
            yield self._claim(relation, polarity, words, changed=changed)

    def _claim(self, relation: str, polarity: int, words: str, *, changed: bool = False) -> FactClaim:
        return FactClaim(Triple(relation, self._objects.key(words), polarity, "", words), changed)


def _longest_first(table: Mapping[str, Any]) -> re.Pattern[str]:
    words = "|".join(sorted(map(re.escape, table), key=len, reverse=True))
    return re.compile(rf"({words})\b", re.IGNORECASE)
