"""What the index answers equals exact search whatever was added, deleted, put back, built or restarted before."""

import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from memory_store import MemoryStore, Vector, VectorSpace
from memory_store.database import Database
from memory_store.filters import Allowed
from memory_store.index import SpaceIndex
from memory_store.index_file import IndexFile
from tests.memory_samples import add_clip, unit

TEXT = VectorSpace("text", 8, "text-a")


class GrowingMemory:
    """A memory whose index is large from `exact_below` vectors on, and what it must answer."""

    def __init__(self, directory: Path, exact_below: int) -> None:
        self._directory = directory
        self._exact_below = exact_below
        self.vectors: dict[int, Vector] = {}  # by node
        self.open()

    def open(self) -> None:
        """Open, or open again."""
        self.database = Database.open(self._directory / "memory.db")
        file = IndexFile(self._directory / "index", TEXT)
        self.index = SpaceIndex(self.database, TEXT, file, exact_below=self._exact_below)
        self.store = MemoryStore(self.database, [TEXT], {"text": self.index})

    def reopen(self) -> None:
        self.store.close()
        self.open()

    def add(self, vectors: Iterable[Vector]) -> list[int]:
        """One transaction of new nodes with these vectors."""
        with self.store.transaction():
            clip_id = add_clip(self.store, len(self.store.clips()))
            added = {
                self.store.add_node(
                    "episodic", "", clip_id=clip_id, start_utc_s=1, end_utc_s=2, vectors={"text": vector}
                ): vector
                for vector in vectors
            }
        self.vectors |= added
        return list(added)

    def delete(self, nodes: Iterable[int]) -> None:
        with self.store.transaction():
            for node_id in nodes:
                self.database.write("DELETE FROM nodes WHERE id = ?", (node_id,))
                del self.vectors[node_id]

    def put_back(self, node_id: int, vector_row: sqlite3.Row, vector: Vector) -> None:
        """A deleted node, with its vector under its old id, as undoing a correction does."""
        with self.store.transaction():
            self.database.write(
                """INSERT INTO nodes (id, kind, text, start_utc_s, end_utc_s, first_seen_utc_s, last_seen_utc_s)
                VALUES (?, 'episodic', '', 1, 2, 1, 2)""",
                (node_id,),
            )
            self.database.insert("vectors", dict(vector_row))
        self.vectors[node_id] = vector

    def check(self, query: Vector, k: int) -> None:
        """Which of equally near nodes come is open, how near they are is not."""
        found = self.index.nearest(query, k, None)
        true = {near.node_id: float(self.vectors[near.node_id] @ query) for near in found}
        assert len(true) == len(found) == min(k, len(self.vectors))
        assert [near.similarity for near in found] == pytest.approx(list(true.values()), abs=2e-6)
        best = sorted((float(vector @ query) for vector in self.vectors.values()), reverse=True)
        assert list(true.values()) == pytest.approx(best[:k], abs=2e-6)


def test_45_of_50_deleted(tmp_path: Path) -> None:
    memory = GrowingMemory(tmp_path, exact_below=10)
    nodes = memory.add(unit(seed) for seed in range(50))
    memory.index.settle()
    for left in (20, 5, 1):
        memory.delete(nodes[left : len(memory.vectors)])
        memory.check(unit(900), 10)
    memory.reopen()
    memory.check(unit(901), 10)
    memory.delete(nodes[:1])
    assert memory.index.nearest(unit(902), 10, None) == []
    memory.store.close()


@pytest.mark.parametrize("settled", [0, 700, 1000], ids=["in no graph", "in both", "in graphs"])
def test_a_thousand_identical_vectors(tmp_path: Path, settled: int) -> None:
    memory = GrowingMemory(tmp_path, exact_below=200)
    memory.add(unit(seed) for seed in range(10))
    memory.add([unit(5000)] * settled)
    memory.index.settle()
    memory.add([unit(5000)] * (1000 - settled))
    memory.add(unit(seed) for seed in range(20, 30))
    for query in (unit(5000), unit(1), unit(7)):
        for k in (1, 500, 1005):
            memory.check(query, k)
    memory.delete(list(memory.vectors)[10:20])
    memory.check(unit(5000), 500)
    memory.reopen()
    memory.check(unit(5000), 500)
    memory.store.close()


def test_growing_past_every_bound_while_asked(tmp_path: Path) -> None:
    memory = GrowingMemory(tmp_path, exact_below=20)
    for number in range(120):
        memory.add(unit(10 * number + i) for i in range(5))
        memory.check(unit(90_000 + number), 7)
    memory.index.settle()
    memory.check(unit(1), 30)
    sizes = [len(segment.ids) for segment in memory.index._segments or ()]
    assert sum(sizes) > 580 and max(sizes) <= 80 and len(sizes) < 16
    memory.store.close()


def test_many_segments_are_searched_as_one(tmp_path: Path) -> None:
    memory = GrowingMemory(tmp_path, exact_below=4)
    for number in range(6):
        memory.add(unit(100 * number + i) for i in range(60))
        memory.index.settle()
    assert len(memory.index._segments or ()) >= 8
    for seed in range(900, 920):
        memory.check(unit(seed), 15)
    memory.reopen()
    memory.check(unit(1), 100)
    memory.store.close()


