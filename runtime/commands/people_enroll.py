"""`hearsight people enroll`: somebody becomes known from photos and sound files."""

from __future__ import annotations

import argparse
from pathlib import Path

from memory_store.records import Person
from memory_store.store import MemoryStore
from runtime import compose_enroll
from runtime.clock import SystemClock
from runtime.commands import session
from runtime.commands.people_find import find_person, namesakes, person_json
from runtime.enroll import enroll
from runtime.errors import HearsightError
from runtime.media_files import MediaFiles


def add_to(verbs: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser("enroll", parents=[shared], help="learn a person from photos or sound files")
    parser.add_argument("name", help="a new name, or somebody known: number, person_N or name")
    parser.add_argument("--photo", type=Path, nargs="+", default=[], metavar="FILE", help="one face each")
    parser.add_argument("--voice", type=Path, nargs="+", default=[], metavar="FILE", help="one voice each")
    parser.set_defaults(command=enroll_person)


def enroll_person(options: argparse.Namespace) -> int:
    """Enrol one person."""
    if not options.photo and not options.voice:
        raise HearsightError("nothing to learn from: give --photo FILE … or --voice FILE …")
    with session.opened(options) as (parts, store):
        person = _known(store, options.name)
        samples = compose_enroll.face_photos(parts).samples(options.photo) if options.photo else []
        if options.voice:
            samples += compose_enroll.voice_files(parts).samples(options.voice)
        done = enroll(
            store,
            MediaFiles(parts.settings.data_dir),
            samples,
            name=options.name,
            person=person,
            rules=compose_enroll.match_rules(parts),
            now_utc_s=SystemClock().utc_s(),
        )
    if options.json:
        alike = [f"person_{other.id}" for other in done.alike]
        session.print_json({"person": person_json(done.person), "samples": done.samples, "alike": alike})
        return 0
    print(f"person_{done.person.id} is {done.person.label}, known from {done.samples} more files.")
    for other in done.alike:
        print(
            f"person_{other.id} ({other.label}) looks or sounds the same: `hearsight people merge"
            f" person_{done.person.id} person_{other.id}` if they are one."
        )
    return 0


def _known(store: MemoryStore, name: str) -> Person | None:
    is_id = name.removeprefix("person_").isdecimal()
    return find_person(store, name) if is_id or namesakes(store, name) else None
