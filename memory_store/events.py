"""Every clip read as a multimodal event: a view over its rows, not a second store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memory_store.clips import Clips
from memory_store.database import Database
from memory_store.filters import NodeFilter
from memory_store.graph import Graph
from memory_store.identity import Identity
from memory_store.records import Clip, Edge, Event, Node
from memory_store.search import Search
from memory_store.vectors import Vectors


@dataclass(frozen=True)
class Events:
    """Reads events."""

    database: Database
    clips: Clips
    graph: Graph
    search: Search
    identity: Identity
    vectors: Vectors

    def event(self, clip_id: int) -> Event:
        """The event of one clip; raises UnknownId."""
        with self.database.snapshot():
            clip = self.clips.get(clip_id)
            nodes = tuple(self.search.select(NodeFilter(clip_id=clip_id), None))
            edges = {edge.id: edge for node in nodes for edge in self.graph.edges(node.id)}
            inside = {node.id for node in nodes}
            relations = tuple(edges[key] for key in sorted(edges) if edges[key].source in inside)
            labels = self.identity.labels()
            met = inside | {edge.target for edge in relations}
            persons = tuple(sorted({labels[node_id][0] for node_id in met if node_id in labels}))
            return Event(
                clip=clip,
                modalities=_modalities(clip, nodes),
                entities=persons,
                nodes=nodes,
                relations=relations,
                stats=_stats(nodes, relations, persons, self._seconds(clip_id)),
                vectors=self.vectors.of_clip(clip_id),
                media=tuple(node.provenance["file"] for node in nodes if "file" in node.provenance),
            )

    def _seconds(self, clip_id: int) -> dict[int, float]:
        """How long each node lasted within the clip."""
        sql = "SELECT node_id, end_utc_s - start_utc_s AS seconds FROM node_clips WHERE clip_id = ?"
        return {row["node_id"]: row["seconds"] for row in self.database.rows(sql, (clip_id,))}


def _modalities(clip: Clip, nodes: Iterable[Node]) -> tuple[str, ...]:
    """What was sensed, and whether anything of it is put into words."""
    worded = any(node.text for node in nodes)
    found = (("video", clip.has_video), ("audio", clip.has_audio), ("text", worded))
    return tuple(name for name, present in found if present)


def _stats(
    nodes: Iterable[Node],
    relations: Iterable[Edge],
    persons: tuple[int, ...],
    seconds: Mapping[int, float],
) -> dict[str, float]:
    grounded = [node for node in nodes if node.provenance.get("source") == "grounded"]
    seen = [node for node in grounded if node.provenance.get("event") == "seen"]
    heard = [node for node in grounded if node.provenance.get("event") == "heard"]
    faces = {
        edge.target
        for edge in relations
        for node in seen
        if edge.source == node.id and edge.detail == "actor"
    }
    return {
        "person_count": float(len(persons)),
        "faces_seen": float(len(faces)),
        "utterances": float(len(heard)),
        "speech_s": sum(seconds[node.id] for node in heard),
        "seen_s": sum(seconds[node.id] for node in seen),
        "lines": float(len([node for node in nodes if node.kind in ("episodic", "semantic")])),
    }
