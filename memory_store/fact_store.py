"""FactStore, the part of the memory's door that knows what goes on, in which order, and what is believed."""

from collections.abc import Callable

from memory_store.continuation import Continuation
from memory_store.database import Database
from memory_store.graph import Graph
from memory_store.people_store import PeopleStore
from memory_store.records import Span
from memory_store.vectors import Vectors


class FactStore(PeopleStore):
    """Thin methods over the modules that do the work; `MemoryStore` adds the rest of the memory to it."""

    def __init__(
        self, database: Database, vectors: Vectors, graph: Graph, clock: Callable[[], float]
    ) -> None:
        super().__init__(database, vectors, graph, clock)
        self._continuation = Continuation(database, graph)

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
