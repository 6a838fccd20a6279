"""Which exemplars are kept, what may teach, and what a store's exemplars say of its health."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memory_store.identity_health import identity_health
from memory_store.records import Exemplar
from memory_store.store import MemoryStore
from runtime.exemplars import LearnRule, Profiles, improved
from runtime.gallery import Example, Gallery
from tests.identified_clips import open_store
from tests.vectors import axis, near

RULE = LearnRule(learn=0.56, margin=0.05, redundant=0.8, cap=3)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_store(tmp_path) as opened:
        yield opened


def _view(vector: np.ndarray, quality: float = 100.0) -> Example:
    return Example(None, vector, quality)


def _kept(*views: Example, rule: LearnRule = RULE) -> list[Example]:
    held: list[Example] = []
    for view in views:
        held = improved(held, view, rule)
    return held


def test_a_view_that_shows_the_same_adds_nothing() -> None:
    first, same = _view(axis(0)), _view(near(axis(0), 0.9, 1), 140.0)
    assert _kept(first, same) == [first]


def test_a_much_better_view_of_the_same_takes_its_place() -> None:
    first, better = _view(axis(0)), _view(near(axis(0), 0.9, 1), 150.0)
    assert _kept(first, better) == [better]


def test_of_a_full_set_the_worse_of_the_two_most_alike_goes() -> None:
    base, alike, other = _view(axis(0), 100.0), _view(near(axis(0), 0.75, 1), 90.0), _view(axis(2), 10.0)
    new = _view(axis(3), 10.0)
    assert _kept(base, alike, other, new) == [base, other, new]
    assert _kept(base, alike, other, _view(near(axis(0), 0.78, 5), 50.0)) == [base, alike, other]


def test_a_set_grows_more_diverse_and_nothing_is_random() -> None:
    generator = np.random.default_rng(5)
    views = []
    for _ in range(200):
        noise = generator.normal(size=128).astype(np.float32)
        vector = axis(0) + 0.9 * noise / np.linalg.norm(noise)
        views.append(_view(vector / np.linalg.norm(vector), float(generator.uniform(50, 300))))
    held: list[Example] = []
    alike = []
    for view in views:
        held = improved(held, view, LearnRule(0.5, 0.05, 0.9, cap=8))
        if len(held) == 8:
            vectors = np.stack([example.vector for example in held])
            alike.append(float(np.triu(vectors @ vectors.T, 1).max()))
    assert alike[-1] < alike[0] - 0.02
    assert held == _kept(*views, rule=LearnRule(0.5, 0.05, 0.9, cap=8))


def _profile(store: MemoryStore, vector: np.ndarray, known: Gallery) -> tuple[int, int]:
    with store.transaction():
        clip_id = store.add_clip(
            source_key=f"k{len(store.clips())}", source_name="test", start_utc_s=0.0, end_utc_s=1.0
        )
        node_id = store.add_node("face", "", clip_id=clip_id, start_utc_s=0.0, end_utc_s=1.0)
        person_id = store.create_person()
        store.bind(person_id, node_id)
        Profiles(store, "face", RULE).store(node_id, person_id, [_view(vector)], clip_id, known)
    return node_id, person_id


def test_only_a_sure_view_teaches(store: MemoryStore) -> None:
    known = Gallery(())
    anna, _ = _profile(store, axis(0), known)
    _profile(store, axis(1), known)
    profiles = Profiles(store, "face", RULE)
    assert profiles.may_learn(anna, near(axis(0), 0.57, 5), known)
    assert not profiles.may_learn(anna, near(axis(0), 0.55, 5), known), "known, but not surely enough"
    assert not profiles.may_learn(anna, near(axis(0), 0.7, 1), known), "as like somebody else"
    assert not profiles.may_learn(999, axis(0), known)


def test_one_bad_clip_does_not_poison_a_profile(store: MemoryStore) -> None:
    known = Gallery(())
    anna, anna_person = _profile(store, axis(0), known)
    _profile(store, axis(1), known)
    profiles = Profiles(store, "face", RULE)
    for number in range(2, 60):
        between = near(near(axis(0), 0.69, 1), 0.98, number)  # Anna and Leo mixed, a little nearer to Leo
        with store.transaction():
            profiles.learn(anna, anna_person, _view(between), 1, known)
    assert [exemplar.node_id for exemplar in store.exemplars("face")].count(anna) == 1


def test_learning_replaces_in_the_store_what_it_replaces_in_the_gallery(store: MemoryStore) -> None:
    known = Gallery(())
    anna, person = _profile(store, axis(0), known)
    profiles = Profiles(store, "face", RULE)
    with store.transaction():
        for number in range(1, 9):
            profiles.learn(anna, person, _view(near(axis(0), 0.7, number), 100.0 + number), 1, known)
    stored = {exemplar.id: exemplar.vector.tobytes() for exemplar in store.exemplars("face")}
    held = {example.exemplar_id: example.vector.tobytes() for example in known.examples(anna)}
    assert stored.keys() == held.keys() and len(stored) == 3
    assert store.check() == []


def _exemplar(number: int, person: int | None, vector: np.ndarray) -> Exemplar:
    return Exemplar(number, number, person, "face", vector, 1.0, None)


def test_health_tells_the_margin_between_same_and_different() -> None:
    rows = [
        _exemplar(1, 1, axis(0)),
        _exemplar(2, 1, near(axis(0), 0.7, 1)),
        _exemplar(3, 2, near(axis(0), 0.4, 2)),
        _exemplar(4, 2, axis(2)),
        _exemplar(5, None, axis(0)),
    ]
    health = identity_health("face", rows)
    assert (health["people"], health["exemplars"]) == (2, 4)
    assert health["same_min"] == pytest.approx(0.7, abs=1e-5)
    assert health["different_max"] == pytest.approx(0.4, abs=1e-5)
    assert health["margin_min"] == pytest.approx(0.7 - 0.4, abs=1e-5)
    assert health["nearer_to_others"] == 0 and health["closest_people"] == [1, 2]


def test_health_of_little_or_mixed_up_stores() -> None:
    assert identity_health("face", [])["margin_min"] is None
    alone = identity_health("face", [_exemplar(1, 1, axis(0)), _exemplar(2, 1, axis(1))])
    assert alone["same_min"] == 0.0 and alone["different_max"] is None and alone["margin_min"] is None
    mixed = [_exemplar(n, n % 2, near(axis(0), 0.9, n)) for n in (1, 2)]
    mixed += [_exemplar(n, n % 2, axis(n)) for n in (3, 4)]
    assert identity_health("face", mixed)["nearer_to_others"] >= 2
