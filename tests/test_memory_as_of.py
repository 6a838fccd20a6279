"""What is asked before a clip is answered as it was answered before that clip, whatever was learned since."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_store import InvalidValue, MemoryStore, MemoryStoreError, UnknownId
from tests.corrected_memory import Met, check_whole, meet, mixed, three_people
from tests.memory_samples import SATURDAY_UTC_S, add_clip, add_line, open_memory, unit

QUESTIONS = ("Where is Anna's kettle?", "Hello", "tea", "水壶在哪里", "Who is in view?")


def answers(store: MemoryStore, before_clip: int | None = None) -> dict[str, Any]:
    """What a memory, or its past, answers to everything that can be asked with `before_clip`."""
    when: Any = {} if before_clip is None else {"before_clip": before_clip}
    then = store if before_clip is None else store.as_of(before_clip)
    told: dict[str, Any] = {
        "people": then.people(),
        "nodes": store.nodes(**when),
        "texts": [then.render(node.text) for node in store.nodes(**when)],
        "timeline": store.timeline(**when),
        "votes": store.votes(**when),
        "names": then.name_evidence(),
        "exemplars": [(e.id, e.person_id, e.vector.tolist()) for e in then.exemplars("face")],
        "negatives": [(n.id, n.node_id) for n in then.negatives("face")],
        "clips": [hit.clip for hit in store.search_clip(text="hello", k=50, **when)],
    }
    for question in QUESTIONS:
        hits = store.search_node(text=question, vector=unit(3), k=50, threshold=-1.0, **when)
        told[question] = [(hit.node, round(hit.score, 5), hit.matched_by) for hit in hits]
    for number in range(4):
        hits = store.search_node(vector=mixed(number, 0, 0.2), space="face", k=20, threshold=-1.0, **when)
        told[f"face {number}"] = [(hit.node.id, round(hit.similarity or 0.0, 5)) for hit in hits]
    for person in then.people():
        told[f"of {person.id}"] = [node.id for node in store.nodes(person_id=person.id, **when)]
        told[f"row {person.id}"] = store.timeline(person.id, **when)
        for node_id in person.face_ids:
            near = store.neighbours(node_id, depth=2, **when)
            told[f"near {node_id}"] = [(item.node.id, item.distance, item.relation) for item in near]
    return told


def live_on(store: MemoryStore, people: tuple[Met, ...], chance: random.Random) -> None:
    """Ten clips in which much is learned and corrected of what was known before."""
    one, two, three = people
    with store.transaction():
        newcomer = meet(store, 3, [add_clip(store, 20), add_clip(store, 21)])
    lines = [*one.seen, *two.seen, *two.heard]

    def add_evidence() -> None:
        clip_id = add_clip(store, next_clip())
        store.reinforce(one.seen[0], clip_id, weight=3.0)
        store.add_exemplar(two.face, "face", mixed(1, 3, 0.4), quality=1.0, clip_id=clip_id)
        store.add_vote(one.face, three.voice, clip_id, 5.0)
        line = add_line(store, f"<face_{one.face}> breaks the kettle. Hello tea! 水壶", clip_id, seed=3)
        store.add_edge(line, one.face, "mentions", detail="actor")
        store.add_name_evidence(two.person, "Otto", clip_id, line, 2.0, "third")

    def tie_old_lines() -> None:
        add_clip(store, next_clip())
        store.add_edge(chance.choice(lines), chance.choice(lines), "semantic", detail="contradicts")

    def next_clip() -> int:
        return 30 + len(store.clips())

    changes: list[Callable[[], object]] = [
        add_evidence,
        add_evidence,
        tie_old_lines,
        lambda: store.name_person(one.person, chance.choice(["Anna", "Zoe"]), source="resident"),
        lambda: store.name_person(three.person, "Kettle"),
        lambda: store.merge_people(one.person, newcomer.person, source="resident"),
        lambda: store.merge_people(two.person, three.person, source="resident"),
        lambda: store.split(one.person, [one.voice]),
        lambda: store.take_node(two.face),
        lambda: store.reassign_line(chance.choice(two.seen), one.person),
        lambda: store.reassign_line(chance.choice(one.seen), None),
        lambda: store.split_lines(two.person, two.seen[:1]),
        lambda: store.set_consent(three.person, "guest"),
        lambda: store.undo(),
    ]
    for _ in range(10):
        try:
            with store.transaction():
                chance.choice(changes)()
        except MemoryStoreError:  # not every change can follow every other
            continue


@pytest.mark.parametrize("seed", range(5))
def test_the_past_answers_as_it_did(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    with open_memory(tmp_path) as store:
        people = three_people(store)
        with store.transaction():
            store.name_person(people[0].person, "Anna", source="resident")
            add_line(store, f"<face_{people[0].face}> fills the kettle. 水壶", add_clip(store, 12), seed=3)
        before = answers(store)
        with store.transaction():
            clip_id = add_clip(store, 13)
        live_on(store, people, chance)
        check_whole(store, tmp_path)
        now = answers(store)
        then = answers(store, clip_id)
        assert {name: then[name] for name in before} == before
        assert now != before and set(then) == set(before)


def test_the_past_is_whole_and_is_made_anew_when_the_memory_changes(tmp_path: Path) -> None:
    with open_memory(tmp_path) as store:
        people = three_people(store)
        clip_id = store.clips()[4].id
        past = store.as_of(clip_id)
        assert past.check() == [] and [clip.id for clip in past.clips()] == [1, 2, 3, 4]
        assert store.as_of(clip_id) is past
        with pytest.raises(UnknownId):
            past.person(people[2].person)
        with store.transaction():
            with pytest.raises(InvalidValue, match="end the transaction"):
                store.nodes(before_clip=clip_id)
            add_line(store, "told of late, of an early clip", 1)
        assert "told of late, of an early clip" in [node.text for node in store.nodes(before_clip=clip_id)]


def test_who_was_not_known_then_concerns_nothing(tmp_path: Path) -> None:
    with open_memory(tmp_path) as store:
        _, _, last = three_people(store)
        first = store.clips()[1].id
        assert store.nodes(person_id=last.person, before_clip=first) == []
        assert store.nodes(clip_id=store.clips()[5].id, before_clip=first) == []
        assert store.timeline(last.person, before_clip=first) == []
        for wrong in ({"person_id": 99}, {"clip_id": 99}):
            with pytest.raises(UnknownId):
                store.nodes(before_clip=first, **wrong)  # type: ignore[arg-type]


def test_an_older_recording_that_is_replayed_later_belongs_to_its_own_time(tmp_path: Path) -> None:
    with open_memory(tmp_path) as store:
        with store.transaction():
            now = add_clip(store, 100)
            add_line(store, "today's kettle", now)
            old = add_clip(store, 0)
            add_line(store, "the old kettle", old)
        assert [hit.node.text for hit in store.search_node(text="kettle", before_clip=now)] == [
            "the old kettle"
        ]
        assert store.search_node(text="kettle", before_clip=old) == []
        assert store.clips()[0].start_utc_s == SATURDAY_UTC_S
