"""Facts: the same one again, contradictions, what is believed, and what corrections do to them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_store import InvalidValue, MemoryStore, Node, Triple, find_tags
from tests.corrected_memory import Met, check_whole, state, three_people
from tests.memory_samples import SATURDAY_UTC_S, add_clip, open_memory, unit

DAY_S = 86400.0
TEA = Triple("likes", "tea")
NO_TEA = Triple("likes", "tea", -1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_memory(tmp_path) as opened:
        yield opened


class Told:
    """A memory in which people say things on numbered days."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        with store.transaction():
            self.people = [self._meet(store, number) for number in range(2)]

    @staticmethod
    def _meet(store: MemoryStore, number: int) -> tuple[int, int]:
        person = store.create_person()
        clip = add_clip(store, number)
        voice = store.add_node("voice", "", clip_id=clip, start_utc_s=0.0, end_utc_s=1.0)
        store.bind(person, voice)
        return person, voice

    def say(
        self, triple: Triple, day: float = 0.0, who: int = 0, *, changed: bool = False, seed: int | None = None,
        same: float = 2.0, clip: int | None = None,
    ) -> tuple[int, bool]:  # fmt: skip
        """Somebody says so on a day, in a clip of its own; the fact, and whether it is new."""
        start, voice = SATURDAY_UTC_S + day * DAY_S, self.people[who][1]
        with self.store.transaction():
            if clip is None:
                number = len(self.store.clips())
                clip = self.store.add_clip(
                    source_key=f"day:{number}", source_name="day", start_utc_s=start, end_utc_s=start + 30
                )
            span = {"clip_id": clip, "start_utc_s": start, "end_utc_s": start + 5}
            line = self.store.add_node(
                "episodic", f'<voice_{voice}> says: "{triple.object}"',
                provenance={"source": "grounded", "event": "heard", "said": triple.object}, **span,
            )  # fmt: skip
            self.store.add_edge(line, voice, "mentions", detail="actor")
            text = f"<voice_{voice}> {triple.relation} {triple.object} ({triple.polarity})."
            vector = None if seed is None else unit(seed)
            return self.store.add_fact(
                triple, text, line, subject_id=voice, vector=vector, same=same, changed=changed
            )

    def now(
        self, *relations: str, who: int = 0, before_clip: int | None = None
    ) -> list[tuple[str, str, int]]:
        beliefs = self.store.beliefs(
            self.people[who][0], relations=relations or None, before_clip=before_clip
        )
        return [
            (one.triple.relation, one.triple.object, one.triple.polarity) for one in beliefs if one.current
        ]


def _facts(store: MemoryStore) -> list[Node]:
    return store.nodes(kinds=["semantic"])


def test_the_same_fact_again_gains_weight_once_per_clip(store: MemoryStore) -> None:
    told = Told(store)
    first, new = told.say(TEA)
    clip = store.node(first).clip_id
    assert new
    assert told.say(TEA, clip=clip) == (first, False)
    assert store.node(first).weight == 1.0
    assert told.say(TEA, 1) == (first, False)
    fact = store.node(first)
    assert (fact.weight, len(_facts(store))) == (2.0, 1)
    assert fact.end_utc_s == SATURDAY_UTC_S + DAY_S + 5
    (belief,) = store.beliefs(told.people[0][0])
    assert len(belief.line_ids) == 3
    derived = [edge for edge in store.edges(first) if edge.relation == "derived_from"]
    assert [edge.target for edge in derived] == list(belief.line_ids)
    (link,) = [edge for edge in store.edges(first) if edge.relation == "entity_link"]
    assert (link.target, link.detail) == (told.people[0][1], "subject")


def test_like_objects_are_one_only_above_the_threshold_and_with_the_same_numbers(store: MemoryStore) -> None:
    told = Told(store)
    first, _ = told.say(Triple("has", "two cats"), seed=1, same=0.99)
    assert told.say(Triple("has", "a pair of cats"), seed=1, same=0.99) == (first, False)
    assert told.say(Triple("has", "house"), seed=2, same=0.99)[1]
    dogs, _ = told.say(Triple("has", "2 dogs"), seed=3, same=0.99)
    assert told.say(Triple("has", "3 dogs"), seed=3, same=0.99)[0] != dogs
    assert told.say(Triple("has", "two cats"), who=1, seed=1, same=0.99)[1], "another person's"
    assert told.say(Triple("has", "two cats", -1), seed=1, same=0.99)[1], "the opposite"


