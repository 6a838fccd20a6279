"""FactStore, the part of the memory's door that knows what goes on, in which order, and what is believed."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from numpy.typing import ArrayLike

from memory_store.beliefs import Beliefs
from memory_store.continuation import Continuation
from memory_store.database import Database
from memory_store.graph import Graph
from memory_store.people_store import PeopleStore
from memory_store.records import Belief, Span, Triple
from memory_store.vectors import Vectors


class FactStore(PeopleStore):
    """Thin methods over the modules that do the work; `MemoryStore` adds the rest of the memory to it."""

    def __init__(
        self, database: Database, vectors: Vectors, graph: Graph, clock: Callable[[], float]
    ) -> None:
        super().__init__(database, vectors, graph, clock)
        self._continuation = Continuation(database, graph)
        self._beliefs = Beliefs(database, self._facts, self._identity)

    # Events

    def continue_event(
        self, clip_id: int, text: str, event: str, start_utc_s: float, end_utc_s: float
    ) -> int | None:
        """Let the grounded event of the clip before with the same text go on in this one; its node, or None."""
        node_id = self._continuation.going_on(clip_id, text, event, start_utc_s)
        extended = node_id is not None and self._continuation.extend(node_id, clip_id, start_utc_s, end_utc_s)
        return node_id if extended else None

    def order_event(self, node_id: int) -> None:
        """Tie an event by `temporal` edges to the events before and after it of those who act in it."""
        self._continuation.order(node_id)

    def spans(self, node_id: int) -> tuple[Span, ...]:
        """What a node was in each clip it rests on, in the order of time."""
        return self._continuation.spans(node_id)

    # Facts

    def add_fact(
        self,
        triple: Triple,
        text: str,
        line_id: int,
        *,
        subject_id: int | None,
        vector: ArrayLike | None = None,
        same: float = 2.0,
        changed: bool = False,
        provenance: Mapping[str, Any] | None = None,
    ) -> tuple[int, bool]:
        """Keep what a line says of somebody; the fact's node, and whether it is new. See `Facts.add`."""
        return self._facts.add(
            triple,
            text,
            line_id,
            subject_id=subject_id,
            vector=vector,
            same=same,
            changed=changed,
            provenance=provenance,
        )

    def beliefs(
        self,
        person_id: int | None,
        *,
        names: Collection[str] = (),
        relations: Collection[str] | None = None,
        before_clip: int | None = None,
    ) -> list[Belief]:
        """All that was said of a person, and of whoever is called so, with what holds now marked. See `Beliefs.of`."""
        then = self if before_clip is None else self._past.before(before_clip)
        return then._beliefs.of(person_id, names=names, relations=relations)
