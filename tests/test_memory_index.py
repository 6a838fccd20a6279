"""The vector index is a cache: never trusted, never behind, always to be rebuilt from SQLite."""

import json
import shutil
import sqlite3
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from memory_store import MemoryStore, Vector, VectorSpace
from memory_store.database import Database
from memory_store.filters import Allowed
from memory_store.index import SpaceIndex
from memory_store.index_file import IndexFile
from memory_store.segment import build_graph
from memory_store.words import indexed_words
from tests.memory_samples import add_clip, open_memory, unit

TEXT = VectorSpace("text", 8, "text-a")
COUNT = 300


def open_large(directory: Path, space: VectorSpace = TEXT) -> MemoryStore:
    """A memory that counts as large from 100 vectors on."""
    database = Database.open(directory / "memory.db")
    file = IndexFile(directory / "index", space)
    index = SpaceIndex(database, space, file, exact_below=100)
    return MemoryStore(database, [space], {space.name: index})


def add_vectors(store: MemoryStore, vectors: list[Vector]) -> list[int]:
    with store.transaction():
        number = len(store.clips())
        clip_id = add_clip(store, number)
        return [
            store.add_node("episodic", "", clip_id=clip_id, start_utc_s=1, end_utc_s=2, vectors={"text": v})
            for v in vectors
        ]


def settle(store: MemoryStore) -> None:
    """Let the thread build what it would build by and by."""
    store._indexes["text"].settle()


def indexed(directory: Path) -> int:
    """How many different vectors the files of the index hold."""
    sidecars = [json.loads(path.read_text()) for path in (directory / "index").glob("text.*.json")]
    return sum(sidecar["count"] for sidecar in sidecars)


def nearest(store: MemoryStore, vector: Vector, k: int = 5) -> list[int]:
    return [hit.node.id for hit in store.search_node(vector=vector, k=k, threshold=-1.0)]


def exact(nodes: dict[int, Vector], vector: Vector, k: int = 5) -> list[int]:
    return sorted(nodes, key=lambda node_id: -float(nodes[node_id] @ vector))[:k]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, Vector]]:
    """A closed memory with an index file, and what is in it; to be copied, not changed."""
    directory = tmp_path_factory.mktemp("large")
    vectors = [unit(seed) for seed in range(COUNT)]
    with open_large(directory) as store:
        ids = add_vectors(store, vectors)
        store.rebuild_indexes()
    return directory, dict(zip(ids, vectors, strict=True))


NAME = f"text.1-{COUNT}"


def test_a_large_space_is_saved_and_loaded(
    large: tuple[Path, dict[int, Vector]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    directory = Path(shutil.copytree(large[0], tmp_path / "copy"))
    sidecar = json.loads((directory / "index" / f"{NAME}.json").read_text())
    assert (sidecar["count"], sidecar["dimension"], sidecar["model"]) == (COUNT, 8, "text-a")
    with open_large(directory) as store:
        for seed in range(1000, 1020):
            assert nearest(store, unit(seed)) == exact(large[1], unit(seed))
    assert caplog.text == ""


def test_a_graph_is_written_as_hnswlib_writes_it(tmp_path: Path) -> None:
    vectors = np.stack([unit(seed) for seed in range(COUNT)])
    stored = build_graph(TEXT, np.arange(1, COUNT + 1), vectors, threading.Event())
    assert stored is not None
    saved = IndexFile(tmp_path, TEXT).save(stored)
    stored.graph.save_index(str(tmp_path / "theirs"))
    assert (tmp_path / f"{saved.name}.hnsw").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert np.array_equal(saved.vectors, vectors)
    assert saved.ids.tolist() == list(range(1, COUNT + 1))


def truncate(index: Path) -> None:
    file = index / f"{NAME}.hnsw"
    file.write_bytes(file.read_bytes()[:-1])


def truncate_and_hide(index: Path) -> None:
    truncate(index)
    edit_sidecar(index, file_bytes=(index / f"{NAME}.hnsw").stat().st_size)


def flip_a_bit(index: Path) -> None:
    file = index / f"{NAME}.hnsw"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def replace_by(index: Path, space: VectorSpace, vectors: Vector) -> None:
    other = build_graph(space, np.arange(1, COUNT + 1), vectors, threading.Event())
    assert other is not None
    IndexFile(index, space).save(other)


def replace_by_other_dimension(index: Path) -> None:
    replace_by(index, VectorSpace("text", 16, "text-a"), np.stack([unit(seed, 16) for seed in range(COUNT)]))
    edit_sidecar(index, dimension=8)


def replace_by_other_memory(index: Path) -> None:
    replace_by(index, TEXT, np.stack([unit(seed + 5000) for seed in range(COUNT)]))


def edit_sidecar(index: Path, **values: object) -> None:
    sidecar = index / f"{NAME}.json"
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | values))


