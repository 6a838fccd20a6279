"""Whose an object is and from whom, as the lines tell it now: a corrected line or name counts as it was corrected."""

from __future__ import annotations

from dataclasses import dataclass

from memory_store.records import Node
from memory_store.store import MemoryStore


@dataclass(frozen=True)
class Owner:
    """Somebody an object belongs to or is from; `person_id` is None where nobody of that name is known."""

    relation: str
    person_id: int | None
    name: str
    line: Node


def owners_of(store: MemoryStore, object_id: int) -> list[Owner]:
    """What was said of an object, newest first."""
    found = []
    for line_id, detail in store.objects.told_of(object_id, ("belongs_to", "gift_from")):
        line = store.node(line_id)
        for claim in line.provenance.get("claims", ()):
            if claim.get("object") == object_id and claim.get("relation") == detail:
                person_id, name = _person(store, str(claim.get("name", "")), line)
                found.append(Owner(detail, person_id, name, line))
    return sorted(found, key=lambda owner: (-owner.line.start_utc_s, -owner.line.id, owner.relation))


def _person(store: MemoryStore, name: str, line: Node) -> tuple[int | None, str]:
    if not name:
        actors = [e.target for e in store.edges(line.id) if e.source == line.id and e.detail == "actor"]
        people = [person for actor in actors if (person := store.person_of(actor)) is not None]
        return (people[0].id, people[0].label) if people else (None, "")
    bearers = [person for person in store.people() if (person.name or "").casefold() == name.casefold()]
    return (bearers[0].id, bearers[0].label) if len(bearers) == 1 else (None, name)


def belongs(store: MemoryStore, object_id: int, person_ids: set[int], names: set[str]) -> Owner | None:
    """What ties an object to one of some people: that it is theirs, else that it is from them."""
    owners = owners_of(store, object_id)
    for relation in ("belongs_to", "gift_from"):
        for owner in owners:
            theirs = owner.person_id in person_ids or owner.name.casefold() in names
            if owner.relation == relation and theirs:
                return owner
    return None


def holders_of(store: MemoryStore, object_id: int) -> list[Owner]:
    """Who was seen with an object in the hand or using it, newest first."""
    found = []
    for line_id, detail in store.objects.told_of(object_id, ("held_by", "used_by")):
        line = store.node(line_id)
        person_id, name = _person(store, "", line)
        found.append(Owner(detail, person_id, name, line))
    return sorted(found, key=lambda owner: (-owner.line.start_utc_s, -owner.line.id))
