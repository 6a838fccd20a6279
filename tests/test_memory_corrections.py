"""Corrections by residents: each is pinned, leaves negatives and nothing dangling, and can be undone exactly."""

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sqlite_utils
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_store import ChangeContradicted, IdentityConflict, InvalidValue, MemoryStore, UnknownId
from memory_store.errors import MemoryStoreError
from memory_store.migrations import migrations
from tests.corrected_memory import check_whole, correct, mixed, state, three_people
from tests.memory_samples import add_clip, add_line, open_memory


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_memory(tmp_path) as opened:
        yield opened


def cannot_links(store: MemoryStore, node_id: int) -> set[int]:
    return {
        edge.source + edge.target - node_id for edge in store.edges(node_id) if edge.relation == "cannot_link"
    }


def test_a_resident_merges_against_a_cannot_link_and_undoes_it(store: MemoryStore, tmp_path: Path) -> None:
    one, two, _ = three_people(store)
    with store.transaction():
        store.add_edge(one.face, two.face, "cannot_link", detail="resident")
        store.name_person(two.person, "Anna", source="resident")
    before = state(tmp_path)
    with pytest.raises(IdentityConflict), store.transaction():
        store.merge_people(one.person, two.person)
    with store.transaction():
        store.merge_people(one.person, two.person, source="resident")
    merged = store.person(one.person)
    assert (merged.name, merged.face_ids) == ("Anna", (one.face, two.face))
    assert cannot_links(store, one.face) == set() and store.is_pinned(two.voice) and store.is_pinned(one.face)
    assert store.person_history(two.person)[-1]["removed_links"] == [[one.face, two.face]]
    check_whole(store, tmp_path)
    with store.transaction():
        assert store.undo().action == "merge"
    assert state(tmp_path) == before


def test_votes_never_move_what_a_resident_bound(store: MemoryStore) -> None:
    one, two, three = three_people(store)
    with store.transaction():
        store.merge_people(one.person, two.person, source="resident")
    for refused in (
        lambda: store.bind(three.person, two.voice),
        lambda: store.merge_people(three.person, one.person),
    ):
        with pytest.raises(IdentityConflict, match="a resident bound"), store.transaction():
            refused()
    with store.transaction():
        store.merge_people(one.person, three.person)  # what nobody pinned may still join
        store.name_person(one.person, "Anna", source="resident")
    with pytest.raises(IdentityConflict, match="named 'Anna' by a resident"), store.transaction():
        store.name_person(one.person, "Bella")


def test_split_keeps_the_parts_apart(store: MemoryStore, tmp_path: Path) -> None:
    one, *_ = three_people(store)
    before = state(tmp_path)
    with store.transaction():
        new = store.split(one.person, [one.voice])
    assert store.person(new).voice_ids == (one.voice,) and store.person(one.person).face_ids == (one.face,)
    assert cannot_links(store, one.face) == {one.voice}
    assert not store.person(new).tentative
    assert all(pair != (one.face, one.voice) for pair in store.votes())
    with pytest.raises(IdentityConflict, match="different people"), store.transaction():
        store.merge_people(one.person, new)
    check_whole(store, tmp_path)
    with store.transaction():
        store.undo()
    assert state(tmp_path) == before
    with pytest.raises(UnknownId), store.transaction():
        store.person(new)


def test_lines_split_off_take_their_examples_along(store: MemoryStore, tmp_path: Path) -> None:
    one, *_ = three_people(store)
    before = state(tmp_path)
    with store.transaction():
        new = store.split_lines(one.person, [one.seen[2], one.heard[2]])
    (face,), (voice,) = store.person(new).face_ids, store.person(new).voice_ids
    assert store.node(one.seen[2]).text == f"<face_{face}> is in view."
    assert store.node(one.heard[2]).text == f'<voice_{voice}> says: "Hello."'
    assert store.node(one.seen[1]).text == f"<face_{one.face}> is in view."
    counts = dict.fromkeys((one.face, face), 0)
    for exemplar in store.exemplars("face"):
        if exemplar.node_id in counts:
            counts[exemplar.node_id] += 1
    assert counts == {one.face: 2, face: 1}
    (negative,) = store.negatives("face")
    assert negative.node_id == one.face and np.allclose(negative.vector, mixed(0, 1, 0.08))
    assert store.person(one.person).appearances == 2 and store.person(new).appearances == 1
    assert store.votes()[(face, voice)] == 1.0 and store.votes()[(one.face, one.voice)] == 2.0
    assert face in cannot_links(store, one.face) and one.voice in cannot_links(store, face)
    nearest = store.search_node(vector=mixed(0, 1, 0.08), space="face", kinds=["face"], k=1)
    assert nearest[0].node.id == face
    check_whole(store, tmp_path)
    with store.transaction():
        store.undo()
    assert state(tmp_path) == before
    nearest = store.search_node(vector=mixed(0, 1, 0.08), space="face", kinds=["face"], k=1)
    assert nearest[0].node.id == one.face


