"""`hearsight people forget`: a person is forgotten for good, with a receipt."""

from __future__ import annotations

import argparse

from runtime.commands import session
from runtime.commands.people_find import find_person
from runtime.forget import forget_person
from runtime.media_files import MediaFiles


def add_to(verbs: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    forget = verbs.add_parser("forget", parents=[shared], help="forget a person for good: cannot be undone")
    forget.add_argument("person", help="number, person_N or name")
    forget.set_defaults(command=forget_them)


def forget_them(options: argparse.Namespace) -> int:
    """Forget one person and print the receipt."""
    with session.opened(options) as (parts, store):
        person = find_person(store, options.person)
        done = forget_person(store, MediaFiles(parts.settings.data_dir), person.id)
        aside = store.set_aside()
    rows = done.rows
    if options.json:
        session.print_json(
            {
                "forgotten": f"person_{rows.person_id}",
                "counts": done.counts,
                "shared_names": list(rows.shared_names),
                "scrubbed": rows.scrubbed,
                "undoable": False,
                "not_reached": ["backups made before, until they are restored", *map(str, aside)],
            }
        )
        return 0
    print(f"person_{rows.person_id} is forgotten. This cannot be undone.")
    for name, count in done.counts.items():
        print(f"  {name.replace('_', ' '):<16} {count:>6}")
    for name in rows.shared_names:
        print(f"  The name {name} stays where it stood: somebody else bears it too.")
    if not rows.scrubbed:
        print(
            "  The database file could not be rewritten while another process uses it: its free pages are zeroed,"
        )
        print(
            "  its log may hold old pages until that process ends. Stop it and run `hearsight memory status`."
        )
    print(
        "  Backups made before hold them still; `hearsight restore` forgets them again when it brings one back."
    )
    for path in aside:
        print(f"  {path} is an earlier memory that was not touched: delete it.")
    return 0
