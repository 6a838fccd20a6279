"""A part of a vector index that never changes once it is built: some vectors and their hnswlib graph.

The same vector stands in the graph once, however many nodes have it; equal ones would cut the graph apart.
"""

import threading

import numpy as np
from numpy.typing import NDArray

from memory_store.index_file import Ids, StoredGraph, new_graph
from memory_store.records import Vector, VectorSpace

# In graphs of 32,768 recall@10 is 0.996; with 160 it is 0.994, with 128 0.990 (`bench index`).
EF_SEARCH = 192
_BATCH = 256  # vectors added between two looks at whether to stop


class Segment:
    """Nearest vectors among some; ids may belong to vectors that were deleted since."""

    def __init__(self, stored: StoredGraph) -> None:
        self.stored = stored
        labels, duplicates = np.array(stored.ids, np.int64), stored.duplicates
        rows = np.flatnonzero(labels)
        by_label = rows[np.argsort(labels[rows], kind="stable")]
        duplicates = duplicates[np.isin(duplicates[:, 1], labels)]  # of what was scrubbed nothing is left
        self._labelled = len(rows)
        representative = np.searchsorted(labels[by_label], duplicates[:, 1])
        members = np.concatenate([labels[rows], duplicates[:, 0]])
        member_rows = np.concatenate([rows, by_label[representative]])
        order = np.argsort(members, kind="stable")
        self.ids: Ids = members[order]  # ascending
        self._rows: Ids = member_rows[order]
        by_row = np.argsort(member_rows, kind="stable")
        self._members: Ids = members[by_row]
        self._starts: Ids = np.searchsorted(member_rows[by_row], np.arange(len(labels) + 1))
        self.alive = len(self.ids)

    @property
    def graph_size(self) -> int:
        """How many different vectors there are."""
        return len(self._starts) - 1

    def overlaps(self, other: "Segment") -> bool:
        """Whether they share an id."""
        if not len(self.ids) or self.ids[0] > other.ids[-1] or other.ids[0] > self.ids[-1]:
            return False
        return bool(_contained(self.ids, other.ids).any())

    def current(self) -> "Segment":
        """The segment without what another process has scrubbed since."""
        return self if np.count_nonzero(self.stored.ids) == self._labelled else Segment(self.stored)

    def nearest(self, query: Vector, wanted: int) -> tuple[Ids, Vector, float] | None:
        """Ids and cosines of at least the `wanted` nearest, and the lowest cosine that was looked at.

        That is -inf where nothing is left; None where hnswlib cannot reach as many.
        """
        k = min(wanted, self.graph_size)
        graph = self.stored.graph
        graph.set_ef(max(EF_SEARCH, 2 * k))
        try:
            labels, distances = graph.knn_query(query, k=k, num_threads=1)
        except RuntimeError:
            return None
        cosines = (1.0 - distances[0]).astype(np.float32)
        lowest = -np.inf if k == self.graph_size else float(cosines[-1])
        found, rows = self._found(labels[0].astype(np.int64))
        starts, ends = self._starts[rows], self._starts[rows + 1]
        counts = ends - starts
        offsets = np.repeat(starts - np.cumsum(counts) + counts, counts)
        return self._members[offsets + np.arange(len(offsets))], np.repeat(cosines[found], counts), lowest

    def vectors_of(self, ids: Ids) -> tuple[Ids, Vector]:
        """The positions of those ids that are here, and their vectors."""
        found, rows = self._found(ids)
        return found, self.stored.vectors[rows]

    def unneeded(self, kept: Ids) -> tuple[Ids, Ids]:
        """The rows that no kept id needs, and the duplicates that remain. `kept` ascends."""
        needed = np.zeros(self.graph_size, bool)
        living = _contained(self.ids, kept)
        needed[self._rows[living]] = True
        pairs = self.stored.duplicates
        return np.flatnonzero(~needed & (self.stored.ids != 0)), pairs[_contained(pairs[:, 0], kept)]

    def _found(self, ids: Ids) -> tuple[Ids, Ids]:
        at = np.searchsorted(self.ids, ids)
        at[at == len(self.ids)] = 0
        found = np.flatnonzero(self.ids[at] == ids) if len(self.ids) else np.empty(0, np.int64)
        return found, self._rows[at[found]]


def build_graph(space: VectorSpace, ids: Ids, vectors: Vector, stop: threading.Event) -> StoredGraph | None:
    """The graph of the vectors (n, dimension) of some ids (ascending); None where it was told to stop."""
    first: dict[bytes, int] = {}
    stands_for = np.array([first.setdefault(vectors[i].tobytes(), i) for i in range(len(ids))], np.int64)
    unique = np.flatnonzero(stands_for == np.arange(len(ids)))
    other = np.flatnonzero(stands_for != np.arange(len(ids)))
    graph = new_graph(space, len(unique))
    for start in range(0, len(unique), _BATCH):
        if stop.is_set():
            return None
        rows = unique[start : start + _BATCH]
        graph.add_items(vectors[rows], ids[rows], num_threads=1)
    duplicates = np.stack([ids[other], ids[stands_for[other]]], axis=1)
    return StoredGraph(graph, vectors[unique], ids[unique], duplicates, None)


def _contained(ids: Ids, among: Ids) -> NDArray[np.bool_]:
    """Which of some ids are in an ascending array."""
    at = np.searchsorted(among, ids)
    contained: NDArray[np.bool_] = np.append(among, -1)[at] == ids
    return contained
