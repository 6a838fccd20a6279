"""Associative recall along edges and sequential recall along time, compared with plain walks in Python."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_store import InvalidValue, MemoryStore, Relation, UnknownId
from tests.memory_samples import SATURDAY_UTC_S, add_clip, add_face, add_line, add_voice, open_memory

RELATIONS: tuple[Relation, ...] = ("mentions", "temporal", "cannot_link")
NODES = 8


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_memory(tmp_path) as opened:
        yield opened


def test_a_voice_leads_over_its_person_to_what_is_told_by_face(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        face, voice = add_face(store, clip_id), add_voice(store, clip_id)
        person = store.create_person()
        store.bind(person, face)
        store.bind(person, voice)
        seen = add_line(store, f"<face_{face}> is in view.", clip_id)
        heard = add_line(store, f'<voice_{voice}> says: "Hello."', clip_id)
    found = {item.node.id: item for item in store.neighbours(voice, depth=2)}
    assert [found[i].distance for i in (heard, face, seen)] == [1, 1, 2]
    assert (found[face].relation, found[face].detail, found[seen].via) == ("equivalence", "same person", face)
    (only,) = store.neighbours(voice, depth=2, relations=["mentions"])
    assert only.node.id == heard
    assert [item.node.id for item in store.neighbours(voice, depth=2, kinds=["episodic"])] == [heard, seen]


def test_heavier_edges_come_first_and_the_limit_keeps_them(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        lines = [add_line(store, f"line {i}", clip_id) for i in range(5)]
        for weight, line in enumerate(lines[1:], start=1):
            store.add_edge(lines[0], line, "semantic", weight=float(weight % 3))
    assert [item.node.id for item in store.neighbours(lines[0], limit=3)] == [lines[2], lines[4], lines[1]]
    assert store.neighbours(lines[1])[0].node.id == lines[0]


def test_what_cannot_be_walked_is_refused(store: MemoryStore) -> None:
    with store.transaction():
        line = add_line(store, "alone", add_clip(store, 0))
    assert store.neighbours(line) == []
    with pytest.raises(UnknownId):
        store.neighbours(99)
    with pytest.raises(InvalidValue, match="one of entity_link"):
        store.neighbours(line, relations=["cousin"])  # type: ignore[list-item]
    for wrong in ({"depth": 0}, {"limit": 0}):
        with pytest.raises(InvalidValue, match="at least 1"):
            store.neighbours(line, **wrong)  # type: ignore[arg-type]


def test_clips_follow_one_another_by_time(store: MemoryStore) -> None:
    with store.transaction():
        ids = {number: add_clip(store, number) for number in (3, 0, 2, 1, 4)}
    around = store.clips_around(ids[2], before=2, after=1)
    assert [clip.id for clip in around] == [ids[0], ids[1], ids[2], ids[3]]
    assert [clip.id for clip in store.clips_around(ids[4], before=0)] == [ids[4]]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    clips=st.lists(st.integers(0, 4), min_size=NODES, max_size=NODES),
    edges=st.lists(
        st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.sampled_from(RELATIONS)),
        max_size=16,
    ),
    relations=st.sampled_from([None, ("mentions",), ("mentions", "temporal"), ("cannot_link",)]),
    depth=st.integers(1, 4),
    after=st.sampled_from([None, 0, 1, 2]),
    before_clip=st.sampled_from([None, 1, 3]),
)
def test_a_walk_reaches_what_a_plain_walk_reaches(
    clips: list[int],
    edges: list[tuple[int, int, Relation]],
    relations: tuple[Relation, ...] | None,
    depth: int,
    after: int | None,
    before_clip: int | None,
) -> None:
    with tempfile.TemporaryDirectory() as directory, open_memory(Path(directory)) as store:
        with store.transaction():
            clip_ids = [add_clip(store, number) for number in range(5)]
            ids = [add_line(store, f"line {i}", clip_ids[clip]) for i, clip in enumerate(clips)]
            for source, target, relation in edges:
                store.add_edge(ids[source], ids[target], relation)
        known = {i for i in range(NODES) if before_clip is None or clips[i] < before_clip}
        condition = {
            "after_utc_s": None if after is None else SATURDAY_UTC_S + 30.0 * after,
            "before_clip": None if before_clip is None else clip_ids[before_clip],
        }
        if 0 not in known:
            with pytest.raises(UnknownId):
                store.neighbours(ids[0], depth=depth, **condition)  # type: ignore[arg-type]
            return
        walked = {"mentions", "temporal"} if relations is None else set(relations)
        expected = {
            ids[i]: distance
            for i, distance in plain_walk(edges, walked, known, depth).items()
            if after is None or clips[i] >= after
        }
        found = store.neighbours(ids[0], relations=relations, depth=depth, **condition)  # type: ignore[arg-type]
        assert {item.node.id: item.distance for item in found} == expected


def plain_walk(
    edges: list[tuple[int, int, Relation]], walked: set[str], known: set[int], depth: int
) -> dict[int, int]:
    """The distance of everything reached from node 0 through known nodes."""
    distances, frontier = {0: 0}, {0}
    for distance in range(1, depth + 1):
        ends = {(a, b) for a, b, relation in edges if relation in walked}
        near = {b for a, b in ends if a in frontier} | {a for a, b in ends if b in frontier}
        frontier = {i for i in near if i in known and i not in distances}
        distances |= dict.fromkeys(frontier, distance)
    return {i: distance for i, distance in distances.items() if i}