def test_a_line_that_is_not_somebody(store: MemoryStore, tmp_path: Path) -> None:
    one, two, _ = three_people(store)
    before = state(tmp_path)
    with store.transaction():
        assert store.reassign_line(one.seen[0], None) is None
    assert store.node(one.seen[0]).text == "Somebody is in view."
    assert store.person(one.person).appearances == 3, "the voice was heard in that clip"
    assert [negative.node_id for negative in store.negatives("face")] == [one.face]
    assert len([e for e in store.exemplars("face") if e.node_id == one.face]) == 2
    check_whole(store, tmp_path)
    with store.transaction():
        assert store.reassign_line(one.seen[0], two.person) == two.face  # somebody unknown gets known
    assert store.node(one.seen[0]).text == f"<face_{two.face}> is in view."
    assert next(row.person_id for row in store.timeline(two.person)) == two.person
    with store.transaction():
        assert store.reassign_line(one.heard[1], two.person) == two.voice
    assert store.node(one.heard[1]).text.startswith(f"<voice_{two.voice}> says")
    assert len([e for e in store.exemplars("voice") if e.node_id == two.voice]) == 4
    check_whole(store, tmp_path)
    for _ in range(3):
        with store.transaction():
            store.undo()
    assert state(tmp_path) == before


def test_a_face_that_is_not_somebody(store: MemoryStore, tmp_path: Path) -> None:
    one, two, _ = three_people(store)
    with store.transaction():
        store.merge_people(one.person, two.person, source="resident")
    before = state(tmp_path)
    with store.transaction():
        new = store.take_node(two.face)
    assert store.person(new).face_ids == (two.face,)
    assert {negative.node_id for negative in store.negatives("face")} == {one.face}
    assert cannot_links(store, two.face) == {one.face, one.voice, two.voice}
    check_whole(store, tmp_path)
    with store.transaction():
        store.undo()
    assert state(tmp_path) == before
    with pytest.raises(InvalidValue, match="already"), store.transaction():
        store.take_node(two.face, one.person)


def test_undoing_what_votes_did_is_remembered(store: MemoryStore) -> None:
    one, two, _ = three_people(store)
    with store.transaction():
        store.merge_people(one.person, two.person)
    (merge,) = [row for row in store.history(one.person) if row.action == "merge"]
    with store.transaction():
        store.undo(merge.id)
    assert len(store.people()) == 3
    with pytest.raises(IdentityConflict), store.transaction():
        store.merge_people(one.person, two.person)
    first = next(row for row in store.history(one.person) if row.action == "bind")
    with pytest.raises(ChangeContradicted, match="first met"), store.transaction():
        store.undo(first.id)


def test_undo_refuses_clearly(store: MemoryStore) -> None:
    one, two, three = three_people(store)
    with pytest.raises(UnknownId, match="nothing to undo"), store.transaction():
        store.undo()
    with pytest.raises(UnknownId, match="change 999"), store.transaction():
        store.undo(999)
    with store.transaction():
        new = store.split(one.person, [one.voice])
    (split,) = [row for row in store.history(one.person) if row.action == "split"]
    with store.transaction():
        store.merge_people(three.person, new, source="resident")
    with pytest.raises(ChangeContradicted, match=r"cannot be undone any more: .*since"), store.transaction():
        store.undo(split.id)
    with store.transaction():
        store.undo()
        store.undo()
    with pytest.raises(ChangeContradicted, match="undone already"), store.transaction():
        store.undo(split.id)
    with pytest.raises(UnknownId, match="nothing to undo"), store.transaction():
        store.undo()
    with store.transaction():
        lines = store.split_lines(two.person, [two.seen[0]])
        face = store.person(lines).face_ids[0]
        add_line(store, f"<face_{face}> sings", add_clip(store, 20))
    with pytest.raises(ChangeContradicted, match="newer memories speak of it"), store.transaction():
        store.undo()
    assert store.person(lines).face_ids == (face,)


def test_an_undo_can_be_undone(store: MemoryStore, tmp_path: Path) -> None:
    one, *_ = three_people(store)
    with store.transaction():
        store.split_lines(one.person, [one.seen[1]])
    after = state(tmp_path)
    with store.transaction():
        store.undo()
    undo = store.history(one.person)[-1]
    with store.transaction():
        store.undo(undo.id)
    assert state(tmp_path) == after
    with store.transaction():
        assert store.undo().action == "split"


