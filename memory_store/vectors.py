"""Vectors as rows: checked, brought to length 1, stored as float32 blobs with their model's name."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from memory_store.database import Database, Row
from memory_store.errors import InvalidVector, UnknownId
from memory_store.records import Exemplar, Vector, VectorSpace


def checked_vector(vector: ArrayLike, space: VectorSpace) -> Vector:
    """The vector as float32 of shape (dimension,) and length 1; raises InvalidVector."""
    array = np.asarray(vector, dtype=np.float32)
    if array.shape != (space.dimension,):
        raise InvalidVector(
            f"a vector of shape {array.shape} for space {space.name!r}: "
            f"{space.model} gives ({space.dimension},); was another model used?"
        )
    if not np.isfinite(array).all():
        raise InvalidVector(f"a vector with NaN or infinity in it for space {space.name!r}: drop that sample")
    length = float(np.linalg.norm(array))
    if length < 1e-12:
        raise InvalidVector(
            f"a vector of length zero for space {space.name!r}: it has no direction to compare"
        )
    return array / np.float32(length)


def decoded(rows: Sequence[Row], dimension: int) -> Vector:
    """The `vector` blobs of some rows as one array of shape (n, dimension)."""
    if not rows:
        return np.empty((0, dimension), dtype=np.float32)
    return np.frombuffer(b"".join(row["vector"] for row in rows), dtype="<f4").reshape(-1, dimension)


class Vectors:
    """Vectors and exemplars of nodes, kept apart by space and model."""

    def __init__(self, database: Database, spaces: Mapping[str, VectorSpace]) -> None:
        self._database = database
        self.spaces = spaces

    def space(self, name: str) -> VectorSpace:
        """The declared space of this name; raises UnknownId."""
        if name not in self.spaces:
            known = ", ".join(self.spaces) or "none"
            raise UnknownId(f"no vector space {name!r}: this memory was opened with {known}")
        return self.spaces[name]

    def add(self, node_id: int, space_name: str, vector: ArrayLike, clip_id: int | None) -> int:
        """Store the one vector that a node has in a space."""
        return self._insert(node_id, space_name, vector, clip_id, quality=None)

    def add_exemplar(
        self, node_id: int, space_name: str, vector: ArrayLike, *, quality: float, clip_id: int | None
    ) -> int:
        """Store one more example of a face or voice."""
        return self._insert(node_id, space_name, vector, clip_id, quality=quality)

    def remove_exemplar(self, exemplar_id: int) -> None:
        """Delete an exemplar; raises UnknownId."""
        sql = "DELETE FROM vectors WHERE id = ? AND exemplar = 1"
        if self._database.write(sql, (exemplar_id,)).rowcount == 0:
            raise UnknownId(f"no exemplar {exemplar_id} in this memory")

    def of_clip(self, clip_id: int) -> dict[str, Vector]:
        """What a clip brought in, by space: (n, dimension), of each space's current model, oldest first."""
        sql = "SELECT vector FROM vectors WHERE clip_id = ? AND space = ? AND model = ? ORDER BY id"
        found = {
            space.name: decoded(self._database.rows(sql, (clip_id, space.name, space.model)), space.dimension)
            for space in self.spaces.values()
        }
        return {name: rows for name, rows in found.items() if len(rows)}

    def exemplars(self, space_name: str) -> list[Exemplar]:
        """All exemplars of the space's current model, oldest first."""
        space = self.space(space_name)
        rows = self._database.rows(
            """SELECT v.id, v.node_id, p.person_id, v.clip_id, v.quality, v.vector
            FROM vectors v LEFT JOIN person_nodes p ON p.node_id = v.node_id
            WHERE v.space = ? AND v.model = ? AND v.exemplar = 1 ORDER BY v.id""",
            (space.name, space.model),
        )
        return [
            Exemplar(
                row["id"],
                row["node_id"],
                row["person_id"],
                space.name,
                vector,
                row["quality"],
                row["clip_id"],
            )
            for row, vector in zip(rows, decoded(rows, space.dimension), strict=True)
        ]

    def of_node(self, node_id: int, space_name: str) -> Vector | None:
        """The vector of a node in a space (its newest exemplar where it has only those), or None."""
        space = self.space(space_name)
        rows = self._database.rows(
            """SELECT vector FROM vectors WHERE node_id = ? AND space = ? AND model = ?
            ORDER BY exemplar, id DESC LIMIT 1""",
            (node_id, space.name, space.model),
        )
        return decoded(rows, space.dimension)[0] if rows else None

    def of_nodes(self, node_ids: Collection[int], space_name: str) -> tuple[list[int], Vector]:
        """Those of the nodes that have a vector in a space, by id, and these vectors, (n, dimension)."""
        space = self.space(space_name)
        rows = self._database.rows(
            """SELECT node_id, vector FROM vectors WHERE node_id IN (SELECT value FROM json_each(?))
            AND space = ? AND model = ? AND exemplar = 0 ORDER BY node_id""",
            (json.dumps(sorted(node_ids)), space.name, space.model),
        )
        return [row["node_id"] for row in rows], decoded(rows, space.dimension)

    def _insert(
        self, node_id: int, space_name: str, vector: ArrayLike, clip_id: int | None, quality: float | None
    ) -> int:
        space = self.space(space_name)
        blob = checked_vector(vector, space).astype("<f4").tobytes()
        values: dict[str, Any] = {
            "space": space.name,
            "model": space.model,
            "node_id": node_id,
            "clip_id": clip_id,
            "exemplar": quality is not None,
            "quality": quality,
            "vector": blob,
        }
        return self._database.insert("vectors", values)
