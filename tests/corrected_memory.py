"""A small memory to correct, and what must hold of it after every correction."""

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memory_store import MemoryStore, Vector, find_tags
from tests.memory_samples import add_clip


def mixed(first: int, second: int, share: float) -> Vector:
    """A direction of length 1 between two of four axes."""
    vector = np.zeros(4, dtype=np.float32)
    vector[first], vector[second] = 1.0 - share, share
    return vector / np.float32(np.linalg.norm(vector))


@dataclass(frozen=True)
class Met:
    """Somebody and how they are known."""

    person: int
    face: int
    voice: int
    seen: tuple[int, ...]
    heard: tuple[int, ...]


def meet(store: MemoryStore, number: int, clips: list[int]) -> Met:
    """A person with a face and a voice near axis `number`, seen and heard in each of the clips, with exemplars."""
    first = store.clip(clips[0])
    span = {"start_utc_s": first.start_utc_s, "end_utc_s": first.start_utc_s + 5.0}
    person = store.create_person()
    nodes = {}
    for kind in ("face", "voice"):
        nodes[kind] = store.add_node(kind, "", clip_id=clips[0], **span)  # type: ignore[arg-type]
        store.bind(person, nodes[kind])
    lines: dict[str, list[int]] = {"face": [], "voice": []}
    for turn, clip_id in enumerate(clips):
        clip = store.clip(clip_id)
        for kind, event, text in (
            ("face", "seen", "{} is in view."),
            ("voice", "heard", '{} says: "Hello."'),
        ):
            vector = mixed(number, (number + 1) % 4, 0.04 * turn)
            node = nodes[kind]
            line = store.add_node(
                "episodic",
                text.format(f"<{kind}_{node}>"),
                clip_id=clip_id,
                start_utc_s=clip.start_utc_s,
                end_utc_s=clip.start_utc_s + 5.0,
                provenance={"source": "grounded", "event": event},
                vectors={kind: vector},
            )
            store.add_edge(line, node, "mentions", detail="actor")
            store.add_exemplar(node, kind, vector, quality=1.0, clip_id=clip_id)
            lines[kind].append(line)
        store.add_vote(nodes["face"], nodes["voice"], clip_id)
    return Met(person, nodes["face"], nodes["voice"], tuple(lines["face"]), tuple(lines["voice"]))


def three_people(store: MemoryStore) -> tuple[Met, ...]:
    """Three people met in three clips of their own each, and a fact about two of them."""
    with store.transaction():
        met = tuple(meet(store, n, [add_clip(store, 3 * n + turn) for turn in range(3)]) for n in range(3))
        store.add_node(
            "semantic",
            f"<face_{met[0].face}> likes <voice_{met[1].voice}>'s tea.",
            clip_id=1,
            start_utc_s=0.0,
            end_utc_s=1.0,
        )
    return met


def correct(store: MemoryStore, met: tuple[Met, ...], action: str, one: int, other: int) -> None:
    """Apply one correction to what the numbers choose; raises MemoryStoreError where it may not be."""
    people = store.people()
    person, second = people[one % len(people)], people[other % len(people)]
    nodes = [node.id for node in store.nodes(kinds=["face", "voice"])]
    lines = [line for each in met for line in (*each.seen, *each.heard)]
    owned = (*person.face_ids, *person.voice_ids)
    if action == "name":
        store.name_person(person.id, f"Name {other}", source="resident")
    elif action == "merge":
        store.merge_people(person.id, second.id, source="resident")
    elif action == "code merge":
        store.merge_people(person.id, second.id)
    elif action == "split":
        store.split(person.id, owned[: other % 3])
    elif action == "lines":
        about = [node.id for node in store.nodes(kinds=["episodic", "semantic"], person_id=person.id)]
        store.split_lines(person.id, about[other % 4 :: 2])
    elif action == "line":
        store.reassign_line(lines[one % len(lines)], None if other % 3 == 0 else second.id)
    elif action == "node":
        store.take_node(nodes[one % len(nodes)], None if other % 2 else second.id)
    else:
        store.undo()


def state(directory: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows but those of the history, to be compared before and after; as another process sees them."""
    tables = (
        "persons", "person_nodes", "nodes", "node_clips", "edges", "vectors", "votes", "negatives", "facts",
    )  # fmt: skip
    with sqlite3.connect(directory / "memory.db") as connection:
        found = {table: sorted(connection.execute(f"SELECT * FROM {table}"), key=repr) for table in tables}
    connection.close()
    return found


def check_whole(store: MemoryStore, directory: Path) -> None:
    """Every face and voice is one living person's, and nothing refers to what is not there."""
    assert store.check() == []
    nodes = {node.id: node for node in store.nodes()}
    living = {person.id for person in store.people()}
    for node in nodes.values():
        for tag in find_tags(node.text):
            assert nodes[tag.node_id].kind == tag.kind, node.text
        if node.kind in ("face", "voice"):
            owner = store.person_of(node.id)
            assert owner is not None and owner.id in living
            assert store.clips_of(node.id) or all(edge.detail != "actor" for edge in store.edges(node.id))
    for edge in (edge for node_id in nodes for edge in store.edges(node_id)):
        assert edge.source in nodes and edge.target in nodes
    rows = state(directory)
    for node_id, _ in [(row[1], row) for row in rows["negatives"]]:
        assert node_id in nodes
    with sqlite3.connect(directory / "memory.db") as connection:
        (indexed,) = connection.execute("SELECT count(*) FROM nodes_fts_docsize").fetchone()
    connection.close()
    assert indexed == len(nodes)
    assert all(json.loads(row[-1]) is not None for row in rows["nodes"])
