"""Negatives: vectors that a resident said are not of a face or voice, kept so that they are never taken for it."""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from memory_store.database import Database
from memory_store.records import Negative
from memory_store.vectors import Vectors, checked_vector, decoded


@dataclass(frozen=True)
class Negatives:
    """Adding and reading negatives."""

    database: Database
    vectors: Vectors

    def add(
        self,
        node_id: int,
        space_name: str,
        vector: ArrayLike,
        *,
        clip_id: int | None,
        source: str,
        origin_id: int | None,
    ) -> int:
        """Remember that the vector is not of the node. `origin_id`: the node it came from, or None."""
        space = self.vectors.space(space_name)
        values = {
            "node_id": node_id,
            "space": space.name,
            "model": space.model,
            "clip_id": clip_id,
            "source": source,
            "origin_id": origin_id,
            "vector": checked_vector(vector, space).astype("<f4").tobytes(),
        }
        return self.database.insert("negatives", values)

    def select(self, space_name: str) -> list[Negative]:
        """All negatives of the space's current model, oldest first."""
        space = self.vectors.space(space_name)
        rows = self.database.rows(
            "SELECT id, node_id, vector FROM negatives WHERE space = ? AND model = ? ORDER BY id",
            (space.name, space.model),
        )
        vectors = decoded(rows, space.dimension)
        return [
            Negative(row["id"], row["node_id"], vector) for row, vector in zip(rows, vectors, strict=True)
        ]
