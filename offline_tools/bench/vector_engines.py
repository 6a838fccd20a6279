"""The vector search engines that the memory's own index is compared with, behind one interface."""

from __future__ import annotations

import importlib
import json
import tempfile
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Ids = NDArray[np.int64]

# What all graphs are built and asked with: hnswlib's, usearch's and FAISS's names differ.
NEIGHBOURS = 16
EF_CONSTRUCTION = 200
EF_SEARCH = 128


class Engine(Protocol):
    """Vectors of length 1 under the ids 1, 2, …; the nearest by inner product."""

    name: str
    needs: tuple[str, ...]  # modules

    def add(self, vectors: Vectors, threads: int) -> None:
        """Build the index of all vectors."""

    def nearest(self, query: Vectors, k: int) -> list[int]:
        """Ids, best first."""

    def nearest_among(self, query: Vectors, k: int, allowed: Ids) -> list[int]:
        """The same among some ids (ascending)."""

    def close(self) -> None:
        """Let go of what lies on disk."""


class PythonLoop:
    """What the reference implementation does: a loop in Python over every node's vector, one cosine each."""

    name = "python loop"
    needs: tuple[str, ...] = ()

    def add(self, vectors: Vectors, threads: int) -> None:
        self._vectors = {i + 1: vector for i, vector in enumerate(vectors)}

    def nearest(self, query: Vectors, k: int) -> list[int]:
        return self._best(query, k, self._vectors)

    def nearest_among(self, query: Vectors, k: int, allowed: Ids) -> list[int]:
        return self._best(query, k, allowed.tolist())

    def _best(self, query: Vectors, k: int, ids: Any) -> list[int]:
        length = np.linalg.norm(query)
        scored = []
        for node_id in ids:
            vector = self._vectors[node_id]
            scored.append((float(np.dot(query, vector) / (length * np.linalg.norm(vector))), node_id))
        return [node_id for _, node_id in sorted(scored, reverse=True)[:k]]

    def close(self) -> None:
        pass


class Usearch:
    """usearch's graph; it has no filters from Python, so more is asked for and filtered, or few compared exactly."""

    name = "usearch"
    needs: tuple[str, ...] = ("usearch.index",)

    def __init__(self) -> None:
        self._usearch: Any = importlib.import_module("usearch.index")

    def add(self, vectors: Vectors, threads: int) -> None:
        self._vectors = vectors
        self._index: Any = self._usearch.Index(
            ndim=vectors.shape[1],
            metric="ip",
            dtype="f32",
            connectivity=NEIGHBOURS,
            expansion_add=EF_CONSTRUCTION,
            expansion_search=EF_SEARCH,
        )
        self._index.add(np.arange(1, len(vectors) + 1), vectors, threads=threads)

    def nearest(self, query: Vectors, k: int) -> list[int]:
        keys: list[int] = self._index.search(query, k, threads=1).keys.tolist()
        return keys

    def nearest_among(self, query: Vectors, k: int, allowed: Ids) -> list[int]:
        wanted = 2 * k * len(self._vectors) // len(allowed)
        if wanted >= len(allowed):
            order = np.argsort(-(self._vectors[allowed - 1] @ query))[:k]
            return [int(i) for i in allowed[order]]
        self._index.expansion_search = max(EF_SEARCH, wanted)
        keys = self._index.search(query, wanted, threads=1).keys.astype(np.int64)
        self._index.expansion_search = EF_SEARCH
        return [int(i) for i in keys[np.isin(keys, allowed)][:k]]

    def close(self) -> None:
        pass


class Faiss:
    """FAISS's HNSW over flat float32 vectors, with its own filter inside the search."""

    name = "FAISS HNSW"
    needs: tuple[str, ...] = ("faiss",)

    def __init__(self) -> None:
        self._faiss: Any = importlib.import_module("faiss")

    def add(self, vectors: Vectors, threads: int) -> None:
        self._faiss.omp_set_num_threads(threads)
        self._index = self._faiss.IndexHNSWFlat(
            vectors.shape[1], NEIGHBOURS, self._faiss.METRIC_INNER_PRODUCT
        )
        self._index.hnsw.efConstruction = EF_CONSTRUCTION
        self._index.add(vectors)
        self._faiss.omp_set_num_threads(1)

    def nearest(self, query: Vectors, k: int) -> list[int]:
        return self._search(query, k, self._faiss.SearchParametersHNSW(efSearch=EF_SEARCH))

    def nearest_among(self, query: Vectors, k: int, allowed: Ids) -> list[int]:
        selector = self._faiss.IDSelectorBatch(allowed - 1)
        return self._search(query, k, self._faiss.SearchParametersHNSW(efSearch=EF_SEARCH, sel=selector))

    def _search(self, query: Vectors, k: int, parameters: Any) -> list[int]:
        found = self._index.search(query[None], k, params=parameters)[1][0]
        return [int(i) + 1 for i in found if i >= 0]

    def close(self) -> None:
        pass


class SqliteVec:
    """sqlite-vec's virtual table on disk: exact search inside SQLite."""

    name = "sqlite-vec"
    needs: tuple[str, ...] = ("apsw", "sqlite_vec")

    def __init__(self) -> None:
        import apsw
        import sqlite_vec

        self._directory = tempfile.TemporaryDirectory()
        # Python's own sqlite3 module is often built without loadable extensions.
        self._connection = apsw.Connection(str(Path(self._directory.name) / "vectors.db"))
        self._connection.enable_load_extension(True)
        self._connection.load_extension(sqlite_vec.loadable_path())

    def add(self, vectors: Vectors, threads: int) -> None:
        execute = self._connection.execute
        execute("PRAGMA journal_mode = WAL")
        execute(
            f"CREATE VIRTUAL TABLE v USING vec0(embedding float[{vectors.shape[1]}] distance_metric=cosine)"
        )
        execute("BEGIN")
        self._connection.executemany(
            "INSERT INTO v (rowid, embedding) VALUES (?, ?)",
            ((i + 1, vector.tobytes()) for i, vector in enumerate(vectors)),
        )
        execute("COMMIT")

    def nearest(self, query: Vectors, k: int) -> list[int]:
        sql = "SELECT rowid FROM v WHERE embedding MATCH ? AND k = ?"
        return [row[0] for row in self._connection.execute(sql, (query.tobytes(), k))]

    def nearest_among(self, query: Vectors, k: int, allowed: Ids) -> list[int]:
        sql = """SELECT rowid FROM v WHERE embedding MATCH ? AND k = ?
            AND rowid IN (SELECT value FROM json_each(?))"""
        values = (query.tobytes(), k, json.dumps(allowed.tolist()))
        return [row[0] for row in self._connection.execute(sql, values)]

    def close(self) -> None:
        self._connection.close()
        self._directory.cleanup()


def engines() -> tuple[list[type[Engine]], list[str]]:
    """The engines that are installed, and a line for each that is not."""
    found: list[type[Engine]] = [PythonLoop]
    missing = list[str]()
    for engine in (SqliteVec, Usearch, Faiss):
        try:
            for module in engine.needs:
                importlib.import_module(module)
            found.append(engine)
        except ImportError as error:
            missing.append(f"{engine.name} is left out: {error}")
    return found, missing
