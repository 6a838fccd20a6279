"""MemoryStore, the one door to the memory: thin methods over the modules that do the work."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from numpy.typing import ArrayLike

from memory_store.clips import Clips
from memory_store.corrections import Corrections
from memory_store.database import Database
from memory_store.events import Events
from memory_store.filters import NodeFilter
from memory_store.forget import Forgetting
from memory_store.graph import Graph
from memory_store.history import Entry, HistoryRow, Source
from memory_store.identity import Identity
from memory_store.identity_health import identity_health
from memory_store.index import SpaceIndex
from memory_store.index_file import IndexFile
from memory_store.names import Names
from memory_store.negatives import Negatives
from memory_store.records import (
    Binding,
    Clip,
    ClipHit,
    ClipState,
    Consent,
    Edge,
    Event,
    Exemplar,
    ForgetReceipt,
    Hit,
    NameEvidence,
    Negative,
    Node,
    NodeKind,
    Person,
    Relation,
    TimelineRow,
    Trace,
    Vector,
    VectorSpace,
)
from memory_store.search import Search
from memory_store.statistics import statistics
from memory_store.tentative import Tentative
from memory_store.timeline import Timeline
from memory_store.traces import Traces
from memory_store.vectors import Vectors
from memory_store.votes import Votes


class MemoryStore:
    """One memory: a SQLite file that is the truth, and vector indexes that are a cache of it.

    To be used from one thread at a time. Writes stand inside `with store.transaction():`, which keeps all
    or nothing. Every method may raise a MemoryStoreError.
    """

    def __init__(
        self,
        database: Database,
        spaces: Sequence[VectorSpace],
        indexes: Mapping[str, SpaceIndex],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._indexes = dict(indexes)
        self._vectors = Vectors(database, {space.name: space for space in spaces})
        self._clips = Clips(database)
        self._graph = Graph(database, self._vectors, clock)
        self._identity = Identity(database, clock)
        self._negatives = Negatives(database, self._vectors)
        self._corrections = Corrections(database, self._graph, self._identity)
        self._forgetting = Forgetting(database, self._graph, self._identity)
        self._votes = Votes(database)
        self._names = Names(database, clock)
        self._tentative = Tentative(database)
        self._traces = Traces(database, clock)
        self._search = Search(database, self._identity)
        self._timeline = Timeline(database, self._search, self._identity)
        self._events = Events(database, self._clips, self._graph, self._search, self._identity, self._vectors)

    @classmethod
    def open(
        cls,
        directory: Path,
        spaces: Sequence[VectorSpace],
        *,
        clock: Callable[[], float] = time.time,
        busy_timeout_s: float = 10.0,
    ) -> "MemoryStore":
        """Open or create the memory in a directory; its schema is brought up to date."""
        database = Database.open(directory / "memory.db", busy_timeout_s=busy_timeout_s)
        files = {space.name: IndexFile(directory / "index", space) for space in spaces}
        indexes = {space.name: SpaceIndex(database, space, files[space.name]) for space in spaces}
        return cls(database, spaces, indexes, clock)

    def close(self) -> None:
        """Save what the indexes hold and close the database."""
        for index in self._indexes.values():
            index.save()
        self._database.close()

    def __enter__(self) -> "MemoryStore":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is kept, or, if an exception leaves the block, nothing; never nested."""
        try:
            with self._database.transaction():
                yield
        except BaseException:
            for index in self._indexes.values():
                index.after_rollback()
            raise
        for index in self._indexes.values():
            index.after_commit()

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

    def event(self, clip_id: int) -> Event:
        """A clip read as a multimodal event."""
        return self._events.event(clip_id)

    def set_clip_state(self, clip_id: int, state: ClipState) -> None:
        """Record how far a clip was described."""
        self._clips.set_state(clip_id, state)

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

    def edges(self, node_id: int) -> list[Edge]:
        """The edges from and to a node, oldest first."""
        return self._graph.edges(node_id)

    def nodes(
        self,
        *,
        kinds: Collection[NodeKind] | None = None,
        person_id: int | None = None,
        clip_id: int | None = None,
        after_utc_s: float | None = None,
        before_utc_s: float | None = None,
        before_clip: int | None = None,
        limit: int | None = None,
    ) -> list[Node]:
        """The nodes that pass a filter, by start time; a limit keeps the latest. See `NodeFilter`."""
        condition = _filter(kinds, person_id, clip_id, after_utc_s, before_utc_s, before_clip)
        return self._search.select(condition, limit)

    # Vectors and exemplars

    def vector(self, node_id: int, space: str) -> Vector | None:
        """The vector of a node in a space, or None."""
        return self._vectors.of_node(node_id, space)

    def add_exemplar(
        self, node_id: int, space: str, vector: ArrayLike, *, quality: float, clip_id: int | None
    ) -> int:
        """Add an example of a face or voice and return its id."""
        self._graph.require_node(node_id)
        return self._vectors.add_exemplar(node_id, space, vector, quality=quality, clip_id=clip_id)

    def remove_exemplar(self, exemplar_id: int) -> None:
        """Delete an exemplar."""
        self._vectors.remove_exemplar(exemplar_id)

    def exemplars(self, space: str) -> list[Exemplar]:
        """The exemplars of a space's current model, oldest first."""
        return self._vectors.exemplars(space)

    def rebuild_indexes(self) -> None:
        """Build the text index and the vector indexes anew from the database; minutes for a large memory."""
        with self.transaction():
            self._database.write("INSERT INTO nodes_fts (nodes_fts) VALUES ('rebuild')")
        for index in self._indexes.values():
            index.rebuild()

    # Persons

    def create_person(self, *, tentative: bool = True) -> int:
        """Add a person without name, face or voice, and return the id."""
        return self._identity.create(tentative=tentative)

    def bind(self, person_id: int, node_id: int, *, source: Source = "code") -> None:
        """Give a face or voice to a person; one already given to another moves, unless a resident bound it."""
        self._identity.bind(person_id, node_id, source)

    def merge_people(self, keep: int, gone: int, *, source: Source = "code") -> None:
        """Make two persons one, under the id `keep`; `gone` leads to it from then on."""
        self._identity.merge(keep, gone, source)

    def name_person(self, person_id: int, name: str | None, *, source: Source = "code") -> None:
        """Name a person, which confirms them; None takes the name away."""
        self._identity.set_name(person_id, name, source)

    def set_tentative(self, person_id: int, tentative: bool) -> None:
        """Confirm a person, or make them tentative again."""
        self._identity.set_tentative(person_id, tentative)

    def set_consent(self, person_id: int, consent: Consent) -> None:
        """Record what a person agreed to."""
        self._identity.set_consent(person_id, consent)

    def people(self) -> list[Person]:
        """Everyone who lives under an id of their own, by id."""
        return self._identity.people()

    def person(self, person_id: int) -> Person:
        """One person; the id of someone merged away leads to who they are now."""
        return self._identity.person(person_id)

    def person_of(self, node_id: int) -> Person | None:
        """The person a face or voice is bound to, or None."""
        return self._identity.person_of(node_id)

    def person_history(self, person_id: int) -> list[dict[str, Any]]:
        """What was done to a person, oldest first."""
        return self._identity.history(person_id)

    # Corrections by residents

    def split(self, person_id: int, node_ids: Collection[int]) -> int:
        """Make a new person of some of a person's faces and voices; their id."""
        return self._corrections.split(person_id, node_ids)

    def split_lines(self, person_id: int, line_ids: Collection[int]) -> int:
        """Make a new person, with a face or voice of their own, of lines wrongly told of a person; their id."""
        return self._corrections.split_lines(person_id, line_ids)

    def take_node(self, node_id: int, person_id: int | None = None) -> int:
        """A face or voice is not its person's: it becomes another's, or a new person's; the new owner's id."""
        return self._corrections.take_node(node_id, person_id)

    def reassign_line(self, node_id: int, person_id: int | None) -> int | None:
        """A line is about another person, or about nobody known; the face or voice it names now."""
        return self._corrections.reassign_line(node_id, person_id)

    def undo(self, history_id: int | None = None) -> HistoryRow:
        """Undo a change, or the last correction by a resident that stands; what was undone."""
        return self._corrections.undo(history_id)

    def forget_person(self, person_id: int) -> ForgetReceipt:
        """Delete a person and everything that tells of them alone; what others share tells of "somebody".

        A transaction of its own, then the file is rewritten and the indexes are built anew. Cannot be undone.
        """
        with self.transaction():
            receipt = self._forgetting.person(person_id)
        for index in self._indexes.values():
            index.rebuild()
        return replace(receipt, scrubbed=self._database.scrub())

    def recorded(
        self, action: str, person_id: int, source: Source, **detail: Any
    ) -> AbstractContextManager[Entry]:
        """A block of writes that stands in the history as one change and is undone as one."""
        return self._identity.log.recorded(action, person_id, source, **detail)

    def history(self, person_id: int | None = None) -> list[HistoryRow]:
        """What was done to persons, oldest first; to one, and to those merged into them, where one is given."""
        persons = None if person_id is None else self._identity.with_merged(person_id)
        return self._identity.log.rows(persons)

    def is_pinned(self, node_id: int) -> bool:
        """Whether a resident bound the face or voice: votes never move it."""
        return self._identity.is_pinned(node_id)

    def bindings(self, person_id: int) -> list[Binding]:
        """A person's faces and voices, and who gave them to the person."""
        return self._identity.bindings(person_id)

    def add_negative(
        self,
        node_id: int,
        space: str,
        vector: ArrayLike,
        *,
        clip_id: int | None = None,
        source: str = "resident",
        origin_id: int | None = None,
    ) -> int:
        """Remember that a vector is not of a face or voice; `origin_id`: the node it came from."""
        self._graph.require_node(node_id)
        return self._negatives.add(
            node_id, space, vector, clip_id=clip_id, source=source, origin_id=origin_id
        )

    def negatives(self, space: str) -> list[Negative]:
        """What is known not to be somebody, of the space's current model, oldest first."""
        return self._negatives.select(space)

    def render(self, text: str) -> str:
        """The text with tags replaced by current labels; tags of nobody known stay as they are."""
        return self._identity.render(text)

    def add_vote(self, face_id: int, voice_id: int, clip_id: int, weight: float = 1.0) -> bool:
        """Vote that a face and a voice belong together, once per pair and clip; False where it was there."""
        return self._votes.add(face_id, voice_id, clip_id, weight)

    def votes(self, *, before_clip: int | None = None) -> dict[tuple[int, int], float]:
        """The summed votes of each (face, voice) pair."""
        return self._votes.totals(before_clip)

    def votes_of(self, node_id: int, now_utc_s: float, half_life_s: float) -> dict[int, float]:
        """The faded votes between a face or voice and each of its partners, by the partner's id."""
        return self._votes.of_node(node_id, now_utc_s, half_life_s)

    def owner_of(self, node_id: int) -> int | None:
        """The id of the person a face or voice is bound to, or None; cheaper than `person_of`."""
        return self._identity.owner(node_id)

    def cannot_links(self, node_id: int) -> frozenset[int]:
        """The faces and voices that are known to be other people's than this one."""
        return frozenset(self._graph.cannot_links(node_id))

    def confirm(self, node_id: int, clip_id: int) -> bool:
        """End the tentative state of whom a face or voice belongs to, met again in another clip than its first."""
        return self._tentative.confirm(node_id, clip_id)

    def expire_tentative(self, before_utc_s: float, limit: int | None = None) -> list[int]:
        """Forget tentative people last met before a moment, and those beyond `limit`; who they were, by id.

        Their faces and voices are deleted, with vectors, votes and edges; lines about them tell of "somebody".
        """
        gone = self._tentative.expired(before_utc_s, limit)
        self._tentative.end(gone)
        return gone

    def identity_health(self, space: str) -> dict[str, Any]:
        """How well the exemplars of a space tell people apart; see `identity_health.identity_health`."""
        return identity_health(space, self.exemplars(space))

    def add_name_evidence(
        self,
        person_id: int | None,
        name: str,
        clip_id: int,
        node_id: int,
        weight: float,
        source: str,
        *,
        subject_id: int | None = None,
    ) -> bool:
        """Keep what a line tells of somebody's name, once; False where it was there.

        It is about the face or voice `subject_id`, else about a person, else about whoever speaks the line.
        """
        return self._names.add(person_id, name, clip_id, node_id, weight, source, subject_id=subject_id)

    def name_evidence(self, person_id: int | None = None) -> list[NameEvidence]:
        """What was heard of a person's name, or of everybody's, oldest first."""
        return self._names.of(person_id)

    def may_learn_name(self, person_id: int, name: str | None) -> bool:
        """Whether hearsay may name the person so (None: take a heard name away), and no resident decided otherwise."""
        return self._names.may_be_learned(self._identity.living(person_id), name)

    # Recall

    def search_node(
        self,
        *,
        text: str | None = None,
        vector: ArrayLike | None = None,
        space: str = "text",
        kinds: Collection[NodeKind] | None = None,
        person_id: int | None = None,
        clip_id: int | None = None,
        after_utc_s: float | None = None,
        before_utc_s: float | None = None,
        before_clip: int | None = None,
        k: int = 10,
        threshold: float = 0.0,
    ) -> list[Hit]:
        """The k best nodes for words, a vector or both, among those that pass the filter (`NodeFilter`).

        `threshold` is the least cosine of the vector channel; a node found by its words stays whatever
        its cosine. Without words and vector the latest k nodes come back.
        """
        condition = _filter(kinds, person_id, clip_id, after_utc_s, before_utc_s, before_clip)
        index = self._index(space)
        return self._search.nodes(condition, text=text, vector=vector, index=index, k=k, threshold=threshold)

    def search_clip(
        self,
        *,
        text: str | None = None,
        vector: ArrayLike | None = None,
        space: str = "text",
        kinds: Collection[NodeKind] | None = None,
        person_id: int | None = None,
        clip_id: int | None = None,
        after_utc_s: float | None = None,
        before_utc_s: float | None = None,
        before_clip: int | None = None,
        k: int = 10,
        threshold: float = 0.0,
    ) -> list[ClipHit]:
        """The k clips whose nodes are found best, each with those nodes; arguments as in `search_node`."""
        condition = _filter(kinds, person_id, clip_id, after_utc_s, before_utc_s, before_clip)
        index = self._index(space)
        return self._search.clips(condition, text=text, vector=vector, index=index, k=k, threshold=threshold)

    def timeline(
        self,
        person_id: int | None = None,
        after_utc_s: float | None = None,
        before_utc_s: float | None = None,
        limit: int | None = None,
        *,
        before_clip: int | None = None,
    ) -> list[TimelineRow]:
        """What happened, in the order of time; a limit keeps the latest rows."""
        kinds: tuple[NodeKind, ...] = ("episodic", "semantic")
        condition = _filter(kinds, person_id, None, after_utc_s, before_utc_s, before_clip)
        return self._timeline.rows(condition, limit)

    # Traces and state

    def save_trace(self, question: str, answer: str, trace: Mapping[str, Any]) -> int:
        """Keep how a question was answered, and return the trace's id."""
        return self._traces.save(question, answer, trace)

    def traces(self, limit: int | None = None) -> list[Trace]:
        """Traces, oldest first; a limit keeps the latest."""
        return self._traces.select(limit)

    def trace(self, trace_id: int) -> Trace:
        """One trace."""
        return self._traces.get(trace_id)

    def stats(self) -> dict[str, Any]:
        """Counts of clips, nodes by kind, persons, edges, vectors by space, and bytes on disk."""
        return statistics(self._database)

    def check(self) -> list[str]:
        """What is wrong with the database file, one line a fault; reads the whole file."""
        return self._database.check()

    def _index(self, space: str) -> SpaceIndex:
        return self._indexes[self._vectors.space(space).name]


def _filter(
    kinds: Collection[NodeKind] | None,
    person_id: int | None,
    clip_id: int | None,
    after_utc_s: float | None,
    before_utc_s: float | None,
    before_clip: int | None,
) -> NodeFilter:
    return NodeFilter(
        None if kinds is None else tuple(kinds), person_id, clip_id, after_utc_s, before_utc_s, before_clip
    )
