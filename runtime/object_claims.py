"""What people say of things in view: whose they are, and from whom; kept with the line and as edges of the object.

"This cup is a gift from Bob", "Leo gave me this book", "that's my cup", "这个杯子是Bob送的". Questions, denials and
everything that leaves open which thing is meant are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memory_store.records import Person
from memory_store.store import MemoryStore
from runtime.grounded import GroundedLine
from runtime.object_changes import PlacedThing
from runtime.object_kinds import alike, find_kinds
from runtime.quotes import sentences_in, states_something

ClaimRelation = Literal["belongs_to", "gift_from"]


@dataclass(frozen=True)
class ObjectClaim:
    """A thing of a class belongs to somebody or is from somebody: by name, or, where that is "", the speaker."""

    relation: ClaimRelation
    label: str
    name: str


# Latin capitals: A, É, Ö, Ş.
_CAPITAL = f"[{''.join(letter for letter in map(chr, range(0x250)) if letter.isupper())}]"
_NAME = rf"(?P<name>{_CAPITAL}[\w'’-]*(?: {_CAPITAL}[\w'’-]*)?)"
_THIS = r"(?:[Tt]his|[Tt]hat|[Tt]he)"
_THING = r"(?:\w+ ){0,2}?(?P<thing>\x00\d+\x00)"
_BE = r"(?:is|was|'s|’s)"
_ENGLISH: tuple[tuple[ClaimRelation, re.Pattern[str]], ...] = (
    ("gift_from", re.compile(rf"\b{_THIS} {_THING} {_BE} (?:a |my )?(?:\w+ )?(?:gift|present) from {_NAME}")),
    ("gift_from", re.compile(rf"\b{_NAME} (?:gave|bought|brought|got) (?:me|us) (?:this|that) {_THING}")),
    ("gift_from", re.compile(rf"\b(?:I|[Ww]e) (?:got|have) {_THIS} {_THING} from {_NAME}")),
    ("belongs_to", re.compile(rf"\b(?:[Tt]his|[Tt]hat|[Ii]t) ?{_BE} (?P<mine>my) {_THING}")),
    ("belongs_to", re.compile(rf"\b{_THIS} {_THING} (?:{_BE} (?P<mine>mine)|belongs to (?P<me>me))\b")),
    ("belongs_to", re.compile(rf"\b(?:[Tt]his|[Tt]hat) ?{_BE} {_NAME}['’]s {_THING}")),
    ("belongs_to", re.compile(rf"\b{_THIS} {_THING} (?:belongs to {_NAME})")),
)  # fmt: skip
_ONE = r"(?P<thing>\x00\d+\x00)"
_THIS_ZH = r"[这那](?:一)?[个本只把台部条张]?"
_NAME_ZH = r"(?P<name>[A-Za-z][\w-]*(?: [A-Z]\w*)?|[\u4e00-\u9fff]{2,3}?)"
_CHINESE: tuple[tuple[ClaimRelation, re.Pattern[str]], ...] = (
    ("gift_from", re.compile(rf"{_THIS_ZH}{_ONE}是(?!我送){_NAME_ZH}(?:送|给|买)(?:给)?(?:我|我们)?的")),
    ("gift_from", re.compile(rf"^{_NAME_ZH}(?:送|给)(?:给)?(?:了)?(?:我|我们)(?:了)?{_THIS_ZH}{_ONE}")),
    ("belongs_to", re.compile(rf"[这那]是(?P<mine>我)的{_ONE}")),
    ("belongs_to", re.compile(rf"{_THIS_ZH}{_ONE}是(?P<mine>我)的")),
    ("belongs_to", re.compile(rf"[这那]是{_NAME_ZH}的{_ONE}")),
    ("belongs_to", re.compile(rf"{_THIS_ZH}{_ONE}是(?![^\x00]*[送给买]){_NAME_ZH}的$")),
)  # fmt: skip
_DENIED = re.compile(
    r"\b(?:not|never|if|maybe|perhaps|think|guess|would|could|might)\b|n['’]t\b|不|没|如果|也许|可能|好像",
    re.IGNORECASE,
)
_NO_NAMES = frozenset(
    (
        "i",
        "he",
        "she",
        "they",
        "we",
        "you",
        "it",
        "who",
        "what",
        "somebody",
        "someone",
        "my",
        "他",
        "她",
        "你",
        "谁",
    )
)


def read_claims(said: str) -> list[ObjectClaim]:
    """What a quote says of the belonging of things."""
    return [claim for sentence in sentences_in(said) for claim in _sentence_claims(sentence)]


def _sentence_claims(sentence: str) -> list[ObjectClaim]:
    found = find_kinds(sentence)
    if not found or not states_something(sentence) or _DENIED.search(sentence):
        return []
    masked, end = "", 0
    for number, (start, stop, _) in enumerate(found):
        masked += f"{sentence[end:start]}\0{number}\0"
        end = stop
    masked = (masked + sentence[end:]).rstrip(" .!。！")
    claims = []
    for relation, pattern in (*_ENGLISH, *_CHINESE):
        for match in pattern.finditer(masked):
            parts = match.groupdict()
            name = (parts.get("name") or "").strip()
            mine = parts.get("mine") or parts.get("me")
            if not mine and (not name or name.casefold() in _NO_NAMES or "\0" in name):
                continue
            claims.append(ObjectClaim(relation, found[int(parts["thing"].strip("\0"))][2], name))
    return claims


def claim_objects(
    store: MemoryStore, lines: Sequence[GroundedLine], placed: Sequence[PlacedThing]
) -> list[GroundedLine]:
    """The lines, those that tell whose a thing in view is tied to it; the objects get their edges."""
    told = []
    for line in lines:
        said = str(line.provenance.get("said", "")) if line.event == "heard" else ""
        if line.provenance.get("speech_source") == "screen":
            said = ""
        claims = []
        mentions = list(line.mentions)
        for claim in read_claims(said):
            object_id = _meant(claim, placed, line)
            if object_id is None:
                continue
            claims.append({"object": object_id, "relation": claim.relation, "name": claim.name})
            mentions.append((object_id, claim.relation))
            owner = _node_of(store, claim, line)
            if owner is not None:
                store.add_edge(object_id, owner, "entity_link", detail=claim.relation)
        more = {"claims": claims} if claims else {}
        told.append(replace(line, provenance={**line.provenance, **more}, mentions=tuple(mentions)))
    return told


def _meant(claim: ObjectClaim, placed: Sequence[PlacedThing], line: GroundedLine) -> int | None:
    """The object that is meant: the only one of its class in view, or the one in the speaker's hand."""
    known = [one for one in placed if one.thing.node_id is not None]
    in_view = [one for one in known if one.label == claim.label]
    in_view = in_view or [one for one in known if one.label in alike(claim.label)]
    held = [one for one in in_view if one.grip is not None and one.grip.face_id in line.actors]
    for group in (held, in_view):
        ids = {one.thing.node_id for one in group}
        if len(ids) == 1:
            return ids.pop()
    return None


def _node_of(store: MemoryStore, claim: ObjectClaim, line: GroundedLine) -> int | None:
    """The face or voice of whom a claim is about, where exactly one person bears the name."""
    if not claim.name:
        return line.actors[0] if line.actors else None
    bearers = [one for one in store.people() if (one.name or "").casefold() == claim.name.casefold()]
    nodes = _nodes(bearers[0]) if len(bearers) == 1 else ()
    return nodes[0] if nodes else None


def _nodes(person: Person) -> tuple[int, ...]:
    return (*person.face_ids, *person.voice_ids)
