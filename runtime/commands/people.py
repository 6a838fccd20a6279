"""`hearsight people`: whom the robot knows, and their names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from memory_store.records import NameEvidence, Person
from memory_store.store import MemoryStore
from runtime.clock import iso_utc
from runtime.commands import session
from runtime.errors import HearsightError
from runtime.media_files import portrait_name
from runtime.name_evidence import maybe_names, standing


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("people", help="list and name people")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    listing = verbs.add_parser("list", parents=[shared], help="everybody the robot has met")
    listing.set_defaults(command=list_people)
    name = verbs.add_parser("name", parents=[shared], help="give a person a name")
    name.add_argument("person", help="number, person_N or present name")
    name.add_argument("name")
    name.set_defaults(command=name_person)


def list_people(options: argparse.Namespace) -> int:
    """Print everybody, one a line."""
    with session.opened(options) as (_, store):
        people, evidence = store.people(), store.name_evidence()
    if options.json:
        session.print_json([{**_as_json(person), **_names_as_json(person, evidence)} for person in people])
        return 0
    maybe = maybe_names(evidence)
    for person in people:
        kinds = f"{len(person.face_ids)} face, {len(person.voice_ids)} voice"
        last = "never" if person.last_seen_utc_s is None else iso_utc(person.last_seen_utc_s)
        name = person.name or (f"maybe {maybe[person.id]}" if person.id in maybe else "-")
        print(f"person_{person.id:<5} {name:<16} {kinds:<16} {person.appearances:>5} clips  last {last}")
    if not people:
        print("Nobody yet.")
    return 0


def _as_json(person: Person) -> dict[str, object]:
    first, last = person.first_seen_utc_s, person.last_seen_utc_s
    return {
        "id": f"person_{person.id}",
        "name": person.name,
        "consent": person.consent,
        "tentative": person.tentative,
        "faces": [f"face_{face}" for face in person.face_ids],
        "voices": [f"voice_{voice}" for voice in person.voice_ids],
        "appearances": person.appearances,
        "first_seen": None if first is None else iso_utc(first),
        "last_seen": None if last is None else iso_utc(last),
        "portraits": [f"media/{portrait_name(face)}" for face in person.face_ids],
    }


def _names_as_json(person: Person, evidence: Sequence[NameEvidence]) -> dict[str, object]:
    """What was heard of a person's name: what it may be, how much each name weighs, and every piece."""
    own = [one for one in evidence if one.person_id == person.id]
    heard = [
        {
            "name": one.name,
            "weight": one.weight,
            "source": one.source,
            "clip": one.clip_id,
            "memory": one.node_id,
        }
        for one in own
    ]
    found = standing(own)
    maybe = found.maybe if person.name is None else None
    return {"name_evidence": {"maybe": maybe, "weights": found.weights, "heard": heard}}


def name_person(options: argparse.Namespace) -> int:
    """Name one person."""
    with session.opened(options) as (_, store):
        person = find_person(store, options.person)
        with store.transaction():
            store.name_person(person.id, options.name)
        named = store.person(person.id)
    if options.json:
        session.print_json(_as_json(named))
    else:
        print(f"person_{named.id} is {named.name}.")
    return 0


def find_person(store: MemoryStore, text: str) -> Person:
    """The person meant by a number, `person_N` or a name. Raises HearsightError when none or several are."""
    number = text.removeprefix("person_")
    if number.isascii() and number.isdecimal():
        return store.person(int(number))
    same = [person for person in store.people() if (person.name or "").casefold() == text.casefold()]
    if len(same) == 1:
        return same[0]
    if same:
        ids = ", ".join(f"person_{person.id}" for person in same)
        raise HearsightError(f"{len(same)} people are called {text}: say which of {ids}")
    raise HearsightError(f"nobody is called {text!r}: `hearsight people list` shows who is known")
