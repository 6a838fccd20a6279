"""Words as they are indexed and asked for, and how the channels of a search are ranked."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memory_store import MemoryStore
from memory_store.database import Database
from memory_store.filters import Allowed
from memory_store.nearest import Near
from memory_store.ranking import FAVOUR, fused
from memory_store.text_index import Worded, search_text
from memory_store.words import indexed_words, terms_of
from tests.memory_samples import SATURDAY_UTC_S, add_clip, add_face, add_line, open_memory, unit


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_memory(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("text", "indexed"),
    [
        ("The cat sat", "The cat sat"),
        ("小明喜欢茶", "小明 明喜 喜欢 欢茶 茶"),
        ("茶", "茶"),
        ("<face_12>说：茶", "face12 说 : 茶"),
        ("ＴＶ and <voice_3>", "TV and voice3"),
    ],
)
def test_what_is_indexed(text: str, indexed: str) -> None:
    assert indexed_words(text).split() == indexed.split()


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("What did Anna's cat do?", ('"anna"', '"cat"')),
        ("who is it", ('"who"', '"is"', '"it"')),
        ('a "b* OR (c', ('"b"', '"c"')),
        ("红色的水壶在哪里", ('"红色"', '"水壶"', '"壶在"')),
        ("花", ('"花"*',)),
        ("<face_12> met the cat cat", ('"face12"', '"met"', '"cat"')),
        ("?!", ()),
    ],
)
def test_the_terms_of_a_question(question: str, terms: tuple[str, ...]) -> None:
    assert terms_of(question) == terms


def test_forms_of_a_word_are_one(store: MemoryStore) -> None:
    with store.transaction():
        line = add_line(store, "She painted two cafés", add_clip(store, 0))
        add_line(store, "pain", 1)
    for question in ("painting", "paints", "cafe"):
        assert [hit.node.id for hit in store.search_node(text=question)] == [line]


def test_scores_are_a_sum_of_both_channels() -> None:
    near = [Near(1, 0.9), Near(2, 0.8), Near(3, 0.7)]
    worded = [Worded(3, 8.0), Worded(4, 2.0)]
    assert fused(near, worded) == pytest.approx({1: 0.5, 2: 0.25, 3: 0.5, 4: 0.125})
    assert fused(near, []) == pytest.approx({1: 1.0, 2: 0.5, 3: 0.0})
    assert fused([], worded) == pytest.approx({3: 1.0, 4: 0.25})
    assert fused([Near(1, 0.9)], []) == {1: 1.0} and fused([], []) == {}


def heard(store: MemoryStore, text: str, clip_id: int, start_s: float) -> int:
    return store.add_node(
        "episodic",
        text,
        clip_id=clip_id,
        start_utc_s=SATURDAY_UTC_S + start_s,
        end_utc_s=SATURDAY_UTC_S + start_s + 3.0,
        provenance={"source": "grounded", "event": "heard"},
    )


def test_an_answer_is_found_by_the_question_before_it(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        asked = heard(store, "Did you repair the bicycle?", clip_id, 0.0)
        answer = heard(store, "Yes, I did!", clip_id, 4.0)
        later = heard(store, "Good night.", clip_id, 100.0)
        seen = add_line(store, "Somebody is in view.", clip_id)
    hits = {hit.node.id: hit for hit in store.search_node(text="bicycle")}
    assert list(hits) == [asked, answer] and later not in hits and seen not in hits
    assert hits[answer].matched_by == ("context",)
    assert hits[answer].score == pytest.approx(0.5 * hits[asked].score)
    only = {"after_utc_s": SATURDAY_UTC_S, "before_utc_s": SATURDAY_UTC_S + 4.0}
    assert [hit.node.id for hit in store.search_node(text="bicycle", **only)] == [asked]  # type: ignore[arg-type]


def test_a_favoured_person_comes_first_and_lets_nobody_else_out(store: MemoryStore) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        faces = [add_face(store, clip_id) for _ in range(2)]
        persons = [store.create_person() for _ in faces]
        lines = []
        for person_id, face in zip(persons, faces, strict=True):
            store.bind(person_id, face)
            lines.append(add_line(store, f"<face_{face}> mends the kettle", clip_id))
    plain = {hit.node.id: hit.score for hit in store.search_node(text="kettle")}
    for person_id, line in zip(persons, lines, strict=True):
        first, second = store.search_node(text="kettle", favour=[person_id])
        assert first.node.id == line and {first.node.id, second.node.id} == set(lines)
        assert first.score == pytest.approx(FAVOUR * plain[line])


def test_words_that_are_everywhere_rank_nothing(store: MemoryStore, tmp_path: Path) -> None:
    with store.transaction():
        clip_id = add_clip(store, 0)
        lines = [add_line(store, f"tea again {'kettle' if i == 3 else ''}", clip_id) for i in range(8)]
    database = Database.open(tmp_path / "memory.db")

    def found(question: str, limit: int, among: list[int] | None = None) -> list[int]:
        allowed = None if among is None else Allowed(among)
        hits = search_text(database, terms_of(question), allowed, limit, common=5)
        return [hit.node_id for hit in hits]

    assert found("tea kettle", 9) == [lines[3]]
    assert found("tea again", 2) == [lines[7], lines[6]]
    assert found("tea again", 2, lines[:4]) == [lines[3], lines[2]]
    many = list(range(lines[7] + 1, lines[7] + 3000))  # so many that they are not listed in the query
    assert found("tea again", 2, [*lines[:4:2], *many]) == [lines[2], lines[0]]
    assert found("tea kettle", 9, [*lines[:3], *many]) == []
    before = [-i for i in range(1, 3000)]
    assert found("tea again", 2, [*before, *lines[:4]]) == [lines[3], lines[2]]
    database.close()


def test_among_many_a_filter_gives_the_best_that_pass(store: MemoryStore) -> None:
    """Wide and narrow filters over more nodes than are looked at first, compared with all cosines."""
    chance = random.Random(3)
    with store.transaction():
        face = store.add_node("face", "", clip_id=None, start_utc_s=0.0, end_utc_s=0.0)
        person = store.create_person()
        store.bind(person, face)
        clips = [add_clip(store, number, place=("kitchen", "hall")[number % 2]) for number in range(60)]
        made = {}
        for seed in range(900):
            number = chance.randrange(60)
            who = f"<face_{face}> " if chance.random() < 0.03 else ""
            made[add_line(store, f"{who}kettle", clips[number], seed=seed)] = (number, bool(who), seed)
    query = unit(5000)
    for first, last, place, own in ((0, 60, None, False), (0, 60, "hall", False), (10, 50, None, False),
                                    (30, 31, None, False), (0, 60, None, True), (20, 24, "kitchen", True)):  # fmt: skip
        wanted = {
            i: float(unit(seed) @ query)
            for i, (number, told, seed) in made.items()
            if first <= number < last
            and (place is None or number % 2 == 1 - (place == "kitchen"))
            and (told or not own)
        }
        condition = {
            "after_utc_s": SATURDAY_UTC_S + 30.0 * first,
            "before_utc_s": SATURDAY_UTC_S + 30.0 * last,
            "place": place,
            "person_id": person if own else None,
            "kinds": ["episodic"],
        }
        best = sorted(wanted, key=lambda i: (-np.float32(wanted[i]), i))[:12]
        hits = store.search_node(vector=query, k=12, threshold=-1.0, **condition)  # type: ignore[arg-type]
        assert [hit.node.id for hit in hits] == best
        worded = store.search_node(text="kettle", k=12, **condition)  # type: ignore[arg-type]
        assert len(worded) == len(best) and {hit.node.id for hit in worded} <= set(wanted)