def test_a_contradiction_keeps_both_and_the_newer_one_is_believed(store: MemoryStore) -> None:
    told = Told(store)
    likes, _ = told.say(TEA, 0)
    dislikes, new = told.say(NO_TEA, 40)
    assert new and {node.id for node in _facts(store)} == {likes, dislikes}
    assert told.now() == [("likes", "tea", -1)]
    old, current = store.beliefs(told.people[0][0])
    assert (old.first_utc_s, old.current, current.current) == (SATURDAY_UTC_S + 5, False, True)
    (edge,) = [edge for edge in store.edges(dislikes) if edge.relation == "semantic"]
    assert (edge.source, edge.target, edge.detail) == (dislikes, likes, "contradicts")
    told.say(TEA, 41)
    told.say(TEA, 42)
    assert told.now() == [("likes", "tea", 1)]


def test_a_slip_does_not_outweigh_what_was_often_said_unless_it_says_that_it_changed(
    store: MemoryStore,
) -> None:
    told = Told(store)
    for day in range(3):
        told.say(Triple("lives_in", "berlin"), day)
    told.say(Triple("lives_in", "munich"), 3)
    assert told.now("lives_in") == [("lives_in", "berlin", 1)]
    told.say(Triple("lives_in", "hamburg"), 4, changed=True)
    assert told.now("lives_in") == [("lives_in", "hamburg", 1)]
    for day in (5, 6):
        told.say(Triple("lives_in", "berlin"), day)
    assert told.now("lives_in") == [("lives_in", "berlin", 1)], "what was said after the change counts"


def test_unrelated_facts_never_retire_each_other(store: MemoryStore) -> None:
    told = Told(store)
    said = [
        TEA, Triple("likes", "coffee"), Triple("likes", "dogs", -1), Triple("drinks", "tea", -1), Triple("has", "tea"),
        Triple("lives_in", "berlin"), Triple("works_at", "berlin"), Triple("favourite colour", "red"),
        Triple("favourite food", "rice"), Triple("likes", "tea", -1, "brother"),
        Triple("lives_in", "rome", 1, "brother"),
    ]  # fmt: skip
    for day, triple in enumerate(said):
        told.say(triple, 100.0 * day)
    told.say(NO_TEA, 2000, who=1)
    assert len(told.now()) == len(said)
    assert not [
        edge for node in _facts(store) for edge in store.edges(node.id) if edge.relation == "semantic"
    ]
    told.say(Triple("favourite food", "noodles"), 3000)
    assert ("favourite food", "rice", 1) not in told.now() and ("favourite food", "noodles", 1) in told.now()


def test_equal_support_goes_to_the_later_node_in_every_process(store: MemoryStore) -> None:
    told = Told(store)
    told.say(TEA)
    clip = store.nodes(kinds=["semantic"])[0].clip_id
    told.say(NO_TEA, clip=clip)
    assert told.now() == [("likes", "tea", -1)]


def test_nothing_later_than_a_clip_is_believed_before_it(store: MemoryStore) -> None:
    told = Told(store)
    told.say(TEA, 0)
    told.say(TEA, 1)
    third, _ = told.say(NO_TEA, 2, changed=True)
    assert told.now() == [("likes", "tea", -1)]
    clip = store.node(third).clip_id
    assert told.now(before_clip=clip) == [("likes", "tea", 1)]
    (belief,) = store.beliefs(told.people[0][0], before_clip=clip)
    assert (len(belief.line_ids), len(belief.statements)) == (2, 2)
    second = store.clips()[-2].id
    (belief,) = store.beliefs(told.people[0][0], before_clip=second)
    assert len(belief.line_ids) == len(belief.statements) == 1


def test_merging_people_joins_their_facts_and_undoing_parts_them(store: MemoryStore, tmp_path: Path) -> None:
    told = Told(store)
    told.say(TEA, 0, who=0)
    told.say(TEA, 1, who=1)
    told.say(NO_TEA, 2, who=1)
    before = state(tmp_path)
    with store.transaction():
        store.merge_people(told.people[0][0], told.people[1][0], source="resident")
    likes, _ = store.beliefs(told.people[0][0])
    assert (len(likes.node_ids), len(likes.statements), likes.current) == (2, 2, True)
    assert told.say(TEA, 3, who=1) == (likes.node_ids[0], False), "no third node for the same"
    with store.transaction():
        store.undo(store.history(told.people[0][0])[-1].id)
    assert [len(store.beliefs(person)) for person, _ in told.people] == [1, 2]
    assert len(state(tmp_path)["persons"]) == len(before["persons"])


