"""Clips, nodes, edges and reinforcement."""

import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from memory_store import (
    DuplicateClip,
    InvalidValue,
    InvalidVector,
    MemoryStore,
    TransactionRequired,
    UnknownId,
)
from memory_store.records import NodeKind, Relation
from memory_store.words import indexed_words
from tests.memory_samples import SATURDAY_UTC_S, add_clip, add_face, add_line, open_memory, unit


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_memory(tmp_path) as opened:
        yield opened


def test_a_clip_is_remembered_once(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
    with pytest.raises(DuplicateClip, match=r"visit\.mp4:0"), store.transaction():
        add_clip(store, 0)
    found = store.find_clip("visit.mp4:0")
    assert found is not None and found.id == clip_id and found.state == "grounded"
    assert store.find_clip("visit.mp4:1") is None
    with store.transaction():
        store.set_clip_state(clip_id, "described")
    assert [clip.state for clip in store.clips()] == ["described"]
    assert store.clips(before_utc_s=SATURDAY_UTC_S) == []
    assert len(store.clips(after_utc_s=SATURDAY_UTC_S + 29.0)) == 1
    assert store.clips(after_utc_s=SATURDAY_UTC_S + 30.0) == []


def test_a_node_keeps_what_it_was_given(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        face = add_face(store, clip_id)
        node_id = store.add_node(
            "episodic",
            f"<face_{face}> reads, <face_999> does not exist",
            clip_id=clip_id,
            start_utc_s=SATURDAY_UTC_S + 1,
            end_utc_s=SATURDAY_UTC_S + 2,
            provenance={"source": "grounded", "言": [1, None]},
            vectors={"text": 3.0 * unit(1)},
        )
    node = store.node(node_id)
    assert (node.weight, node.tier, node.clip_id, node.first_seen_utc_s) == (
        1.0,
        "hot",
        clip_id,
        SATURDAY_UTC_S + 1,
    )
    assert node.provenance == {"source": "grounded", "言": [1, None]}
    vector = store.vector(node_id, "text")
    assert vector is not None
    np.testing.assert_allclose(vector, unit(1), atol=1e-6)
    assert [(edge.source, edge.target, edge.relation) for edge in store.edges(node_id)] == [
        (node_id, face, "mentions")
    ]


def test_a_clip_speaks_once_for_a_node(store: MemoryStore) -> None:
    with store.transaction():
        first, second = add_clip(store, 0), add_clip(store, 5)
        node_id = add_line(store, "the kettle is red", first)
        assert not store.reinforce(node_id, first)
        assert store.reinforce(node_id, second)
        assert not store.reinforce(node_id, second)
    node = store.node(node_id)
    assert node.weight == 2.0
    assert (node.start_utc_s, node.last_seen_utc_s) == (SATURDAY_UTC_S, SATURDAY_UTC_S + 180.0)
    assert [clip.id for clip in store.clips_of(node_id)] == [first, second]


def test_the_same_edge_again_counts_an_activation(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        a, b = add_line(store, "a", clip_id), add_line(store, "b", clip_id)
        edge_id = store.add_edge(a, b, "temporal", at_utc_s=1.0)
        assert store.add_edge(a, b, "temporal", at_utc_s=2.0) == edge_id
        assert store.add_edge(a, b, "temporal", detail="after") != edge_id
    edge = store.edges(b)[0]
    assert (edge.activation_count, edge.created_utc_s, edge.last_activated_utc_s) == (1, 1.0, 2.0)


def test_every_kind_of_node_and_edge_is_kept_and_found(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        start = SATURDAY_UTC_S
        nodes = {
            kind: store.add_node(kind, f"a {kind}", clip_id=clip_id, start_utc_s=start, end_utc_s=start + 1)
            for kind in get_args(NodeKind)
        }
        edges = {
            relation: store.add_edge(nodes["face"], nodes["voice"], relation)
            for relation in get_args(Relation)
        }
    assert {edge.relation: edge.id for edge in store.edges(nodes["face"])} == edges
    for kind, node_id in nodes.items():
        assert [node.id for node in store.nodes(kinds=[kind])] == [node_id]
    for relation in edges:
        assert [one.node.id for one in store.neighbours(nodes["face"], relations=[relation])] == [
            nodes["voice"]
        ]


def test_an_id_is_never_used_again(tmp_path: Path) -> None:
    store = open_memory(tmp_path)
    with store.transaction():
        clip_id = add_clip(store, 0)
        node_id = add_face(store, clip_id)
        exemplar_id = store.add_exemplar(node_id, "face", unit(1, 4), quality=0.5, clip_id=clip_id)
        store.remove_exemplar(exemplar_id)
        assert store.add_exemplar(node_id, "face", unit(1, 4), quality=0.5, clip_id=clip_id) > exemplar_id
    store.close()
    with sqlite3.connect(tmp_path / "memory.db") as other:
        other.create_function("indexed_words", 1, indexed_words)
        other.execute("PRAGMA foreign_keys = ON")
        other.execute("DELETE FROM nodes WHERE id = ?", (node_id,))
    other.close()
    with open_memory(tmp_path) as store, store.transaction():
        assert add_line(store, "new", clip_id) > node_id


def test_writes_need_a_transaction_and_these_do_not_nest(store: MemoryStore) -> None:
    with pytest.raises(TransactionRequired, match=r"with store\.transaction"):
        add_clip(store, 0)
    with pytest.raises(TransactionRequired, match="do not nest"), store.transaction(), store.transaction():
        raise AssertionError("never reached")
    assert store.clips() == []


def test_an_exception_undoes_the_whole_transaction(store: MemoryStore) -> None:
    with pytest.raises(UnknownId, match="node 77"), store.transaction():
        clip_id = add_clip(store, 0)
        node_id = add_line(store, "half a memory", clip_id, seed=1)
        assert [hit.node.id for hit in store.search_node(vector=unit(1))] == [node_id]
        store.add_edge(node_id, 77, "semantic")
    assert store.clips() == [] and store.nodes() == []
    assert store.search_node(vector=unit(1)) == [] and store.search_node(text="memory") == []
    with store.transaction():
        add_line(store, "another", add_clip(store, 1), seed=2)
    hit = store.search_node(vector=unit(1), threshold=-1.0)[0]
    assert hit.similarity == pytest.approx(float(unit(1) @ unit(2)), abs=1e-6)


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        (np.zeros(8), "length zero"),
        (np.full(8, np.nan), "NaN"),
        (np.full(8, np.inf), "infinity"),
        (np.ones(9), r"\(9,\).*'text'.*\(8,\)"),
        (np.ones((1, 8)), r"\(1, 8\)"),
    ],
)
def test_a_bad_vector_is_refused(store: MemoryStore, vector: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidVector, match=message), store.transaction():
        clip_id = add_clip(store, 0)
        store.add_node("episodic", "x", clip_id=clip_id, start_utc_s=1, end_utc_s=2, vectors={"text": vector})
    with pytest.raises(InvalidVector, match=message):
        store.search_node(vector=vector)
    assert store.nodes() == []


def test_other_bad_values_are_refused(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        node_id = add_line(store, "x", clip_id)
        for start, end in ((2.0, 1.0), (math.nan, 1.0), (0.0, math.inf)):
            with pytest.raises(InvalidValue, match="seconds since 1970"):
                store.add_node("episodic", "x", clip_id=clip_id, start_utc_s=start, end_utc_s=end)
        with pytest.raises(InvalidValue, match="JSON"):
            store.add_node("episodic", "x", clip_id=1, start_utc_s=1, end_utc_s=2, provenance={"a": object()})
        with pytest.raises(InvalidValue, match="episode"):
            store.add_node("episode", "x", clip_id=1, start_utc_s=1, end_utc_s=2)  # type: ignore[arg-type]
        with pytest.raises(UnknownId, match="clip 9"):
            store.add_node("episodic", "x", clip_id=9, start_utc_s=1, end_utc_s=2)
        with pytest.raises(UnknownId, match=r"space .smell.*text, face, voice"):
            store.add_node("episodic", "x", clip_id=1, start_utc_s=1, end_utc_s=2, vectors={"smell": unit(1)})
        for call in (
            lambda: store.node(99),
            lambda: store.edges(99),
            lambda: store.reinforce(99, clip_id),
            lambda: store.reinforce(node_id, 99),
            lambda: store.clip(99),
            lambda: store.set_clip_state(99, "described"),
            lambda: store.remove_exemplar(99),
            lambda: store.trace(99),
            lambda: store.nodes(clip_id=99),
            lambda: store.search_node(text="x", before_clip=99),
            lambda: store.timeline(person_id=99),
            lambda: store.add_exemplar(99, "face", unit(1, 4), quality=1.0, clip_id=None),
        ):
            with pytest.raises(UnknownId, match="99"):
                call()


def test_traces_are_kept(store: MemoryStore) -> None:
    with store.transaction():
        trace_id = store.save_trace("谁来了?", "Anna", {"rounds": [{"score": 0.5}]})
    assert store.trace(trace_id).trace == {"rounds": [{"score": 0.5}]}
    assert [trace.question for trace in store.traces()] == ["谁来了?"]
    assert store.stats()["traces"] == 1


def test_numbers_of_numpy_are_numbers(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = np.int64(add_clip(store, 0))
        node_id = np.int32(add_face(store, int(clip_id)))
        store.add_exemplar(
            int(node_id), "face", unit(1, 4), quality=float(np.float32(0.5)), clip_id=int(clip_id)
        )
        store.add_exemplar(node_id, "face", unit(2, 4), quality=np.float32(0.5), clip_id=clip_id)  # type: ignore[arg-type]
    assert [exemplar.quality for exemplar in store.exemplars("face")] == [0.5, 0.5]
    assert store.exemplars("face")[1].node_id == node_id
