"""Who is whose: "Ben's brother" in a question is Leo, where the memory says who that is; and how two are related."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memory_store.records import Belief, Person
from memory_store.store import MemoryStore
from runtime.fact_reading import kin_in, noun_relations
from runtime.grounding import language_of

Relative = Callable[[Person, str], Person | None]
_ASKS_WHO = re.compile(
    r"^(?:who(?:['’]s| is| are| was)|what(?:['’]s| is) the name of|谁是)\W*$", re.IGNORECASE
)

_OF = re.compile(r"\bthe (?P<kin>[a-z][a-z -]{2,20}?) of (?=\S)", re.IGNORECASE)


@dataclass(frozen=True)
class Kinship:
    """A relative of somebody, as which ("brother"), and what that rests on.

    teller: of whom the belief is: of the somebody ("my brother is Leo") or of the relative ("I'm Ben's brother").
    """

    relative: Person
    relation: str
    teller: Person
    belief: Belief


def kinships(store: MemoryStore, person: Person, relations: Sequence[str]) -> list[Kinship]:
    """Who is believed to be somebody's brother and so on now; names of none or of two people tell of nobody."""
    people = store.people()
    carriers = Counter(one.name.casefold() for one in people if one.name)
    alone = {one.name.casefold(): one for one in people if one.name and carriers[one.name.casefold()] == 1}
    own = person.name.casefold() if person.name else ""
    called = {name: one for name, one in alone.items() if one.id != person.id}
    found = [
        Kinship(called[name], belief.triple.relation, person, belief)
        for belief in _held(store, person, relations)
        if (name := belief.triple.words.casefold()) in called
    ]
    if own in alone:
        wanted = [f"{relation} of" for relation in relations]
        found += [
            Kinship(one, belief.triple.relation.removesuffix(" of"), one, belief)
            for one in called.values()
            for belief in _held(store, one, wanted)
            if belief.triple.words.casefold() == own
        ]
    return found


def _held(store: MemoryStore, person: Person, relations: Sequence[str]) -> list[Belief]:
    """What is believed now and tells of the person, not of theirs."""
    names = [person.name] if person.name else []
    beliefs = store.beliefs(person.id, names=names, relations=relations)
    return [one for one in beliefs if one.current and one.triple.polarity > 0 and not one.triple.subject]


def relative_of(store: MemoryStore, person: Person, relation: str) -> Person | None:
    """Whom the memory knows as somebody's brother, daughter and so on; None for nobody, and for more than one."""
    found = {one.relative.id: one.relative for one in kinships(store, person, (relation,))}
    return next(iter(found.values())) if len(found) == 1 else None


def between(store: MemoryStore, one: Person, other: Person) -> list[Kinship]:
    """All that is believed of how two people are related, said by either or of either."""
    relations = noun_relations()
    return [kin for kin in kinships(store, one, relations) if kin.relative.id == other.id] + [
        kin for kin in kinships(store, other, relations) if kin.relative.id == one.id
    ]


def with_relatives_named(
    text: str, people: Sequence[Person], pattern_of: Callable[[str], re.Pattern[str]], relative: Relative
) -> str:
    """The question with such a relative called by name; one that asks who the relative is stays as it is."""
    chinese = language_of(text) == "zh"
    if not chinese:
        text = _with_name_first(text, people, pattern_of)
    for person in people:
        for match in list(pattern_of(person.name).finditer(text)) if person.name else ():
            behind = text[match.end() :]
            relation, rest = kin_in(behind.lstrip(" 的"), "zh" if chinese else "en")
            rest_at = behind.rfind(rest) if rest else len(behind)
            if not relation or rest_at < 0 or _ASKS_WHO.match(text[: match.start()]):
                continue
            meant = relative(person, relation)
            if meant is not None and meant.name:
                gap = "" if chinese or behind[rest_at:].startswith(("'", "’", "?")) else " "
                return f"{text[: match.start()]}{meant.name}{gap}{behind[rest_at:]}"
    return text


def _with_name_first(
    text: str, people: Sequence[Person], pattern_of: Callable[[str], re.Pattern[str]]
) -> str:
    """ "The brother of Ben" as "Ben's brother"."""
    for match in _OF.finditer(text):
        relation, rest = kin_in(match["kin"], "en")
        for person in people if relation and not rest else ():
            name = pattern_of(person.name).match(text, match.end()) if person.name else None
            if name is not None:
                return f"{text[: match.start()]}{person.name}'s {match['kin']}{text[name.end() :]}"
    return text
