"""The benchmark of objects counts what it says: a small household's things keep their ids, and few are mixed up."""

import numpy as np

from models.appearance import AppearanceEmbedder
from models.manifest import Manifest
from models.object_looks import ObjectLooks
from offline_tools.bench.object_stream import compose, remembered
from runtime.compose_objects import object_rules
from tests.pictures import fetched_model


def test_a_small_household_keeps_its_ids() -> None:
    looks = ObjectLooks(AppearanceEmbedder(fetched_model("mobilenet-v3-small")))
    room = np.full((240, 426, 3), (120, 140, 150), np.uint8)
    stream = compose(looks, [room], seed=4, things_a_class=2, clips=16)
    rule, learn = object_rules(Manifest.load().default("appearance"), 6)
    outcome = remembered(stream, rule, learn)
    assert outcome.things <= 8
    assert outcome.purity > 0.9
    assert outcome.ids_per_thing < 1.5
    assert 0.4 < outcome.covered <= 1.0
    assert outcome.looks == sum(len(clip.looks) for clip in stream)
