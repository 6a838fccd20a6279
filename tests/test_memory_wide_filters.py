"""Filters that thousands of nodes pass: those are not listed, and what comes is as if they had been."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_store import MemoryStore, VectorSpace
from memory_store.filters import NodeFilter, is_narrow
from offline_tools.bench import index_memory

COUNT, DIMENSION, K = 16_000, 16, 30
CLIPS = COUNT // index_memory.NODES_A_CLIP
SPACE = VectorSpace("text", DIMENSION, "made-up")
START_UTC_S, CLIP_S = index_memory.START_UTC_S, index_memory.CLIP_S
SPANS = [(0, CLIPS // 2), (CLIPS // 2, CLIPS), (CLIPS // 4, CLIPS * 3 // 4)]


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    made = np.random.default_rng(5).standard_normal((COUNT, DIMENSION), np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def store(vectors: NDArray[np.float32], tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    directory: Path = tmp_path_factory.mktemp("wide")
    index_memory.fill(directory, SPACE, vectors)
    store, index = index_memory.opened(directory, SPACE)
    with store:
        index.settle()
        yield store


def condition(first: int, last: int) -> dict[str, Any]:
    return {
        "after_utc_s": START_UTC_S + CLIP_S * first,
        "before_utc_s": START_UTC_S + CLIP_S * last,
        "kinds": ["episodic"],
    }


def ids_in(first: int, last: int) -> range:
    """The nodes of some clips; the last two of all are no episodes."""
    return range(first * index_memory.NODES_A_CLIP + 1, min(last * index_memory.NODES_A_CLIP, COUNT - 2) + 1)


@pytest.mark.parametrize(("first", "last"), SPANS)
def test_the_nearest_of_those_that_pass(
    store: MemoryStore, vectors: NDArray[np.float32], first: int, last: int
) -> None:
    assert not is_narrow(NodeFilter(**condition(first, last)), store._database)
    ids = np.array(ids_in(first, last))
    for query in vectors[::3001]:
        best = np.sort(vectors[ids - 1] @ query)[-K:]
        hits = store.search_node(vector=query, k=K, threshold=-1.0, **condition(first, last))
        assert {hit.node.id for hit in hits} <= set(ids.tolist())
        found = sorted(hit.similarity or 0.0 for hit in hits)
        assert np.isclose(found, best, atol=1e-4).mean() > 0.9


@pytest.mark.parametrize(("first", "last"), SPANS)
@pytest.mark.parametrize("text", ["the cup", "plate in the kitchen", "the ladder and the helmet"])
def test_those_with_the_words_that_pass(store: MemoryStore, text: str, first: int, last: int) -> None:
    """Also where all the newest have the words and do not pass."""
    words = [word for word in text.split() if word not in ("the", "in", "and")]
    holding = {i for i in ids_in(first, last) if any(word in index_memory.line(i - 1) for word in words)}
    hits = store.search_node(text=text, k=K, **condition(first, last))
    found = {hit.node.id for hit in hits}
    assert len(hits) == K and found <= set(ids_in(first, last))
    assert {hit.node.id for hit in hits if "text" in hit.matched_by} <= holding
    assert sum("text" in hit.matched_by for hit in hits) >= K // 2
