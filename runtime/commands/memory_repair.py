"""`hearsight memory verify` and `hearsight memory repair`: what is wrong with the memory, and putting it right."""

from __future__ import annotations

import argparse

from memory_store.errors import DatabaseUnusable
from memory_store.repair import repair
from memory_store.verify import Fault
from runtime import compose
from runtime.clock import SystemClock
from runtime.commands import session
from runtime.forget import delete_files
from runtime.instance import only_instance
from runtime.media_files import MediaFiles

_SHOWN = 20  # lost rows named on the screen; all are in the JSON


def add_to(verbs: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verbs to the command line."""
    verify = verbs.add_parser("verify", parents=[shared], help="read everything and say what is wrong")
    verify.set_defaults(command=verify_memory)
    mend = verbs.add_parser("repair", parents=[shared], help="put right what can be put right")
    mend.set_defaults(command=repair_memory)


def verify_memory(options: argparse.Namespace) -> int:
    """Print every fault; 1 when there is one."""
    parts = session.parts_of(options)
    session.require_memory(parts)
    try:
        store = compose.open_store(parts)
    except DatabaseUnusable as error:
        faults = [Fault("database", str(error), "saves every row that can be read into a new file")]
    else:
        try:
            faults = store.verify()
        finally:
            store.close()
    if options.json:
        session.print_json({"sound": not faults, "faults": [_as_json(fault) for fault in faults]})
        return 1 if faults else 0
    for fault in faults:
        remedy = f"`hearsight memory repair` {fault.repair}" if fault.repair else "cannot be repaired"
        print(f"WRONG  {fault.what}: {fault.detail} ({remedy})")
    if not faults:
        print(f"The memory in {parts.settings.data_dir} is sound.")
    return 1 if faults else 0


def repair_memory(options: argparse.Namespace) -> int:
    """Repair, and print what was done, what is lost and what stays wrong; 1 when something does."""
    parts = session.parts_of(options)
    directory = parts.settings.data_dir
    session.require_memory(parts)
    with only_instance(directory):
        done = repair(
            directory,
            compose.vector_spaces(parts),
            lambda root, receipt: delete_files(MediaFiles(root), receipt),
            SystemClock().utc_s(),
        )
        store = compose.open_store(parts)
        try:
            if done.done:
                store.rebuild_indexes(words=False)  # that one is new already
        finally:
            store.close()
    status = 1 if done.left or done.lost or done.unread else 0
    if options.json:
        session.print_json(
            {
                "done": list(done.done),
                "lost": {table: list(ids) for table, ids in done.lost.items()},
                "unread": list(done.unread),
                "set_aside": None if done.set_aside is None else str(done.set_aside),
                "left": [_as_json(fault) for fault in done.left],
            }
        )
        return status
    for sentence in done.done or ("nothing was wrong that can be repaired",):
        print(sentence[0].upper() + sentence[1:] + ".")
    for table, ids in done.lost.items():
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        print(f"LOST   {len(ids)} rows of {table}: {', '.join(map(str, ids[:_SHOWN]))}{more}")
    for table in done.unread:
        print(
            f"LOST?  part of {table} could not be read; rows of which nothing else tells are not counted above"
        )
    for fault in done.left:
        print(f"WRONG  {fault.what}: {fault.detail}")
    if done.set_aside is not None:
        print(f"The damaged file lies in {done.set_aside}: delete it when you do not need it.")
    return status


def _as_json(fault: Fault) -> dict[str, str]:
    return {"what": fault.what, "detail": fault.detail, "repair": fault.repair}
