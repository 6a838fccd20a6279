"""`hearsight restore`: a backup takes the place of the memory, which is kept beside it."""

from __future__ import annotations

import argparse
from pathlib import Path

from memory_store.restore import Restored, restore
from runtime import compose
from runtime.clock import SystemClock
from runtime.commands import session
from runtime.forget import delete_files
from runtime.instance import only_instance
from runtime.media_files import MediaFiles


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("restore", parents=[shared], help="bring a backup back")
    parser.add_argument("backup", type=Path, metavar="FILE", help="what `hearsight backup` made")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Restore, build the indexes, and say what was done."""
    parts = session.parts_of(options)
    directory = parts.settings.data_dir
    with only_instance(directory):
        done = restore(
            options.backup.expanduser(),
            directory,
            lambda root, receipt: delete_files(MediaFiles(root), receipt),
            SystemClock().utc_s(),
        )
        store = compose.open_store(parts)
        try:
            store.rebuild_indexes(words=False)  # that one is new already
        finally:
            store.close()
    if options.json:
        session.print_json(_as_json(done))
        return 0
    counts = done.manifest.counts
    print(
        f"The memory of {done.manifest.made_utc} is back: {counts['clips']} clips, {counts['nodes']} nodes."
    )
    if done.forgotten:
        print(f"Whoever was forgotten since was forgotten again: {len(done.forgotten)}.")
    if done.warning:
        print(f"The memory before could not be asked whom it had forgotten since ({done.warning});")
        print("  only the file forgotten.jsonl beside it was.")
    if done.set_aside is not None:
        print(f"The memory before lies in {done.set_aside}: delete it when you do not need it.")
    return 0


def _as_json(done: Restored) -> dict[str, object]:
    return {
        "made": done.manifest.made_utc,
        "memory": done.manifest.memory,
        "counts": dict(done.manifest.counts),
        "forgotten_again": [
            {"person": f"person_{receipt.person_id}", "counts": dict(receipt.counts)}
            for receipt in done.forgotten
        ],
        "missing_media": list(done.manifest.missing),
        "set_aside": None if done.set_aside is None else str(done.set_aside),
        "warning": done.warning or None,
    }