def test_a_fact_goes_with_the_line_it_was_read_from(store: MemoryStore, tmp_path: Path) -> None:
    told = Told(store)
    (anna, _), (leo, leos) = told.people
    fact, _ = told.say(TEA, 0, seed=1)
    told.say(TEA, 1, changed=True, seed=1)
    first, second = store.beliefs(anna)[0].line_ids
    before = state(tmp_path)
    with store.transaction():
        store.reassign_line(second, leo)
    check_whole(store, tmp_path)
    (annas,), (leos_fact,) = store.beliefs(anna), store.beliefs(leo)
    assert (annas.line_ids, leos_fact.line_ids) == ((first,), (second,))
    assert store.node(fact).weight == 1.0
    moved = store.node(leos_fact.node_ids[0])
    assert [tag.node_id for tag in find_tags(moved.text)] == [leos]
    assert leos_fact.changed_utc_s is not None and annas.changed_utc_s is None
    assert store.vector(moved.id, "text") is not None
    with store.transaction():
        store.undo()
    assert state(tmp_path) == before
    assert len(store.beliefs(anna)[0].line_ids) == 2
    with store.transaction():
        store.reassign_line(first, None)
        store.reassign_line(second, None)
    check_whole(store, tmp_path)
    assert store.beliefs(anna) == [] and _facts(store) == []


def test_a_fact_itself_is_given_to_somebody_else(store: MemoryStore, tmp_path: Path) -> None:
    told = Told(store)
    _, (leo, _) = told.people
    fact, _ = told.say(TEA)
    told.say(NO_TEA, 1)
    before = state(tmp_path)
    with store.transaction():
        store.reassign_line(fact, leo)
    check_whole(store, tmp_path)
    assert told.now(who=1) == [("likes", "tea", 1)] and told.now() == [("likes", "tea", -1)]
    with store.transaction():
        store.undo()
    assert state(tmp_path) == before


def test_a_persons_facts_are_forgotten_with_them(store: MemoryStore, tmp_path: Path) -> None:
    told = Told(store)
    (anna, _), (leo, _) = told.people
    with store.transaction():
        store.name_person(anna, "Anna")
    told.say(TEA)
    told.say(TEA, who=1)
    told.say(Triple("sister", "anna"), who=1)
    receipt = store.forget_person(anna)
    check_whole(store, tmp_path)
    assert receipt.counts["persons"] == 1
    assert [one.triple for one in store.beliefs(leo)] == [Triple("likes", "tea", words="tea")]
    assert store.nodes(person_id=leo, kinds=["semantic"]) != []
    assert all(b"anna" not in bytes(str(row), "utf-8").lower() for row in state(tmp_path)["nodes"])


def test_facts_of_somebody_met_once_go_with_them(store: MemoryStore, tmp_path: Path) -> None:
    told = Told(store)
    told.say(TEA)
    with store.transaction():
        store.expire_tentative(SATURDAY_UTC_S + 100 * DAY_S)
    check_whole(store, tmp_path)
    assert _facts(store) == []


def test_what_others_say_of_somebody_counts_half(store: MemoryStore) -> None:
    told = Told(store)
    (anna, _), _ = told.people
    told.say(TEA, 0)
    line = store.beliefs(anna)[0].line_ids[0]
    with store.transaction():
        store.add_fact(Triple("likes", "tea", -1, "anna"), "Anna does not like tea.", line, subject_id=None)
    beliefs = store.beliefs(anna, names=["Anna"])
    assert [(one.hearsay, one.support, one.current) for one in beliefs] == [
        (False, 1.0, True),
        (True, 0.5, False),
    ]
    assert len(store.beliefs(None, names=["anna"])) == 1


def test_a_fact_without_its_parts_is_refused(store: MemoryStore) -> None:
    told = Told(store)
    told.say(TEA)
    (line,) = store.beliefs(told.people[0][0])[0].line_ids
    with store.transaction():
        for triple, subject in ((Triple("likes", ""), 1), (Triple("likes", "tea", 0), 1), (TEA, None)):
            with pytest.raises(InvalidValue):
                store.add_fact(triple, "x", line, subject_id=subject)


def test_facts_of_the_shared_memory_stay_whole(store: MemoryStore, tmp_path: Path) -> None:
    people: tuple[Met, ...] = three_people(store)
    with store.transaction():
        store.add_fact(
            TEA, f"<voice_{people[0].voice}> likes tea.", people[0].heard[0], subject_id=people[0].voice
        )
        new = store.split_lines(people[0].person, [people[0].heard[0]])
    check_whole(store, tmp_path)
    assert [one.triple.object for one in store.beliefs(new)] == ["tea"]
    assert store.beliefs(people[0].person) == []
