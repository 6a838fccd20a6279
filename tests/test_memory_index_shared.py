"""Two connections to one memory in one process, as a live daemon has: one index in memory, and what either builds."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from memory_store import MemoryStore
from tests.memory_samples import unit
from tests.test_memory_index import COUNT, add_vectors, exact, nearest, open_large, settle


def test_two_connections_of_a_process_hold_the_graphs_once(tmp_path: Path) -> None:
    vectors = [unit(seed) for seed in range(3 * COUNT)]
    with open_large(tmp_path) as writer, open_large(tmp_path) as reader:
        nodes = add_vectors(writer, vectors[:COUNT])
        settle(writer)
        assert nearest(reader, vectors[7], 1) == [nodes[7]]
        assert _graphs(reader) == _graphs(writer)
        nodes += add_vectors(writer, vectors[COUNT:])
        settle(writer)
        assert nearest(reader, vectors[-1], 1) == [nodes[-1]]
        with reader.transaction():
            reader.save_trace("Where?", "Here.", {})
        assert _graphs(reader) == _graphs(writer)
        by_node = dict(zip(nodes, vectors, strict=True))
        for seed in range(9000, 9020):
            assert nearest(reader, unit(seed)) == nearest(writer, unit(seed)) == exact(by_node, unit(seed))
        with writer.transaction():
            writer._database.write("DELETE FROM nodes WHERE id = ?", (nodes[0],))
        assert nodes[0] not in nearest(reader, vectors[0])
    with open_large(tmp_path) as alone:
        assert nearest(alone, vectors[5], 1) == [nodes[5]]


def test_both_ask_the_same_graphs_at_once(tmp_path: Path) -> None:
    vectors = [unit(seed) for seed in range(COUNT)]
    with open_large(tmp_path) as one, open_large(tmp_path) as two:
        by_node = dict(zip(add_vectors(one, vectors), vectors, strict=True))
        settle(one)
        asked = [unit(seed) for seed in range(9000, 9040)]

        def answers(store: MemoryStore, k: int) -> list[list[int]]:
            return [nearest(store, vector, k) for vector in asked]

        with ThreadPoolExecutor(
            2
        ) as threads:  # of different width, so that each sets what the other searches by
            few, many = threads.submit(answers, one, 5), threads.submit(answers, two, 150)
            assert few.result(60) == [exact(by_node, vector, 5) for vector in asked]
            assert many.result(60) == [exact(by_node, vector, 150) for vector in asked]
        assert _graphs(one) == _graphs(two)


def test_a_file_that_decays_while_its_graph_is_in_memory_is_found(tmp_path: Path) -> None:
    with open_large(tmp_path) as store:
        add_vectors(store, [unit(seed) for seed in range(COUNT)])
        settle(store)
        assert store.verify() == []
        (file,) = (tmp_path / "index").glob("*.hnsw")
        times, data = file.stat(), bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        with open(file, "rb+") as opened:  # as a disk decays: no time of the file tells
            opened.write(data)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert [fault.what for fault in store.verify()] == ["vector index"]


def test_what_two_connections_built_apart_is_whole_together(tmp_path: Path) -> None:
    vectors = [unit(seed) for seed in range(3 * COUNT)]
    with open_large(tmp_path) as one, open_large(tmp_path) as two:
        nodes = add_vectors(one, vectors[: COUNT // 2])
        settle(one)
        nodes += add_vectors(one, vectors[COUNT // 2 : COUNT])
        two._indexes["text"].rebuild()  # as one graph of all
        nodes += add_vectors(one, vectors[COUNT:])
        settle(one)
        with two.transaction():
            two.save_trace("Where?", "Here.", {})
        for vector, node in zip(vectors[::17], nodes[::17], strict=True):
            assert nearest(one, vector, 1) == nearest(two, vector, 1) == [node]


def _graphs(store: MemoryStore) -> set[int]:
    segments = store._indexes["text"]._segments
    assert segments
    return {id(segment.stored.graph) for segment in segments}
