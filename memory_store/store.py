"""MemoryStore, the one door to the memory: thin methods over the modules that do the work."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from numpy.typing import ArrayLike

from memory_store import switch
from memory_store.as_of import PastMemory, known_then
from memory_store.backup import Backup, back_up
from memory_store.database import Database
from memory_store.directory_lock import DirectoryLock
from memory_store.errors import ReadOnlyStorage
from memory_store.events import Events
from memory_store.fact_store import FactStore
from memory_store.filters import FilterArguments, NodeFilter, node_ids
from memory_store.forget import Forgetting
from memory_store.graph import Graph
from memory_store.index import EXACT_BELOW, SpaceIndex
from memory_store.index_file import IndexFile
from memory_store.kept_copy import KeptCopy
from memory_store.neighbours import Neighbour, Neighbours
from memory_store.objects import Objects
from memory_store.records import (
    Clip,
    ClipHit,
    Event,
    ForgetReceipt,
    Hit,
    Node,
    Relation,
    TimelineRow,
    Trace,
    Vector,
    VectorSpace,
)
from memory_store.search import Search
from memory_store.statistics import statistics
from memory_store.timeline import Timeline
from memory_store.tombstones import keep_beside
from memory_store.traces import Traces
from memory_store.vectors import Vectors
from memory_store.verify import Fault, verify


class MemoryStore(FactStore):
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
        lock: DirectoryLock | None = None,
    ) -> None:
        self._database = database
        self._lock = lock
        self._indexes = dict(indexes)
        vectors = Vectors(database, {space.name: space for space in spaces})
        graph = Graph(database, vectors, clock)
        super().__init__(database, vectors, graph, clock)
        self._forgetting = Forgetting(database, self._graph, self._identity, self._facts, clock)
        self._traces = Traces(database, clock)
        self.objects = Objects(database, self._graph, self._vectors)
        self._search = Search(database, self._identity)
        self._neighbours = Neighbours(database, self._identity, self._search)
        self._timeline = Timeline(database, self._search, self._identity)
        self._copies = [
            KeptCopy(database, lambda directory: MemoryStore.open(directory, spaces, clock=clock))
            for _ in range(2)
        ]
        self._past, self._apart = PastMemory(database, self._copies[0]), self._copies[1]
        self._events = Events(database, self._clips, self._graph, self._search, self._identity, self._vectors)

    @classmethod
    def open(
        cls,
        directory: Path,
        spaces: Sequence[VectorSpace],
        *,
        clock: Callable[[], float] = time.time,
        busy_timeout_s: float = 10.0,
        exact_below: int = EXACT_BELOW,
    ) -> "MemoryStore":
        """Open or create the memory in a directory; its schema is brought up to date.

        A memory that may not be written is opened for reading alone. exact_below: how many vectors of a space
        are still searched without an index file.
        """
        switch.carry_on(directory, busy_timeout_s)
        lock = DirectoryLock(directory, timeout_s=busy_timeout_s)
        with ExitStack() as undo:
            undo.callback(lock.release)
            database = _opened(directory / "memory.db", busy_timeout_s)
            undo.pop_all()
        files = {space.name: IndexFile(directory / "index", space) for space in spaces}
        indexes = {
            space.name: SpaceIndex(database, space, files[space.name], exact_below=exact_below)
            for space in spaces
        }
        return cls(database, spaces, indexes, clock, lock)

    @property
    def read_only(self) -> bool:
        """Whether this memory can only be read: every transaction raises ReadOnlyStorage."""
        return self._database.read_only

    def close(self) -> None:
        """Save what the indexes hold and close the database."""
        for copy in self._copies:
            copy.close()
        for index in self._indexes.values():
            index.close()
        self._database.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> "MemoryStore":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is kept, or, if an exception leaves the block, nothing; never nested."""
        kept = False
        try:
            with self._database.transaction():
                yield
            kept = True
        finally:
            for index in self._indexes.values():
                index.after_commit() if kept else index.after_rollback()

    # Events and nodes

    def event(self, clip_id: int) -> Event:
        """A clip read as a multimodal event."""
        return self._events.event(clip_id)

    def nodes(self, *, limit: int | None = None, **condition: Unpack[FilterArguments]) -> list[Node]:
        """The nodes that pass a filter, by start time; a limit keeps the latest. See `NodeFilter`."""
        past, condition = self._then(condition)
        return past._search.select(NodeFilter(**condition), limit)

    # Vectors and indexes

    def vector(self, node_id: int, space: str) -> Vector | None:
        """The vector of a node in a space, or None."""
        return self._vectors.of_node(node_id, space)

    def rebuild_indexes(self, *, words: bool = True) -> None:
        """Build the vector indexes, and that of words, anew from the database; minutes for a large memory."""
        if words:
            with self.transaction():
                self._database.write("INSERT INTO nodes_fts (nodes_fts) VALUES ('rebuild')")
        for index in self._indexes.values():
            index.rebuild()

    def forget_person(self, person_id: int) -> ForgetReceipt:
        """Delete a person and everything that tells of them alone; what others share tells of "somebody".

        A transaction of its own, then the files are rewritten without what is gone. Cannot be undone.
        """
        with self.transaction():
            receipt = self._forgetting.person(person_id)
        keep_beside(self._database)
        for index in self._indexes.values():
            index.scrub()
        return replace(receipt, scrubbed=self._database.scrub())

    # Recall

    def as_of(self, clip_id: int) -> "MemoryStore":
        """The memory as it was before a clip, by clip order; to be read, not closed. See memory_store/as_of.py.

        The copy is kept until another one is asked for or this memory changes.
        """
        return self._past.before(clip_id)

    def _then(self, condition: FilterArguments) -> "tuple[MemoryStore, FilterArguments]":
        """Whom to ask, and for what, where a filter may hold `before_clip`."""
        clip_id = condition.get("before_clip")
        if clip_id is None:
            return self, condition
        node_ids(NodeFilter(**condition), self._database, self._identity)  # raises what is unknown altogether
        past = self.as_of(clip_id)
        return past, known_then(condition, past)

    def search_node(
        self,
        *,
        text: str | None = None,
        vector: ArrayLike | None = None,
        space: str = "text",
        k: int = 10,
        threshold: float = 0.0,
        favour: Collection[int] = (),
        **condition: Unpack[FilterArguments],
    ) -> list[Hit]:
        """The k best nodes for words, a vector or both, among those that pass the filter (`NodeFilter`).

        `threshold` is the least cosine of the vector channel; a node found by its words stays whatever
        its cosine. Memories of the persons in `favour` count more. Without words and vector the latest k
        nodes come back.
        """
        past, condition = self._then(condition)
        index = past._index(space)
        return past._search.nodes(
            NodeFilter(**condition),
            text=text,
            vector=vector,
            index=index,
            k=k,
            threshold=threshold,
            favour=favour,
        )

    def witnessed(self, person_id: int, node_ids: Collection[int]) -> set[int]:
        """Those of some nodes that concern a person, or rest on a clip in which the person was seen or heard."""
        return self._search.witnessed(person_id, node_ids)

    def search_clip(
        self,
        *,
        text: str | None = None,
        vector: ArrayLike | None = None,
        space: str = "text",
        k: int = 10,
        threshold: float = 0.0,
        **condition: Unpack[FilterArguments],
    ) -> list[ClipHit]:
        """The k clips whose nodes are found best, each with those nodes; arguments as in `search_node`."""
        past, condition = self._then(condition)
        index = past._index(space)
        return past._search.clips(
            NodeFilter(**condition), text=text, vector=vector, index=index, k=k, threshold=threshold
        )

    def neighbours(
        self,
        node_id: int,
        *,
        relations: Collection[Relation] | None = None,
        depth: int = 1,
        limit: int = 20,
        **condition: Unpack[FilterArguments],
    ) -> list[Neighbour]:
        """What is tied to a memory by edges, nearest first; see `Neighbours.of`."""
        past, condition = self._then(condition)
        return past._neighbours.of(
            node_id, NodeFilter(**condition), relations=relations, depth=depth, limit=limit
        )

    @property
    def spaces(self) -> tuple[str, ...]:
        """The names of the vector spaces that can be searched."""
        return tuple(self._indexes)

    def clips_around(self, clip_id: int, *, before: int = 1, after: int = 1) -> list[Clip]:
        """A clip with those just before and after it, in the order of time."""
        return self._clips.around(clip_id, before, after)

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
        past, condition = self._then(
            {
                "kinds": ("episodic", "semantic"),
                "person_id": person_id,
                "after_utc_s": after_utc_s,
                "before_utc_s": before_utc_s,
                "before_clip": before_clip,
            }
        )
        return past._timeline.rows(NodeFilter(**condition), limit)

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

    def back_up(self, target: Path, now_utc_s: float) -> Backup:
        """Write a backup to a new file, or into a directory; see `backup.back_up`."""
        return back_up(self._database, target, now_utc_s)

    def set_aside(self) -> list[Path]:
        """Earlier memories that a restore or repair kept beside this one; forgetting does not reach them."""
        return switch.set_aside(self._database.path.parent)

    def verify(self) -> list[Fault]:
        """All that is wrong with this memory; reads every row, media file and index."""
        spaces = list(self._vectors.spaces.values())
        return verify(self._database, self._database.path.parent, spaces)

    def check(self) -> list[str]:
        """What is wrong with the database file, one line a fault; reads the whole file."""
        return self._database.check()

    def _index(self, space: str) -> SpaceIndex:
        return self._indexes[self._vectors.space(space).name]


def _opened(path: Path, busy_timeout_s: float) -> Database:
    try:
        database = Database.open(path, busy_timeout_s=busy_timeout_s)
    except ReadOnlyStorage:
        if not path.is_file():
            raise
        return Database.open_read_only(path, busy_timeout_s=busy_timeout_s)
    keep_beside(database)
    return database
