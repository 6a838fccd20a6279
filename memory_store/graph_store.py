"""GraphStore, the part of the memory's door that holds clips, nodes and edges."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from memory_store.clips import Clips
from memory_store.database import Database
from memory_store.graph import Graph
from memory_store.ranking import CONTEXT_GAP_S
from memory_store.records import Clip, ClipState, Edge, Node, NodeKind, Relation
from memory_store.redate import Redating
from memory_store.vectors import Vectors


class GraphStore:
    """Thin methods over the modules that do the work; PeopleStore, FactStore and MemoryStore each add to it."""

    def __init__(
        self, database: Database, vectors: Vectors, graph: Graph, clock: Callable[[], float]
    ) -> None:
        self._vectors = vectors
        self._graph = graph
        self._clips = Clips(database)
        self._redating = Redating(database)

    # Clips

    def add_clip(
        self,
        *,
        source_key: str,
        source_name: str,
        start_utc_s: float,
        end_utc_s: float,
        media_start_s: float = 0.0,
        media_end_s: float = 0.0,
        boot_id: str = "",
        time_known: bool = True,
        place: str = "",
        has_video: bool = True,
        has_audio: bool = True,
        dropped_frames: int = 0,
        audio_gap_s: float = 0.0,
        state: ClipState = "grounded",
    ) -> int:
        """Add a clip and return its id; raises DuplicateClip where the source key is already there."""
        return self._clips.add(
            source_key=source_key,
            source_name=source_name,
            boot_id=boot_id,
            media_start_s=media_start_s,
            media_end_s=media_end_s,
            start_utc_s=start_utc_s,
            end_utc_s=end_utc_s,
            time_known=time_known,
            place=place,
            has_video=has_video,
            has_audio=has_audio,
            dropped_frames=dropped_frames,
            audio_gap_s=audio_gap_s,
            state=state,
        )

    def find_clip(self, source_key: str) -> Clip | None:
        """The clip of a source key, or None."""
        return self._clips.find(source_key)

    def clip(self, clip_id: int) -> Clip:
        """One clip."""
        return self._clips.get(clip_id)

    def clips(
        self,
        *,
        after_utc_s: float | None = None,
        before_utc_s: float | None = None,
        state: ClipState | None = None,
        limit: int | None = None,
    ) -> list[Clip]:
        """Clips that overlap [after, before), in the order of time; a limit keeps the latest."""
        return self._clips.select(
            after_utc_s=after_utc_s, before_utc_s=before_utc_s, state=state, limit=limit
        )

    def set_clip_state(self, clip_id: int, state: ClipState) -> None:
        """Record how far a clip was described."""
        self._clips.set_state(clip_id, state)

    def clips_by_key(self, prefix: str) -> list[Clip]:
        """The clips whose source key begins so, by id."""
        return self._clips.by_key(prefix)

    def redate_clips(self, starts: Mapping[int, float], stepped_utc_s: float) -> int:
        """Let clips, by id, begin at other UTC seconds, with all that took its time from them; how many moved."""
        return self._redating.move(starts, stepped_utc_s)

    def last_clip_before_step(self) -> int:
        """The newest clip there was when the clock was last set or jumped, or 0."""
        return self._redating.last_clip_before_step()

    def clips_of(self, node_id: int) -> list[Clip]:
        """The clips a node rests on, in the order of time."""
        return self._clips.of_node(node_id)

    # Nodes and edges

    def add_node(
        self,
        kind: NodeKind,
        text: str,
        *,
        clip_id: int | None,
        start_utc_s: float,
        end_utc_s: float,
        provenance: Mapping[str, Any] | None = None,
        vectors: Mapping[str, ArrayLike] | None = None,
        weight: float = 1.0,
    ) -> int:
        """Add a node and return its id; tags in its text become `mentions` edges by themselves."""
        return self._graph.add_node(
            kind,
            text,
            clip_id=clip_id,
            start_utc_s=start_utc_s,
            end_utc_s=end_utc_s,
            provenance=provenance or {},
            vectors=vectors or {},
            weight=weight,
        )

    def add_edge(
        self,
        source: int,
        target: int,
        relation: Relation,
        *,
        detail: str = "",
        weight: float = 1.0,
        at_utc_s: float | None = None,
    ) -> int:
        """Add an edge and return its id; the same edge again counts an activation of the first."""
        return self._graph.add_edge(source, target, relation, detail=detail, weight=weight, at_utc_s=at_utc_s)

    def reinforce(
        self,
        node_id: int,
        clip_id: int,
        *,
        weight: float = 1.0,
        start_utc_s: float | None = None,
        end_utc_s: float | None = None,
    ) -> bool:
        """Let one more clip speak for a node, once per clip; False where it already did."""
        return self._graph.reinforce(
            node_id, clip_id, weight=weight, start_utc_s=start_utc_s, end_utc_s=end_utc_s
        )

    def node(self, node_id: int) -> Node:
        """One node."""
        return self._graph.node(node_id)

    def heard_before(self, node_id: int) -> Node | None:
        """What was heard just before a heard line in the same conversation, or None."""
        return self._graph.heard_before(node_id, CONTEXT_GAP_S)

    def heard_after(self, node_id: int) -> Node | None:
        """What was heard just after a heard line in the same conversation, or None."""
        return self._graph.heard_after(node_id, CONTEXT_GAP_S)

    def edges(self, node_id: int) -> list[Edge]:
        """The edges from and to a node, oldest first."""
        return self._graph.edges(node_id)
