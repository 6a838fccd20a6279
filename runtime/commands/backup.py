"""`hearsight backup`: the whole memory in one file, also while the daemon runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from runtime.clock import SystemClock
from runtime.commands import session


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("backup", parents=[shared], help="the whole memory in one file")
    parser.add_argument(
        "target",
        type=Path,
        metavar="FILE|DIR",
        help="a new file, or a directory for one named after the time",
    )
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Write the backup and print what it holds."""
    session.require_memory(session.parts_of(options))
    with session.opened(options) as (_, store):
        done = store.back_up(options.target.expanduser(), SystemClock().utc_s())
    manifest = done.manifest
    if options.json:
        session.print_json(
            {
                "backup": str(done.path),
                "made": manifest.made_utc,
                "memory": manifest.memory,
                "bytes": done.path.stat().st_size,
                "files": len(manifest.files),
                "counts": dict(manifest.counts),
                "missing_media": list(manifest.missing),
            }
        )
        return 0
    counts = manifest.counts
    print(f"{done.path}: {done.path.stat().st_size / 2**20:.1f} MiB, readable by its owner alone")
    print(
        f"  {counts['clips']} clips, {counts['nodes']} nodes, {counts['persons']} ids of people, "
        f"{len(manifest.files) - 1} media files; vector indexes are built anew by a restore"
    )
    for path in manifest.missing:
        print(f"  WRONG  {path} is missing here, or not the file that was remembered")
    return 0