def test_more_than_is_kept_in_memory(tmp_path: Path) -> None:
    memory = GrowingMemory(tmp_path, exact_below=5)
    memory.add(unit(seed) for seed in range(200))
    memory.check(unit(900), 12)
    memory.delete(list(memory.vectors)[::7])
    memory.check(unit(901), 12)
    memory.index.settle()
    memory.check(unit(902), 12)
    memory.store.close()


@pytest.mark.parametrize("seed", range(int(__import__("os").environ.get("N", "6"))))
def test_whatever_happened_before(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    memory = GrowingMemory(tmp_path, exact_below=int(random.choice([4, 12, 40])))
    gone: list[tuple[int, sqlite3.Row, Vector]] = []
    for turn in range(40):
        match random.integers(7):
            case 0 | 1 | 2:
                memory.add(unit(int(random.integers(300))) for _ in range(random.integers(1, 25)))
            case 3 if memory.vectors:
                nodes = random.permutation(list(memory.vectors))[: random.integers(1, 12)].tolist()
                for node in nodes:
                    row = memory.database.row("SELECT * FROM vectors WHERE node_id = ?", (node,))
                    assert row is not None
                    gone.append((node, row, memory.vectors[node]))
                memory.delete(nodes)
            case 4 if gone:
                memory.put_back(*gone.pop(int(random.integers(len(gone)))))
            case 5:
                memory.reopen()
            case 6:
                memory.index.settle()
        memory.check(unit(10_000 + turn), int(random.integers(1, 40)))
    memory.store.close()


def test_a_rollback_after_a_search_inside(tmp_path: Path) -> None:
    memory = GrowingMemory(tmp_path, exact_below=10)
    nodes = memory.add(unit(seed) for seed in range(60))
    memory.index.settle()
    before = dict(memory.vectors)

    def fails(part: list[int]) -> None:
        with memory.store.transaction():
            for node in part:
                memory.database.write("DELETE FROM nodes WHERE id = ?", (node,))
                del memory.vectors[node]
            memory.check(unit(900), 60)
            raise KeyboardInterrupt

    for part in (nodes[:5], nodes[10:50]):
        with pytest.raises(KeyboardInterrupt):
            fails(part)
        memory.vectors = dict(before)
        memory.check(unit(900), 60)
    memory.delete(nodes[5:10])
    memory.check(unit(901), 60)
    memory.store.close()


def test_files_left_by_a_crash_are_noticed(tmp_path: Path) -> None:
    memory = GrowingMemory(tmp_path, exact_below=10)
    for number in range(4):
        memory.add(unit(20 * number + i) for i in range(10))
        memory.index.settle()
        if number == 2:
            shutil.copytree(tmp_path / "index", tmp_path / "before")
    memory.store.close()
    assert len(list((tmp_path / "index").glob("*.hnsw"))) == 1, "four parts were merged"
    shutil.copytree(
        tmp_path / "before", tmp_path / "index", dirs_exist_ok=True
    )  # killed before deleting them
    (tmp_path / "index" / "text.1-5.part").write_bytes(b"half of it")
    (tmp_path / "index" / "text.hnsw").write_bytes(b"of an older version")
    memory.open()
    memory.check(unit(900), 12)
    names = {path.name for path in (tmp_path / "index").iterdir()}
    assert names == {"text.1-40.hnsw", "text.1-40.json", "text.lock"}
    memory.store.close()


def test_an_index_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "index").write_text("a file where the folder should be")
    memory = GrowingMemory(tmp_path, exact_below=10)
    nodes = memory.add(unit(seed) for seed in range(60))
    memory.index.settle()
    assert "was not saved" in caplog.text
    memory.check(unit(900), 12)
    memory.delete(nodes[:30])
    memory.check(unit(901), 12)
    memory.index.scrub()
    memory.check(unit(902), 12)
    memory.store.close()


def test_a_vector_forgotten_by_another_process_and_put_back(tmp_path: Path) -> None:
    memory = GrowingMemory(tmp_path, exact_below=10)
    nodes = memory.add(unit(seed) for seed in range(60))
    memory.index.settle()
    memory.check(unit(900), 5)
    row = memory.database.row("SELECT * FROM vectors WHERE node_id = ?", (nodes[3],))
    assert row is not None
    vector = memory.vectors[nodes[3]]
    other = GrowingMemory(tmp_path, exact_below=10)
    other.vectors = memory.vectors
    other.delete([nodes[3]])
    other.index.scrub()
    memory.check(vector, 5)
    memory.put_back(nodes[3], row, vector)
    memory.check(vector, 5)
    (near,) = memory.index.nearest(vector, 1, Allowed(nodes[:8]))
    assert (near.node_id, near.similarity) == (nodes[3], pytest.approx(1.0, abs=2e-6))
    other.store.close()
    memory.store.close()
