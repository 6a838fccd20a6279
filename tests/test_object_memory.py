"""Objects keep their ids over clips, days and restarts; two alike stay two; what cannot be told gets no id."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memory_store import MemoryStore
from runtime.object_memory import ObjectLimits
from tests.seen_things import COUCH, ON_COUCH, ON_TABLE, TABLE, ObjectHome, Shown, cup, look, open_store

DAY_CLIPS = 2880
BESIDE = (360.0, 190.0, 40.0, 50.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def home(store: MemoryStore, tmp_path: Path) -> ObjectHome:
    return ObjectHome(store, tmp_path)


def test_a_cup_of_day_1_is_the_same_cup_on_day_30_after_a_restart(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        home = ObjectHome(store, tmp_path)
        home.clip(0, [TABLE, cup(1)])
        first = home.ids()
        assert store.objects.known(["cup"])[0].tentative
    with open_store(tmp_path) as store:
        home = ObjectHome(store, tmp_path)
        home.clip(30 * DAY_CLIPS, [COUCH, cup(1, ON_COUCH, 0.93, seed=5)])
        (known,) = store.objects.known(["cup"])
        assert [known.id] == first
        assert not known.tentative
        assert len(store.exemplars("object")) > 2  # the look of day 30 was new
        (at,) = store.objects.sightings(first)
        assert at.spot == {"relation": "on", "anchor": "couch"}


def test_two_cups_in_one_picture_are_two_and_stay_two(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, [TABLE, cup(1), cup(1, BESIDE, 0.9, seed=3)])
    one, other = home.ids()
    assert store.cannot_links(one) == frozenset({other})
    for number in range(1, 6):
        home.clip(number, [TABLE, cup(1, seed=number), cup(1, BESIDE, 0.9, seed=3)])
    assert home.ids() == [one, other]


def test_what_lies_between_two_cups_gets_no_id_and_teaches_nothing(
    store: MemoryStore, home: ObjectHome
) -> None:
    between = (look(1) + look(2)) / np.sqrt(2)
    home.clip(0, [TABLE, cup(1), cup(2, BESIDE)])
    before = len(store.exemplars("object"))
    home.clip(1, [TABLE, Shown("cup", (220, 190, 40, 50), between.astype(np.float32))])
    assert len(home.ids()) == 2
    assert len(store.exemplars("object")) == before
    some = store.objects.class_node("cup")
    assert some is not None
    (sighting,) = store.objects.sightings([some])
    assert (sighting.object_id, sighting.label) == (None, "cup")


def test_moved_gone_and_back_are_told_once(home: ObjectHome) -> None:
    home.clip(0, [TABLE, COUCH, cup(1)])
    for number in (1, 2):
        home.clip(number, [TABLE, COUCH, cup(1, seed=number)])
    home.clip(3, [TABLE, COUCH, cup(1, ON_COUCH)])
    home.clip(4, [TABLE, COUCH, cup(1, ON_COUCH)])
    for number in (5, 6, 7):
        home.clip(number, [TABLE, COUCH])
    home.clip(8, [TABLE, COUCH, cup(1)])
    assert sorted(home.lines()[:3]) == [
        "A couch is at the left of the view.",
        "A cup is on the dining table.",
        "A dining table is in the middle of the view.",
    ]
    assert home.lines()[3:] == [
        "The cup was on the dining table and is now on the couch.",
        "The cup is no longer on the couch.",
        "The cup was on the couch and is now on the dining table.",
    ]


def test_a_thing_missed_once_is_not_told_to_be_gone(home: ObjectHome) -> None:
    for number, things in enumerate(([TABLE, cup(1)], [TABLE], [TABLE, cup(1)], [TABLE], [TABLE, cup(1)])):
        home.clip(number, things)
    assert not [line for line in home.lines() if "no longer" in line or "appears" in line]


def test_somebody_before_a_thing_does_not_make_it_gone(home: ObjectHome) -> None:
    person = Shown("person", (260, 20, 160, 330))
    home.clip(0, [TABLE, cup(1)])
    for number in (1, 2, 3):
        home.clip(number, [TABLE, person])
    assert not [line for line in home.lines() if "no longer" in line]


def test_a_table_that_the_detector_misses_moves_no_cup(home: ObjectHome) -> None:
    for number in range(6):
        home.clip(number, [TABLE, cup(1, seed=number)] if number % 2 == 0 else [cup(1, seed=number)])
    assert not [line for line in home.lines() if "now" in line]
    (sighting,) = home.store.objects.sightings(home.ids())
    assert sighting.spot == {"relation": "on", "anchor": "dining table"}


def test_a_street_outside_fills_no_memory(home: ObjectHome) -> None:
    for number in range(20):
        cars = [
            Shown("car", (40.0 * i, 50, 60, 40), look(i % 16, 0.9, seed=100 * number + i)) for i in range(12)
        ]
        home.clip(number, cars)
    assert home.store.objects.known() == []


def test_the_number_of_objects_is_bounded_and_singles_go_first(store: MemoryStore, tmp_path: Path) -> None:
    home = ObjectHome(store, tmp_path, ObjectLimits(days=7.0, objects=10))
    for number in range(3):
        home.clip(number, [TABLE, cup(0, seed=number)])
    kept = home.ids()
    rng = np.random.default_rng(0)
    for number in range(3, 130):
        strange = rng.normal(size=16).astype(np.float32)
        home.clip(number, [Shown("book", (100, 60, 40, 50), strange / np.linalg.norm(strange))], room=1)
        assert len(store.objects.known()) <= 10
    assert home.ids() == kept
    portraits = {path.name for path in (tmp_path / "media" / "objects").iterdir()}
    assert len(portraits) == len(store.objects.known())


def test_an_object_seen_once_is_forgotten_after_its_days(store: MemoryStore, tmp_path: Path) -> None:
    home = ObjectHome(store, tmp_path)
    home.clip(0, [TABLE, cup(1)])
    gone = home.ids()
    first = 8 * DAY_CLIPS
    for number in range(first, first + 100):
        home.clip(number, [TABLE], room=1)
    assert home.ids() == []
    assert store.check() == []
    assert not [
        edge for node in store.nodes(kinds=("image",)) for edge in store.edges(node.id) if edge.target in gone
    ]


def test_a_quiet_clip_with_nothing_new_leaves_no_picture(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, [TABLE, cup(1)], changed=False)
    pictures = len(store.nodes(kinds=("image",)))
    assert pictures == 3  # the keyframe and two portraits
    home.clip(1, [TABLE, cup(1)], changed=False)
    assert len(store.nodes(kinds=("image",))) == pictures
    home.clip(125, [TABLE, cup(1)], changed=False)  # more than an hour later
    assert len(store.nodes(kinds=("image",))) == pictures + 1
    home.clip(126, [TABLE, COUCH, cup(1, ON_COUCH)], changed=False)
    assert len(store.nodes(kinds=("image",))) > pictures + 1


def test_the_same_clip_again_changes_nothing(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, [TABLE, cup(1)])
    stats = store.stats()
    with pytest.raises(AssertionError):
        home.clip(0, [TABLE, cup(1)])
    assert store.stats() == stats


def test_objects_lie_at_places_and_on_furniture(store: MemoryStore, home: ObjectHome) -> None:
    home.clip(0, [TABLE, cup(1, ON_TABLE)])
    (cup_id,), (table_id,) = home.ids(), home.ids("dining table")
    links = {(edge.detail, edge.target) for edge in store.edges(cup_id) if edge.source == cup_id}
    assert ("on", table_id) in links
    (spot,) = [store.node(target) for detail, target in links if detail == "at"]
    assert (spot.kind, spot.text, spot.provenance["place"]) == ("place", "on the dining table", "home")
    (home_id,) = [edge.target for edge in store.edges(spot.id) if edge.detail == "part_of"]
    assert store.node(home_id).text == "home"


def test_an_apple_in_a_bowl_is_inside_of_it(store: MemoryStore, home: ObjectHome) -> None:
    bowl = Shown("bowl", (300.0, 170.0, 80.0, 60.0), look(5))
    home.clip(0, [TABLE, bowl, Shown("apple", (325.0, 185.0, 30.0, 30.0), look(6))])
    (apple_id,), (bowl_id,) = home.ids("apple"), home.ids("bowl")
    links = {(edge.detail, edge.target) for edge in store.edges(apple_id) if edge.source == apple_id}
    assert ("inside", bowl_id) in links