def speak_of_more_than_the_file_holds(index: Path) -> None:
    file = index / f"{NAME}.hnsw"
    data = bytearray(file.read_bytes())
    data[8:24] = (2 * COUNT).to_bytes(8, "little") * 2  # capacity and count
    file.write_bytes(data)
    edit_sidecar(index, count=2 * COUNT, crc32=zlib.crc32(data))


DAMAGES: list[Callable[[Path], object]] = [
    truncate,
    truncate_and_hide,
    flip_a_bit,
    speak_of_more_than_the_file_holds,
    replace_by_other_dimension,
    replace_by_other_memory,
    lambda index: (index / f"{NAME}.hnsw").write_bytes(b""),
    lambda index: (index / f"{NAME}.hnsw").write_bytes(b"not an index" * 1000),
    lambda index: (index / f"{NAME}.hnsw").unlink(),
    lambda index: (index / f"{NAME}.json").unlink(),
    lambda index: (index / f"{NAME}.json").write_text("{"),
    lambda index: (index / f"{NAME}.json").write_text("[]"),
    lambda index: edit_sidecar(index, model="text-b"),
    lambda index: edit_sidecar(index, count=COUNT - 1),
    lambda index: edit_sidecar(index, duplicates=3),
    lambda index: edit_sidecar(index, file_bytes=0),
    lambda index: edit_sidecar(index, m=4),
    lambda index: edit_sidecar(index, surplus=1),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_changes_no_answer(
    large: tuple[Path, dict[int, Vector]], tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    directory, nodes = Path(shutil.copytree(large[0], tmp_path / "copy")), dict(large[1])
    damage(directory / "index")
    with open_large(directory) as store:
        assert nearest(store, unit(1000)) == exact(nodes, unit(1000))
        for seed in range(COUNT, COUNT + 3):  # each commit builds a part of the index
            nodes |= dict(zip(add_vectors(store, [unit(seed)]), [unit(seed)], strict=True))
            assert nearest(store, unit(1000)) == exact(nodes, unit(1000))
        assert nearest(store, unit(COUNT)) == exact(nodes, unit(COUNT))
        settle(store)
        assert nearest(store, unit(1000)) == exact(nodes, unit(1000))
    assert COUNT <= indexed(directory) <= COUNT + 3


def test_a_restored_backup_is_noticed(large: tuple[Path, dict[int, Vector]], tmp_path: Path) -> None:
    directory, nodes = Path(shutil.copytree(large[0], tmp_path / "copy")), dict(large[1])
    backup = shutil.copyfile(directory / "memory.db", tmp_path / "backup.db")
    with open_large(directory) as store:
        add_vectors(store, [unit(seed) for seed in range(COUNT, COUNT + 50)])
    for suffix in ("-wal", "-shm"):
        (directory / f"memory.db{suffix}").unlink(missing_ok=True)
    shutil.copyfile(backup, directory / "memory.db")
    with open_large(directory) as store:
        assert nearest(store, unit(COUNT + 7)) == exact(nodes, unit(COUNT + 7))
        added = [unit(seed) for seed in range(7000, 7060)]  # other vectors under the ids the index knows
        nodes |= dict(zip(add_vectors(store, added), added, strict=True))
        assert nearest(store, unit(7003)) == exact(nodes, unit(7003))


@pytest.mark.parametrize("opened", [open_memory, open_large])
def test_what_another_process_writes_is_seen(tmp_path: Path, opened: Callable[[Path], MemoryStore]) -> None:
    nodes: dict[int, Vector] = {}
    with opened(tmp_path) as one, opened(tmp_path) as two:
        for turn in range(8):
            writer, reader = (one, two) if turn % 2 else (two, one)
            vectors = [unit(100 * turn + i) for i in range(30)]
            nodes |= dict(zip(add_vectors(writer, vectors), vectors, strict=True))
            assert nearest(reader, vectors[3]) == exact(nodes, vectors[3])
            assert nearest(writer, vectors[4]) == exact(nodes, vectors[4])
            gone = min(nodes)
            del nodes[gone]
            with sqlite3.connect(tmp_path / "memory.db") as third:
                third.create_function("indexed_words", 1, indexed_words, deterministic=True)
                third.execute("PRAGMA foreign_keys = ON")
                third.execute("DELETE FROM nodes WHERE id = ?", (gone,))
            third.close()
            assert nearest(reader, vectors[3], k=500) == exact(nodes, vectors[3], k=500)


@pytest.mark.parametrize("opened", [open_memory, open_large])
def test_a_rollback_leaves_the_index_as_it_was(tmp_path: Path, opened: Callable[[Path], MemoryStore]) -> None:
    with opened(tmp_path) as store:
        vectors = [unit(seed) for seed in range(150)]
        nodes = dict(zip(add_vectors(store, vectors), vectors, strict=True))
        assert nearest(store, unit(3)) == exact(nodes, unit(3))

        def fails() -> None:
            with store.transaction():
                clip_id = add_clip(store, 900)
                new = store.add_node(
                    "episodic", "", clip_id=clip_id, start_utc_s=1, end_utc_s=2, vectors={"text": unit(500)}
                )
                assert nearest(store, unit(500))[0] == new
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fails()
        assert nearest(store, unit(500)) == exact(nodes, unit(500))
        (again,) = add_vectors(store, [unit(501)])
        nodes[again] = unit(501)
        assert nearest(store, unit(500)) == exact(nodes, unit(500))


def test_deleted_vectors_leave_the_file(large: tuple[Path, dict[int, Vector]], tmp_path: Path) -> None:
    directory, nodes = Path(shutil.copytree(large[0], tmp_path / "copy")), dict(large[1])
    gone = next(iter(nodes))
    with open_large(directory) as store:
        assert nearest(store, nodes[gone])[0] == gone
        with sqlite3.connect(directory / "memory.db") as other:
            other.create_function("indexed_words", 1, indexed_words, deterministic=True)
            other.execute("PRAGMA foreign_keys = ON")
            other.execute("DELETE FROM nodes WHERE id = ?", (gone,))
        other.close()
        assert gone not in nearest(store, nodes[gone])
    assert nodes[gone].tobytes() not in (directory / "index" / f"{NAME}.hnsw").read_bytes()
    assert nodes[gone + 1].tobytes() in (directory / "index" / f"{NAME}.hnsw").read_bytes()
    with open_large(directory) as store:  # the rest of the file is used as it was
        assert nearest(store, nodes[gone + 1])[0] == gone + 1
        assert len(nearest(store, nodes[gone], k=COUNT)) == COUNT - 1


def test_models_are_never_compared(tmp_path: Path) -> None:
    with open_large(tmp_path) as store:
        add_vectors(store, [unit(seed) for seed in range(120)])
    other = VectorSpace("text", 4, "text-b")
    with open_large(tmp_path, other) as store:
        assert store.search_node(vector=unit(1, 4)) == []
        (node_id,) = add_vectors(store, [unit(1, 4)])
        (hit,) = store.search_node(vector=unit(1, 4))
        assert hit.node.id == node_id
        counts = {entry["model"]: entry["count"] for entry in store.stats()["vectors"]}
        assert counts == {"text-a": 120, "text-b": 1}
    with open_large(tmp_path) as store:
        assert len(store.search_node(vector=unit(1), threshold=-1.0, k=200)) == 120


def test_many_exemplars_of_one_node_hide_no_other(tmp_path: Path) -> None:
    with open_large(tmp_path) as store:
        first, second = add_vectors(store, [unit(1), unit(2)])
        with store.transaction():
            for i in range(200):
                store.add_exemplar(first, "text", unit(1) + 0.01 * unit(i), quality=1.0, clip_id=None)
        store.rebuild_indexes()
        assert nearest(store, unit(1), k=2) == [first, second]


def test_what_a_filter_leaves_out_never_comes_from_the_graphs(tmp_path: Path) -> None:
    with open_large(tmp_path) as store:
        vectors = [unit(seed) for seed in range(1200)]
        nodes = dict(zip(add_vectors(store, vectors), vectors, strict=True))
        settle(store)
        index = store._indexes["text"]
        assert index._held() == len(nodes), "all are in graphs"
        for share in (1, 2):  # every node but one in so many
            left = {node_id: nodes[node_id] for node_id in nodes if share == 1 or node_id % share}
            for seed in range(2000, 2040):
                near = index.nearest(unit(seed), 3, Allowed(left))
                assert [item.node_id for item in near] == exact(left, unit(seed), 3)
                found = index._nearest_in_graphs(index._synced(), unit(seed), 40, Allowed(left))
                assert found is not None and set(found[0].tolist()) <= set(left)
