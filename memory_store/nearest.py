"""Exact nearest neighbours: over an array kept in memory, or over rows read from the database."""

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
    """The k nodes with the highest cosine, each once; the same cosine puts the older node first."""
    order = np.lexsort((nodes, -similarities))
    found: dict[int, float] = {}
    for i in order:
        node_id = int(nodes[i])
        if node_id not in found:
            found[node_id] = float(similarities[i])
            if len(found) == k:
                break
    return [Near(node_id, similarity) for node_id, similarity in found.items()]


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
    """The vectors of one space in memory, in the order of their ids."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._nodes: Ids = np.empty(0, np.int64)
        self._matrix: Vector = np.empty((0, dimension), np.float32)
        self.count = 0
        self.last_id = 0

    def extend(self, rows: list[Row]) -> None:
        """Append rows with the columns id, node_id and vector."""
        if not rows:
            return
        end = self.count + len(rows)
        if end > len(self._nodes):
            capacity = max(end, 2 * len(self._nodes), 256)
            nodes, matrix = np.empty(capacity, np.int64), np.empty((capacity, self._dimension), np.float32)
            nodes[: self.count] = self._nodes[: self.count]
            matrix[: self.count] = self._matrix[: self.count]
            self._nodes, self._matrix = nodes, matrix
        self._nodes[self.count : end] = [row["node_id"] for row in rows]
        self._matrix[self.count : end] = decoded(rows, self._dimension)
        self.count, self.last_id = end, rows[-1]["id"]

    def similarities(self, query: Vector, allowed: Allowed | None) -> tuple[Ids, Vector]:
        """Node ids and cosines of all vectors, or of those of allowed nodes."""
        nodes, matrix = self._nodes[: self.count], self._matrix[: self.count]
        if allowed is None:
            return nodes, matrix @ query
        kept = np.flatnonzero(np.isin(nodes, allowed.ids))
        return nodes[kept], matrix[kept] @ query
