"""`hearsight memory`: the memories themselves, and how much there is."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any, get_args

from memory_store.records import Event, NodeKind
from memory_store.store import MemoryStore
from runtime.clock import iso_utc
from runtime.commands import memory_objects, memory_repair, memory_search, session
from runtime.commands.memory_search import node_json


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("memory", help="list memories, count, verify and repair them")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    listing = verbs.add_parser("list", parents=[shared], help="memories in the order of time")
    listing.add_argument(
        "--kind", choices=get_args(NodeKind), action="append", help="only this kind; repeatable"
    )
    listing.add_argument("--limit", type=int, metavar="N", help="only the latest N")
    listing.set_defaults(command=list_memories)
    clip = verbs.add_parser("clip", parents=[shared], help="one clip as an event: who, what, pictures")
    clip.add_argument("number", type=int)
    clip.set_defaults(command=show_clip)
    memory_search.add_to(verbs, shared)
    memory_objects.add_to(verbs, shared)
    status = verbs.add_parser("status", parents=[shared], help="how much is remembered")
    status.set_defaults(command=show_status)
    memory_repair.add_to(verbs, shared)


def list_memories(options: argparse.Namespace) -> int:
    """Print memories, one a line."""
    kinds: list[NodeKind] = options.kind or ["episodic", "semantic", "procedural"]
    with session.opened(options) as (_, store):
        nodes = store.nodes(kinds=kinds, limit=session.limit(options))
        if options.json:
            session.print_json([node_json(store, node) for node in nodes])
            return 0
        for node in nodes:
            unread = "(a model's answer that could not be read)" if node.provenance.get("broken") else ""
            told = store.render(node.text) or unread
            print(f"[{node.id}] {iso_utc(node.start_utc_s)}  {node.kind:<9} x{node.weight:g}  {told}")
        if not nodes:
            print("Nothing yet.")
    return 0


def show_clip(options: argparse.Namespace) -> int:
    """Print one clip as an event."""
    with session.opened(options) as (_, store):
        event = store.event(options.number)
        value = _event_json(store, event)
    if options.json:
        session.print_json(value)
        return 0
    print(json.dumps(value, ensure_ascii=False, indent=2))
    return 0


def _event_json(store: MemoryStore, event: Event) -> dict[str, object]:
    clip = event.clip
    return {
        "clip": clip.id,
        "source": clip.source_name,
        "start": iso_utc(clip.start_utc_s),
        "end": iso_utc(clip.end_utc_s),
        "time_known": clip.time_known,
        "place": clip.place,
        "state": clip.state,
        "modalities": list(event.modalities),
        "dropped_frames": clip.dropped_frames,
        "audio_gap_s": round(clip.audio_gap_s, 3),
        "entities": [
            {"id": f"person_{person}", "name": store.person(person).name} for person in event.entities
        ],
        "stats": {name: round(value, 3) for name, value in event.stats.items()},
        "lines": [node_json(store, node) for node in event.nodes if node.text],
        "relations": [
            {"source": edge.source, "target": edge.target, "relation": edge.relation, "detail": edge.detail}
            for edge in event.relations
        ],
        "vectors": {space: list(rows.shape) for space, rows in event.vectors.items()},
        "media": [dict(file) for file in event.media],
    }


def show_status(options: argparse.Namespace) -> int:
    """Print the counts."""
    with session.opened(options) as (_, store):
        stats = {**store.stats(), "identity": [store.identity_health(space) for space in ("face", "voice")]}
    if options.json:
        session.print_json(stats)
        return 0
    health = stats.pop("identity")
    for name, value in stats.items():
        print(f"{name:<12} {value}")
    for space in health:
        print(f"{space['space'] + 's apart':<12} {_health(space)}")
    return 0


def _health(health: Mapping[str, Any]) -> str:
    """One sentence about how well faces or voices tell people apart."""
    if health["margin_min"] is None:
        return f"{health['exemplars']} examples of {health['people']} people: too few to compare"
    pair = " and ".join(f"person_{person}" for person in health["closest_people"])
    return (
        f"same person at least {health['same_nearest_min']:.2f}, different people at most "
        f"{health['different_max']:.2f} ({pair}), least margin {health['margin_min']:+.2f}, "
        f"{health['nearer_to_others']} of {health['exemplars']} examples nearer to somebody else"
    )
