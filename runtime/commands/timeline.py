"""`hearsight timeline`: what was seen and said, when, by whom, and which memories say so."""

from __future__ import annotations

import argparse
from datetime import datetime

from memory_store.records import Clip, TimelineRow
from memory_store.store import MemoryStore
from runtime.clock import iso_utc
from runtime.commands import session
from runtime.commands.people import find_person


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("timeline", parents=[shared], help="what was seen and said, in order")
    parser.add_argument("--person", help="only this person: number, person_N or name")
    parser.add_argument("--after", metavar="ISO-TIME", help="only what ended after this")
    parser.add_argument("--before", metavar="ISO-TIME", help="only what began before this")
    parser.add_argument("--limit", type=int, metavar="N", help="only the latest N rows")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Print the rows in the order of time."""
    with session.opened(options) as (parts, store):
        zone = session.zone_of(parts)
        person = find_person(store, options.person).id if options.person else None
        after = session.instant(options.after, zone, "--after")
        before = session.instant(options.before, zone, "--before")
        rows = store.timeline(person, after, before, session.limit(options))
        if options.json:
            session.print_json([_as_json(store, row) for row in rows])
            return 0
        for row in rows:
            start = datetime.fromtimestamp(row.start_utc_s, zone).strftime("%Y-%m-%d %H:%M:%S")
            end = datetime.fromtimestamp(row.end_utc_s, zone).strftime("%H:%M:%S")
            who = row.person or "-"
            print(
                f"{start} - {end}  {who:<12} {row.kind:<6} {row.text}  [{', '.join(map(str, row.evidence))}]"
            )
        if not rows:
            print("Nothing yet.")
    return 0


def _as_json(store: MemoryStore, row: TimelineRow) -> dict[str, object]:
    clip: Clip | None = store.clip(row.clip_id) if row.clip_id is not None else None
    offset = None if clip is None else clip.media_start_s - clip.start_utc_s
    return {
        "start": iso_utc(row.start_utc_s),
        "end": iso_utc(row.end_utc_s),
        "start_utc_s": round(row.start_utc_s, 3),
        "end_utc_s": round(row.end_utc_s, 3),
        "time_known": clip is None or clip.time_known,
        "source": None if clip is None else clip.source_name,
        "media_start_s": None if offset is None else round(row.start_utc_s + offset, 3),
        "media_end_s": None if offset is None else round(row.end_utc_s + offset, 3),
        "person": None if row.person_id is None else f"person_{row.person_id}",
        "name": row.person,
        "kind": row.kind,
        "text": row.text,
        "evidence": list(row.evidence),
        "clip": row.clip_id,
    }
