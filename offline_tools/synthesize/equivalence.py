"""Which voice is which face's, by the votes of all meta-clips: the global dictionary of a recording.

M3-Agent (arXiv 2508.09736), appendix, "global face-voice correspondence": a bipartite graph of faces and voices whose
edges count meta-clips; edges of weight 1 are noise; an edge must hold a share of its ends' votes; a voice keeps its one
best face, a face may keep several voices (one person's voice may have been given two ids).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memory_store.tags import Tag
from offline_tools.synthesize.meta_clips import MetaClip


@dataclass(frozen=True)
class VotingRule:
    """When votes decide. least: an edge of fewer is dropped; share: p, of the votes of the voice, and of the face."""

    least: int = 2
    share: float = 0.5


def face_of_voices(clips: Iterable[MetaClip], rule: VotingRule | None = None) -> dict[Tag, Tag]:
    """For each voice that can be told, the face it belongs to; by the number of the voice.

    A tie tells nothing: the voice is left out. Needs networkx (the training extra).
    """
    import networkx as nx

    rule = VotingRule() if rule is None else rule
    graph = nx.Graph()
    for clip in clips:
        votes = graph.get_edge_data(clip.face, clip.voice, {"weight": 0})["weight"]
        graph.add_edge(clip.face, clip.voice, weight=votes + 1)
    graph.remove_edges_from(
        [(one, other) for one, other, votes in graph.edges(data="weight") if votes < rule.least]
    )
    found: dict[Tag, Tag] = {}
    for voice in sorted((tag for tag in graph if tag.kind == "voice"), key=lambda tag: tag.node_id):
        edges = [
            (votes, face)
            for _, face, votes in graph.edges(voice, data="weight")
            if votes >= rule.share * max(_votes(graph, voice), _votes(graph, face))
        ]
        best = max((votes for votes, _ in edges), default=0)
        winners = [face for votes, face in edges if votes == best]
        if len(winners) == 1:
            found[voice] = winners[0]
    return found


def _votes(graph: object, tag: Tag) -> int:
    return int(graph.degree(tag, weight="weight"))  # type: ignore[attr-defined]
