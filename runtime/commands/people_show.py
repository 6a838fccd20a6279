"""`hearsight people show`: all that is known about a person, and every change that can be undone."""

from __future__ import annotations

import argparse

from memory_store.history import HistoryRow
from memory_store.records import Person
from memory_store.store import MemoryStore
from runtime.clock import iso_utc
from runtime.commands import session
from runtime.commands.people_find import find_person, person_json
from runtime.commands.people_names import names_json
from runtime.media_files import MediaFiles

_LINES = 10
_FACTS = 50


def add_to(verbs: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    show = verbs.add_parser("show", parents=[shared], help="faces, voices, names and history of a person")
    show.add_argument("person", help="number, person_N or name")
    show.set_defaults(command=show_person)


def show_person(options: argparse.Namespace) -> int:
    """Print one person."""
    with session.opened(options) as (parts, store):
        person = find_person(store, options.person)
        value = _as_json(store, MediaFiles(parts.settings.data_dir), person)
        if options.json:
            session.print_json(value)
            return 0
        _print(store, person, value)
    return 0


def _as_json(store: MemoryStore, files: MediaFiles, person: Person) -> dict[str, object]:
    held = [exemplar for space in ("face", "voice") for exemplar in store.exemplars(space)]
    unlike = [negative for space in ("face", "voice") for negative in store.negatives(space)]
    bindings = [
        {
            "id": f"{binding.kind}_{binding.node_id}",
            "bound_by": binding.source,
            "pinned": binding.pinned,
            "exemplars": sum(exemplar.node_id == binding.node_id for exemplar in held),
            "negatives": sum(negative.node_id == binding.node_id for negative in unlike),
            "cannot_be": sorted(store.cannot_links(binding.node_id)),
        }
        for binding in store.bindings(person.id)
    ]
    value = person_json(person)
    portraits = [f"media/{name}" for name in _portraits(files, person)]
    rows = [_change(row) for row in store.history(person.id)]
    lines = [
        {"id": row.evidence[0], "start": iso_utc(row.start_utc_s), "kind": row.kind, "text": row.text}
        for row in store.timeline(person.id, limit=_LINES)
    ]
    names = names_json(person, store.name_evidence(person.id))
    told = {"facts": _facts(store, person), "lines": lines, "history": rows}
    return {**value, "portraits": portraits, "bindings": bindings, **names, **told}


def _facts(store: MemoryStore, person: Person) -> list[dict[str, object]]:
    """What was said of the person, by the memory that holds it, and whether it is believed now."""
    beliefs = store.beliefs(person.id, names=[person.name] if person.name else [])
    return [
        {
            "id": belief.node_ids[0],
            "text": store.render(store.node(belief.node_ids[0]).text),
            "current": belief.current,
            "clips": len(belief.statements),
            "last_said": iso_utc(belief.last_utc_s),
            "read_from": list(belief.line_ids),
        }
        for belief in beliefs[-_FACTS:]
    ]


def _portraits(files: MediaFiles, person: Person) -> list[str]:
    return [f"faces/{face}.jpg" for face in person.face_ids if files.find(f"faces/{face}.jpg") is not None]


def _change(row: HistoryRow) -> dict[str, object]:
    return {
        "id": row.id,
        "time": iso_utc(row.created_utc_s),
        "action": row.action,
        "by": row.source,
        "undoable": row.undoable and row.undone_by is None,
        "undone_by": row.undone_by,
        "detail": row.detail,
    }


def _print(store: MemoryStore, person: Person, value: dict[str, object]) -> None:
    state = "tentative, " if person.tentative else ""
    print(f"person_{person.id}: {person.name or 'no name'} ({state}{person.consent})")
    print(f"  met in {person.appearances} clips, from {value['first_seen']} to {value['last_seen']}")
    for binding in _rows(value, "bindings"):
        by = "pinned by a resident" if binding["pinned"] else "bound by code"
        print(
            f"  {binding['id']:<12} {binding['exemplars']} exemplars, {binding['negatives']} negatives, {by}"
        )
    for portrait in _texts(value, "portraits"):
        print(f"  portrait     {portrait}")
    for one in store.name_evidence(person.id):
        print(f"  heard        {one.name} ({one.weight:g}, {one.source}, memory {one.node_id})")
    for fact in _rows(value, "facts"):
        once = "" if fact["current"] else ", no longer believed"
        print(f"  [{fact['id']}] fact: {fact['text']} (said in {fact['clips']} clips{once})")
    for line in _rows(value, "lines"):
        print(f"  [{line['id']}] {line['start']}  {line['text']}")
    for row in _rows(value, "history"):
        undone = f", undone by {row['undone_by']}" if row["undone_by"] else ""
        print(f"  change {row['id']:<5} {row['time']}  {row['action']} by {row['by']}{undone}")


def _rows(value: dict[str, object], key: str) -> list[dict[str, object]]:
    found = value[key]
    assert isinstance(found, list)
    return found


def _texts(value: dict[str, object], key: str) -> list[str]:
    found = value[key]
    assert isinstance(found, list)
    return found
