"""`hearsight memory objects`: the things of the household that have an id."""

from __future__ import annotations

import argparse

from memory_store.objects import KnownObject
from memory_store.store import MemoryStore
from runtime.clock import iso_utc
from runtime.commands import session
from runtime.object_owners import owners_of
from runtime.object_places import spot_words


def add_to(verbs: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to `hearsight memory`."""
    parser = verbs.add_parser(
        "objects", parents=[shared], help="things that are known again, and where they are"
    )
    parser.add_argument("--class", dest="label", metavar="CLASS", help='only these, such as "cup"')
    parser.set_defaults(command=list_objects)


def list_objects(options: argparse.Namespace) -> int:
    """Print the objects, one a line."""
    with session.opened(options) as (parts, store):
        known = store.objects.known(None if options.label is None else [options.label])
        values = [object_json(store, one) for one in known]
        if options.json:
            session.print_json(values)
            return 0
        for value in values:
            owner = f", {value['owner']}" if value["owner"] else ""
            once = ", seen in one clip only" if value["tentative"] else ""
            print(
                f"[{value['id']}] {value['class']:<14} {value['first_seen']} to {value['last_seen']}"
                f"  {value['where']} ({value['place']}){owner}{once}"
            )
            if value["picture"]:
                print(f"      picture: {parts.settings.data_dir / str(value['picture'])}")
        if not values:
            print("No object is known yet.")
    return 0


def object_json(store: MemoryStore, one: KnownObject) -> dict[str, object]:
    """An object as plain values; `picture` is a file under the data directory."""
    latest = next(iter(store.objects.sightings([one.id])), None)
    portraits = store.objects.portraits([one.id])
    owners = owners_of(store, one.id)
    clip_id = latest.image.clip_id if latest is not None else None
    return {
        "id": one.id,
        "class": one.label,
        "tentative": one.tentative,
        "first_seen": iso_utc(one.node.first_seen_utc_s),
        "last_seen": iso_utc(one.node.last_seen_utc_s),
        "place": "" if clip_id is None else store.clip(clip_id).place,
        "where": "" if latest is None else spot_words(latest.spot),
        "owner": ", ".join(f"{owner.relation} {owner.name}" for owner in owners if owner.name),
        "picture": portraits[-1].provenance["file"]["path"] if portraits else None,
    }
