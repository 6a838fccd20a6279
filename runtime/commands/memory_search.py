"""`hearsight memory search`: memories for words, a picture or a sound, inside of exact filters."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from memory_store.filters import FilterArguments
from memory_store.records import Hit, Node, NodeKind
from memory_store.store import MemoryStore
from runtime import compose
from runtime.clock import iso_utc
from runtime.commands import session
from runtime.commands.people_find import find_person
from runtime.errors import HearsightError
from runtime.media_query import picture_query, sound_query

MOST = 1000


def add_to(verbs: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser("search", parents=[shared], help="find memories by words, a picture or a sound")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("text", nargs="?", help="words; without anything the latest memories")
    what.add_argument("--picture", type=Path, metavar="FILE", help="who, or what, is in this picture")
    what.add_argument("--sound", type=Path, metavar="FILE", help="whose voice is in this sound file")
    parser.add_argument("--kind", choices=get_args(NodeKind), action="append", help="repeatable")
    parser.add_argument("--person", help="only what concerns this person: number, person_N or name")
    parser.add_argument("--place", help="only what happened here")
    parser.add_argument(
        "--class",
        dest="object_class",
        metavar="CLASS",
        help="only objects of this class, and what tells of them",
    )
    parser.add_argument("--after", metavar="ISO-TIME", help="only what ended after this")
    parser.add_argument("--before", metavar="ISO-TIME", help="only what began before this")
    parser.add_argument("--clip", type=int, metavar="N", help="only what this clip speaks for")
    parser.add_argument("--before-clip", type=int, metavar="N", help="as the memory was before this clip")
    parser.add_argument("-k", "--k", type=int, default=10, metavar="N", help="how many at most (default 10)")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Print the memories, best first."""
    if not 1 <= options.k <= MOST:
        raise HearsightError(f"--k {options.k}: give a number from 1 to {MOST}")
    with session.opened(options) as (parts, opened):
        store = opened if options.before_clip is None else opened.as_of(options.before_clip)
        hits = store.search_node(
            **_query(parts, store, options), k=options.k, **_filter(parts, store, options)
        )
        if options.json:
            session.print_json([_hit_json(store, hit) for hit in hits])
            return 0
        for hit in hits:
            node = hit.node
            similarity = "     " if hit.similarity is None else f"{hit.similarity:5.2f}"
            told = store.render(node.text or _tag_of(node))
            print(
                f"[{node.id}] {hit.score:5.2f} {similarity}  {iso_utc(node.start_utc_s)}  {node.kind:<9} {told}"
            )
        if not hits:
            print("Nothing found.")
    return 0


def _query(parts: compose.Parts, store: MemoryStore, options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `search_node` that say what is looked for."""
    if options.picture is not None:
        found = picture_query(parts, options.picture, store.spaces)
        return {"vector": found.vector, "space": found.space}
    if options.sound is not None:
        found = sound_query(parts, options.sound)
        return {"vector": found.vector, "space": found.space}
    if options.text is None:
        return {}
    if not options.text.strip():
        raise HearsightError("the words to look for are empty: leave them out for the latest memories")
    return {"text": options.text, "vector": compose.text_embedder(parts).embed_query([options.text])[0]}


def _filter(parts: compose.Parts, store: MemoryStore, options: argparse.Namespace) -> FilterArguments:
    zone = session.zone_of(parts)
    return {
        "kinds": options.kind,
        "person_id": find_person(store, options.person).id if options.person else None,
        "place": options.place,
        "object_class": options.object_class,
        "after_utc_s": session.instant(options.after, zone, "--after"),
        "before_utc_s": session.instant(options.before, zone, "--before"),
        "clip_id": options.clip,
    }


def _tag_of(node: Node) -> str:
    """A face or a voice by its tag, an object by its class, a picture by its file."""
    if node.kind in ("face", "voice"):
        return f"<{node.kind}_{node.id}>"
    file = node.provenance.get("file")
    named = file.get("path") if isinstance(file, Mapping) else None
    return str(node.provenance.get("class") or named or "")


def _hit_json(store: MemoryStore, hit: Hit) -> dict[str, object]:
    return {
        **node_json(store, hit.node),
        "score": round(hit.score, 4),
        "similarity": None if hit.similarity is None else round(hit.similarity, 4),
        "matched_by": list(hit.matched_by),
    }


def node_json(store: MemoryStore, node: Node) -> dict[str, object]:
    """A memory as plain values."""
    return {
        "id": node.id,
        "kind": node.kind,
        "text": store.render(node.text),
        "tagged_text": node.text,
        "weight": node.weight,
        "clip": node.clip_id,
        "clips_involved": [span.clip_id for span in store.spans(node.id)],
        "start": iso_utc(node.start_utc_s),
        "end": iso_utc(node.end_utc_s),
        "first_seen": iso_utc(node.first_seen_utc_s),
        "last_seen": iso_utc(node.last_seen_utc_s),
        "tier": node.tier,
        "provenance": dict(node.provenance),
    }
