"""The longest time that a query or a commit is held up while a memory grows past where its index changes."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from memory_store import VectorSpace
from offline_tools.bench import index_memory
from offline_tools.bench.vector_data import synthetic
from offline_tools.bench.writes import add_faces, write_clip

_QUERIES_A_CLIP = 3


def longest_pauses(size: int, clips: int = 1000) -> dict[str, float]:
    """Milliseconds at most of a query and of a commit, while `size` vectors grow by ten a clip.

    Meanwhile parts of the index are built, saved and merged; nothing waits for that.
    """
    added = clips * index_memory.NODES_A_CLIP
    vectors, queries = synthetic(size + added, clips)
    space = VectorSpace("text", vectors.shape[1], "bench")
    query_s = commit_s = 0.0
    with tempfile.TemporaryDirectory() as folder:
        index_memory.fill(Path(folder), space, vectors[:size])
        store, index = index_memory.opened(Path(folder), space)
        with store:
            index.settle()
            faces = add_faces(store)
            for clip in range(clips):
                start_s = time.perf_counter()
                write_clip(store, clip, vectors[size + clip * index_memory.NODES_A_CLIP :], faces)
                commit_s = max(commit_s, time.perf_counter() - start_s)
                for _ in range(_QUERIES_A_CLIP):
                    start_s = time.perf_counter()
                    store.search_node(vector=queries[clip], k=10)
                    query_s = max(query_s, time.perf_counter() - start_s)
    return {"a query": round(query_s * 1000, 1), "a commit of ten nodes": round(commit_s * 1000, 1)}
