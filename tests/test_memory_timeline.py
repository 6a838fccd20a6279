"""Rows of the timeline."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_store import MemoryStore
from tests.memory_samples import SATURDAY_UTC_S, add_clip, add_face, add_line, add_voice, open_memory


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_memory(tmp_path) as opened:
        yield opened


def grounded(store: MemoryStore, event: str, text: str, clip_id: int, *actors: int) -> int:
    start = store.clip(clip_id).start_utc_s
    node_id = store.add_node(
        "episodic",
        text,
        clip_id=clip_id,
        start_utc_s=start + 1.0,
        end_utc_s=start + 2.0,
        provenance={"source": "grounded", "event": event},
    )
    for actor in actors:
        store.add_edge(node_id, actor, "mentions", detail="actor")
    return node_id


def test_rows_tell_who_was_seen_and_heard(store: MemoryStore) -> None:
    with store.transaction():
        clips = [add_clip(store, number) for number in range(3)]
        face, voice, stranger = (
            add_face(store, clips[0]),
            add_voice(store, clips[0]),
            add_face(store, clips[0]),
        )
        anna = store.create_person()
        store.bind(anna, face)
        seen = grounded(
            store, "seen", f"<face_{face}> and <face_{stranger}> were here", clips[0], face, stranger
        )
        heard = grounded(store, "heard", f"<voice_{voice}> said: <face_{stranger}>", clips[1], voice)
        moved = grounded(store, "moved", f"<face_{face}> moved the cup", clips[2], face)
        noted = add_line(store, f"<face_{face}> is tidy", clips[2])
    rows = [(row.kind, row.person_id, row.person, row.evidence[0]) for row in store.timeline()]
    who = (anna, f"person_{anna}")
    assert rows == [
        ("seen", None, None, seen),
        ("seen", *who, seen),
        ("heard", None, None, heard),
        ("noted", *who, noted),
        ("noted", *who, moved),
    ]
    with store.transaction():
        store.bind(anna, voice)
        store.name_person(anna, "Anna")
    (row,) = store.timeline(anna, SATURDAY_UTC_S + 31.0, SATURDAY_UTC_S + 60.0)
    assert (row.kind, row.person, row.clip_id) == ("heard", "Anna", clips[1])
    assert row.text == f"Anna said: <face_{stranger}>"
    assert [row.evidence[0] for row in store.timeline(anna)] == [seen, heard, noted, moved]
    assert [row.evidence[0] for row in store.timeline(limit=1)] == [moved]
    assert [row.evidence[0] for row in store.timeline(anna, before_clip=clips[1])] == [seen]


def test_a_mention_is_not_an_appearance(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        face, other = add_face(store, clip_id), add_face(store, clip_id)
        anna, ben = store.create_person(), store.create_person()
        store.bind(anna, face)
        store.bind(ben, other)
        grounded(store, "heard", f"<face_{face}> said: where is <face_{other}>?", clip_id, face)
        both = add_line(store, f"<face_{face}> likes <face_{other}>", clip_id)
    assert [(row.kind, row.person_id, row.evidence) for row in store.timeline(ben)] == [
        ("noted", ben, (both,))
    ]
    assert store.timeline()[-1].person_id in (None, anna)
    assert [row.person_id for row in store.timeline() if row.evidence == (both,)] == [None]


def test_a_row_shows_the_span_inside_of_the_filter(store: MemoryStore) -> None:
    with store.transaction():
        first, second = add_clip(store, 0), add_clip(store, 10)
        line = add_line(store, "the kettle is red", first)
        store.reinforce(line, second)
    (row,) = store.timeline(after_utc_s=SATURDAY_UTC_S + 100.0)
    assert (row.start_utc_s, row.end_utc_s, row.clip_id) == (
        SATURDAY_UTC_S + 300.0,
        SATURDAY_UTC_S + 330.0,
        second,
    )
    assert store.timeline(after_utc_s=SATURDAY_UTC_S + 100.0, before_utc_s=SATURDAY_UTC_S + 200.0) == []


def test_a_limit_gives_the_last_rows_of_all(store: MemoryStore) -> None:
    with store.transaction():
        clips = [add_clip(store, number) for number in range(40)]
        anna, ben = store.create_person(), store.create_person()
        faces = [add_face(store, clips[0]), add_face(store, clips[0])]
        store.bind(anna, faces[0])
        store.bind(ben, faces[1])
        for clip_id in clips[:20]:
            grounded(store, "seen", f"<face_{faces[0]}> was here", clip_id, faces[0])
        for clip_id in clips[20:]:
            grounded(store, "heard", f"<face_{faces[1]}> said: <face_{faces[0]}>!", clip_id, faces[1])
    for who in (None, anna, ben):
        assert store.timeline(who, limit=3) == store.timeline(who)[-3:]
    assert store.timeline(limit=0) == []