def test_bad_corrections_are_refused(store: MemoryStore, tmp_path: Path) -> None:
    one, two, _ = three_people(store)
    before = state(tmp_path)
    cases = (
        (lambda: store.merge_people(one.person, one.person, source="resident"), InvalidValue, "same person"),
        (lambda: store.split(one.person, [one.face, one.voice]), InvalidValue, "leave nobody"),
        (lambda: store.split(one.person, []), InvalidValue, "at least one"),
        (
            lambda: store.split(one.person, [two.face]),
            InvalidValue,
            f"node {two.face} is no face or voice of",
        ),
        (lambda: store.split(one.person, [999]), UnknownId, "node 999"),
        (lambda: store.split(999, [one.face]), UnknownId, "person 999"),
        (lambda: store.split_lines(one.person, [two.seen[0]]), InvalidValue, "does not tell of this person"),
        (lambda: store.split_lines(one.person, [*one.seen, *one.heard]), InvalidValue, "leaves nobody"),
        (lambda: store.split_lines(one.person, []), InvalidValue, "at least one"),
        (lambda: store.reassign_line(one.face, None), InvalidValue, "line"),
        (lambda: store.reassign_line(999, None), UnknownId, "node 999"),
        (lambda: store.reassign_line(one.seen[0], one.person), InvalidValue, "already"),
        (lambda: store.take_node(one.seen[0]), UnknownId, "no face or voice"),
        (lambda: store.name_person(one.person, "x" * 10_000), InvalidValue, "10000 characters"),
        (lambda: store.name_person(one.person, "A\x00"), InvalidValue, "U\\+0000"),
        (lambda: store.name_person(one.person, "person_2"), InvalidValue, "like an id"),
        (lambda: store.add_negative(one.face, "face", [np.nan] * 4), MemoryStoreError, "NaN"),
    )
    for action, error, words in cases:
        with pytest.raises(error, match=words), store.transaction():
            action()
        assert state(tmp_path) == before
    with store.transaction():
        store.name_person(one.person, "Zoë 👩‍👧 小明", source="resident")
    assert store.person(one.person).name == "Zoë 👩‍👧 小明"


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(("name", "merge", "code merge", "split", "lines", "line", "node", "undo")),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    max_size=8,
)


@given(steps=_STEPS)
@settings(max_examples=10, deadline=None)
def test_any_sequence_keeps_the_graph_whole(steps: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with open_memory(directory) as store:
            met = three_people(store)
            for action, one, other in steps:
                before = state(directory)
                try:
                    with store.transaction():
                        correct(store, met, action, one, other)
                except MemoryStoreError:
                    assert state(directory) == before
                    continue
                check_whole(store, directory)
                if action in ("undo", "code merge"):
                    continue
                after = state(directory)
                with store.transaction():
                    undone = store.undo()
                assert state(directory) == before
                undo_id = next(row.undone_by for row in store.history() if row.id == undone.id)
                with store.transaction():
                    store.undo(undo_id)
                assert state(directory) == after


def test_a_memory_from_before_corrections_is_kept(tmp_path: Path) -> None:
    """Schema 1 with a named person, a voice bound by votes and their history becomes one that can be corrected."""
    connection = sqlite3.connect(tmp_path / "memory.db")
    migrations.apply(sqlite_utils.Database(connection), stop_before="m002_corrections")
    vector = np.array([1, 0, 0, 0], dtype="<f4").tobytes()
    with connection:
        connection.executescript(
            """INSERT INTO nodes (id, kind, text, start_utc_s, end_utc_s, first_seen_utc_s, last_seen_utc_s)
            VALUES (1, 'face', '', 0, 1, 0, 1), (2, 'voice', '', 0, 1, 0, 1);
            INSERT INTO persons (id, name, tentative, created_utc_s) VALUES (1, 'Anna', 0, 0.0);
            INSERT INTO person_nodes VALUES (1, 1), (2, 1);
            INSERT INTO person_history VALUES (7, 1.0, 'name', 1, '{"name": "Anna", "previous_name": null}');"""
        )
        connection.execute("INSERT INTO vectors VALUES (5, 'face', 'face-a', 1, NULL, 1, 0.5, ?)", (vector,))
    connection.close()
    with open_memory(tmp_path) as store:
        assert [row.id for row in store.history(1)] == [7] and not store.history(1)[0].undoable
        assert [binding.pinned for binding in store.bindings(1)] == [False, False]
        with pytest.raises(IdentityConflict, match="by a resident"), store.transaction():
            store.name_person(1, "Bella")
        with pytest.raises(ChangeContradicted, match="older version"), store.transaction():
            store.undo(7)
        with store.transaction():
            new = store.split(1, [1])
        assert store.exemplars("face")[0].person_id == new and store.history(1)[-1].id == 8
        check_whole(store, tmp_path)
