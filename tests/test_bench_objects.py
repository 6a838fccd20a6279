"""The benchmark of objects counts what it says: a small household's things keep their ids, and few are mixed up."""

import numpy as np
import pytest

from models.appearance import AppearanceEmbedder
from models.manifest import Manifest
from models.object_looks import ObjectLooks
from offline_tools.bench.drawn_things import thing, twin
from offline_tools.bench.object_stream import Outcome, compose, remembered, together
from runtime.compose_objects import object_rules
from tests.pictures import fetched_model

ROOM = np.full((240, 426, 3), (120, 140, 150), np.uint8)


@pytest.mark.parametrize(("twins", "clips"), [(False, 16), (True, 12)])
def test_a_small_household_keeps_its_ids(twins: bool, clips: int) -> None:
    looks = ObjectLooks(AppearanceEmbedder(fetched_model("mobilenet-v3-small")))
    stream = compose(looks, [ROOM], seed=4, things_a_class=2, clips=clips, twins=twins)
    rule, learn = object_rules(Manifest.load().default("appearance"), 6)
    outcome = remembered(stream, rule, learn)
    assert outcome.things <= 8
    assert outcome.purity > 0.98
    assert outcome.ids_per_thing < 1.5
    assert 0.4 < outcome.covered <= 1.0
    assert outcome.looks == sum(len(clip.looks) for clip in stream)


def test_a_twin_has_the_same_form_and_nearly_the_same_colour() -> None:
    one = thing("cup", 3, seed=1)
    other = twin(one)
    assert (other.label, other.slimness, other.taper) == (one.label, one.slimness, one.taper)
    assert other.pattern != one.pattern
    assert max(abs(a - b) for a, b in zip(one.body, other.body, strict=True)) <= 24


def test_households_count_by_their_looks() -> None:
    one = Outcome(100, 1.0, 1.0, 1.0, 1.0, 10, 10, 5.0)
    other = Outcome(300, 0.5, 2.0, 0.5, 0.5, 20, 10, 9.0)
    both = together([one, other])
    assert (both.looks, both.ids, both.things) == (400, 30, 20)
    assert both.covered == pytest.approx(0.625) and both.purity == pytest.approx((100 + 75) / 250)
