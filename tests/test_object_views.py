"""What counts as an object in a picture, whatever the detector gives; its look survives light, size and a bad box."""

import math

import numpy as np
import pytest

from models.appearance import AppearanceEmbedder
from models.object_looks import LOOK_SIZE, ObjectLooks, colours, crop_of, white_balance
from models.objects import ObjectBox
from offline_tools.bench.drawn_things import thing, view
from runtime.object_identity import KnownThings, decide, follow
from runtime.object_places import spot_of
from runtime.object_views import MOST_VIEWS, Keyframe, distinct, look_at
from tests.pictures import Image, fetched_model
from tests.seen_things import RULE

ROOM = np.full((240, 320, 3), (120, 140, 150), np.uint8)


@pytest.fixture(scope="module")
def looks() -> ObjectLooks:
    return ObjectLooks(AppearanceEmbedder(fetched_model("mobilenet-v3-small")))


def _box(
    x: float, y: float, width: float, height: float, label: str = "cup", score: float = 0.9
) -> ObjectBox:
    return ObjectBox(label, score, x, y, width, height)


def test_boxes_that_are_none_are_left_out() -> None:
    bad = [_box(5, 5, 0, 30), _box(5, 5, -3, 30), _box(math.nan, 0, 9, 9), _box(0, 0, math.inf, 9)]
    assert distinct([*bad, _box(5, 5, 20, 20)]) == (_box(5, 5, 20, 20),)


def test_one_thing_under_two_names_is_one_thing() -> None:
    cup, bowl = _box(10, 10, 100, 100, "cup", 0.95), _box(9, 12, 101, 100, "bowl", 0.87)
    table, person = _box(0, 0, 320, 240, "dining table", 0.7), _box(10, 10, 100, 100, "person", 0.5)
    assert distinct([bowl, cup, table, person]) == (cup, table, person)
    part = _box(20, 20, 60, 60, "cup", 0.6)
    assert distinct([cup, part]) == (cup,)
    beside = _box(120, 10, 100, 100, "cup", 0.9)
    assert distinct([cup, beside]) == (cup, beside)


def test_what_lies_off_the_picture_has_no_crop() -> None:
    assert crop_of(ROOM, _box(400, 10, 50, 50)) is None
    assert crop_of(ROOM, _box(-60, -60, 50, 50)) is None
    assert crop_of(ROOM, _box(math.nan, 10, 50, 50)) is None
    half = crop_of(ROOM, _box(300, -20, 50, 50))
    assert half is not None
    assert half.shape == (30, 20, 3)


def test_three_hundred_boxes_are_bounded(looks: ObjectLooks) -> None:
    boxes = [_box(13.0 * (i % 24), 17.0 * (i // 24), 13, 13, "book", 0.9 - i / 1000) for i in range(300)]
    views, vector = look_at(looks, ROOM, distinct(boxes))
    assert len(views) == MOST_VIEWS
    assert vector is not None
    assert vector.shape == (576,)
    frame = Keyframe(0.0, b"", tuple(boxes), views, (320, 240), vector)
    things = follow([frame, frame], RULE)
    decide(things, [frame, frame], KnownThings((), {}), RULE)
    assert len(things) == MOST_VIEWS


@pytest.mark.parametrize("picture", [np.zeros((1, 1, 3), np.uint8), np.zeros((1, 500, 3), np.uint8)])
def test_a_picture_of_hardly_any_pixels_holds_nothing(looks: ObjectLooks, picture: Image) -> None:
    views, _ = look_at(looks, picture, (_box(0, 0, 500, 500),))
    assert views == ()


@pytest.mark.parametrize("level", [0, 128, 255])
def test_a_grey_picture_has_colours_that_can_be_compared(level: int) -> None:
    flat = np.full((60, 40, 3), level, np.uint8)
    vector = colours(flat, white_balance(flat))
    assert np.isfinite(vector).all()
    assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-5)


def test_a_vector_that_is_not_finite_is_dropped(looks: ObjectLooks) -> None:
    class Broken:
        provider = "none"

        def embed(self, images: list[Image]) -> np.ndarray:
            return np.full((len(images), 576), np.nan, np.float32)

    views, _ = look_at(ObjectLooks(Broken()), ROOM, (_box(5, 5, 50, 50),))  # type: ignore[arg-type]
    assert views == ()


def test_the_same_thing_is_nearer_to_itself_than_to_others_of_its_class(looks: ObjectLooks) -> None:
    crops, balances = [], []
    for number in (1, 2, 3):
        for seed in range(4):
            picture, box = view(thing("cup", number, seed=5), ROOM, seed, height_px=90)
            crop = crop_of(picture, ObjectBox("cup", 0.9, *box))
            assert crop is not None
            crops.append(crop)
            balances.append(picture)
    vectors = np.vstack(
        [looks.objects(picture, [crop]) for picture, crop in zip(balances, crops, strict=True)]
    )
    assert vectors.shape == (12, LOOK_SIZE)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    alike = vectors @ vectors.T
    for row in range(12):
        own = [alike[row, other] for other in range(12) if other // 4 == row // 4 and other != row]
        others = [alike[row, other] for other in range(12) if other // 4 != row // 4]
        assert np.median(own) > max(others)


def test_a_thing_stands_on_the_smallest_furniture_under_it() -> None:
    cup = _box(100, 80, 20, 24)
    frame = Keyframe(
        0.0,
        b"",
        (_box(40, 95, 200, 120, "dining table"), _box(0, 40, 320, 200, "couch"), cup),
        size=(320, 240),
    )
    assert spot_of(cup, frame).as_provenance() == {"relation": "on", "anchor": "dining table"}
    alone = Keyframe(0.0, b"", (cup,), size=(320, 240))
    assert spot_of(cup, alone).as_provenance() == {"region": "middle"}
    apple, bowl = _box(50, 50, 10, 10, "apple"), _box(40, 45, 40, 30, "bowl")
    assert spot_of(apple, Keyframe(0.0, b"", (apple, bowl), size=(320, 240))).as_provenance() == {
        "relation": "inside",
        "anchor": "bowl",
    }
