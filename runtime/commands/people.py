"""`hearsight people`: whom the robot knows, their names, and everything residents put right about them."""

from __future__ import annotations

import argparse
from typing import get_args

from memory_store.records import Consent
from runtime.clock import iso_utc
from runtime.commands import people_correct, people_enroll, people_forget, people_show, session
from runtime.commands.people_find import find_person, namesakes, person_json
from runtime.commands.people_names import names_json
from runtime.name_evidence import maybe_names

__all__ = ["add_to", "find_person"]


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("people", help="list, name and correct people")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    listing = verbs.add_parser("list", parents=[shared], help="everybody the robot has met")
    listing.set_defaults(command=list_people)
    name = verbs.add_parser("name", parents=[shared], help="give a person a name")
    name.add_argument("person", help="number, person_N or present name")
    name.add_argument("name", help='the name; "" takes it away')
    name.set_defaults(command=name_person)
    consent = verbs.add_parser(
        "consent", parents=[shared], help="what somebody is here, which decides what they are told"
    )
    consent.add_argument("person", help="number, person_N or name")
    consent.add_argument("consent", choices=get_args(Consent))
    consent.set_defaults(command=set_consent)
    for module in (people_show, people_correct, people_forget, people_enroll):
        module.add_to(verbs, shared)


def list_people(options: argparse.Namespace) -> int:
    """Print everybody, one a line."""
    with session.opened(options) as (_, store):
        people, evidence = store.people(), store.name_evidence()
    if options.json:
        session.print_json([{**person_json(person), **names_json(person, evidence)} for person in people])
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


def name_person(options: argparse.Namespace) -> int:
    """Name one person."""
    with session.opened(options) as (_, store):
        person = find_person(store, options.person)
        with store.transaction():
            store.name_person(person.id, options.name or None, source="resident")
        named = store.person(person.id)
        others = [other for other in namesakes(store, named.name or "") if other.id != named.id]
    same = [f"person_{other.id}" for other in others if other.name]
    if options.json:
        session.print_json({**person_json(named), "same_name": same})
        return 0
    print(f"person_{named.id} is {named.name or 'without a name now'}.")
    if same:
        print(f"{', '.join(same)} has that name too: say person_{named.id} when you mean this one.")
    return 0


def set_consent(options: argparse.Namespace) -> int:
    """Record what somebody is in this household."""
    with session.opened(options) as (_, store):
        person = find_person(store, options.person)
        with store.transaction():
            store.set_consent(person.id, options.consent)
        person = store.person(person.id)
    if options.json:
        session.print_json(person_json(person))
    else:
        print(f"person_{person.id} ({person.label}) is {person.consent.replace('_', ' ')} now.")
    return 0
