"""Exact nearest neighbours: over an array kept in memory, or over rows read from the database."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_store.database import Database, Row
from memory_store.filters import Allowed
from memory_store.records import Vector, VectorSpace
from memory_store.vectors import decoded

_SCAN_ROWS = 8192

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Near:
    """A node near the query vector, by its best vector's cosine."""

    node_id: int
    similarity: float


def best_nodes(nodes: Ids, similarities: Vector, k: int) -> list[Near]:
    """The k nodes with the highest cosine, to six digits, each once; the same one puts the older node first."""
    similarities = np.round(similarities, 6)  # the last digits depend on how it was computed
    take = 4 * k  # sorting all would take longer than computing them
    while take < len(nodes):
        kept = similarities >= np.partition(similarities, -take)[-take]
        found = _best_sorted(nodes[kept], similarities[kept], k)
        if len(found) == k:
            return found
        take *= 4
    return _best_sorted(nodes, similarities, k)


def _best_sorted(nodes: Ids, similarities: Vector, k: int) -> list[Near]:
    order = np.lexsort((nodes, -similarities))
    found: dict[int, float] = {}
    for node_id, similarity in zip(nodes[order].tolist(), similarities[order].tolist(), strict=True):
        if node_id not in found:
            found[node_id] = similarity
            if len(found) == k:
                break
    return [Near(node_id, similarity) for node_id, similarity in found.items()]


def stored_rows(database: Database, space: VectorSpace, ids: Ids, columns: str) -> list[Row]:
    """The rows of those of some vectors that are in the database and of the space, by id."""
    return database.rows(
        f"""SELECT {columns} FROM vectors
        WHERE id IN (SELECT value FROM json_each(?)) AND space = ? AND model = ? ORDER BY id""",
        (json.dumps(ids.tolist()), space.name, space.model),
    )


def scan(
    database: Database, space: VectorSpace, query: Vector, *, after_id: int, allowed: Allowed | None
) -> tuple[Ids, Vector]:
    """Node ids and cosines of the vectors newer than `after_id`, of allowed nodes, read from the database."""
    newer, first = "FROM vectors", tuple[Any, ...]()
    if allowed is not None and after_id:  # few are newer: look through those
        newer, first = f"FROM vectors JOIN ({allowed.sql.text}) ON value = node_id", allowed.sql.parameters
    elif allowed is not None:  # look up the allowed ones
        newer, first = (
            f"FROM ({allowed.sql.text}) CROSS JOIN vectors ON node_id = value",
            allowed.sql.parameters,
        )
    sql = f"""SELECT vectors.id, node_id, vector {newer}
        WHERE space = ? AND model = ? AND vectors.id > ? ORDER BY vectors.id LIMIT ?"""
    nodes, similarities = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    # What is filtered is sorted by SQLite, so it is read at once and not sorted for each part again.
    limit = _SCAN_ROWS if allowed is None else -1
    while rows := database.rows(sql, (*first, space.name, space.model, after_id, limit)):
        nodes.append(np.fromiter((row["node_id"] for row in rows), np.int64, len(rows)))
        similarities.append(decoded(rows, space.dimension) @ query)
        after_id = rows[-1]["id"]
        if len(rows) != limit:
            break
    return np.concatenate(nodes), np.concatenate(similarities)


class VectorArray:
    """Some vectors of one space in memory, in the order of their ids."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._ids: Ids = np.empty(0, np.int64)
        self._nodes: Ids = np.empty(0, np.int64)
        self._matrix: Vector = np.empty((0, dimension), np.float32)
        self.count = 0

    @property
    def ids(self) -> Ids:
        """The ids of the vectors, ascending."""
        return self._ids[: self.count]

    @property
    def vectors(self) -> Vector:
        """The vectors, (count, dimension)."""
        return self._matrix[: self.count]

    def extend(self, rows: list[Row]) -> None:
        """Append rows with the columns id, node_id and vector."""
        end = self.count + len(rows)
        if end > len(self._ids):
            self._grow(max(end, 2 * len(self._ids), 256))
        self._ids[self.count : end] = [row["id"] for row in rows]
        self._nodes[self.count : end] = [row["node_id"] for row in rows]
        self._matrix[self.count : end] = decoded(rows, self._dimension)
        self.count = end

    def keep(self, kept: Ids) -> None:
        """Drop all but the vectors at these positions."""
        if len(kept) < self.count:
            self._ids, self._nodes, self._matrix = self._ids[kept], self._nodes[kept], self._matrix[kept]
            self.count = len(kept)

    def set_nodes(self, rows: list[Row]) -> None:
        """Take over the columns id and node_id of rows, and drop the vectors that have none."""
        ids = np.fromiter((row["id"] for row in rows), np.int64, len(rows))
        nodes = np.fromiter((row["node_id"] for row in rows), np.int64, len(rows))
        order = np.argsort(ids)
        at = np.searchsorted(self.ids, ids[order])
        self._nodes[at] = nodes[order]
        self.keep(at)

    def similarities(self, query: Vector, allowed: Allowed | None) -> tuple[Ids, Vector]:
        """Node ids and cosines of all vectors, or of those of allowed nodes."""
        nodes, matrix = self._nodes[: self.count], self.vectors
        if allowed is None:
            return nodes, matrix @ query
        kept = np.flatnonzero(allowed.contains(nodes))
        if 4 * len(kept) < len(nodes):  # copying rows costs more than multiplying them
            return nodes[kept], matrix[kept] @ query
        return nodes[kept], (matrix @ query)[kept]

    def _grow(self, capacity: int) -> None:
        ids, nodes = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
        matrix = np.empty((capacity, self._dimension), np.float32)
        ids[: self.count], nodes[: self.count] = self.ids, self._nodes[: self.count]
        matrix[: self.count] = self.vectors
        self._ids, self._nodes, self._matrix = ids, nodes, matrix
