"""The matching rule: threshold, margin over the second-best person, and the band in between."""

import numpy as np
import pytest

from memory_store.records import Exemplar
from runtime.gallery import Gallery, MatchRule, usable
from tests.vectors import axis, near

RULE = MatchRule(match=0.5, unsure=0.4, margin=0.05)


def _gallery(*rows: tuple[int, int, np.ndarray]) -> Gallery:
    exemplars = [
        Exemplar(number, node, person, "face", vector, 100.0, 1)
        for number, (node, person, vector) in enumerate(rows)
    ]
    return Gallery(exemplars)


def _decide(gallery: Gallery, *queries: np.ndarray) -> tuple[str, int | None]:
    match = gallery.decide(gallery.scores(np.stack(queries)), RULE)
    return match.verdict, match.node_id


def test_nobody_known_means_new() -> None:
    assert _decide(_gallery(), axis(0)) == ("new", None)


def test_known_needs_the_threshold() -> None:
    gallery = _gallery((1, 1, axis(0)))
    assert _decide(gallery, near(axis(0), 0.51, 5)) == ("known", 1)
    assert _decide(gallery, near(axis(0), 0.49, 5))[0] == "unsure"
    assert _decide(gallery, near(axis(0), 0.39, 5))[0] == "new"


def test_known_needs_the_margin_over_another_person() -> None:
    query = near(axis(0), 0.7, 1)  # 0.714 towards axis 1 as well
    assert _decide(_gallery((1, 1, axis(0)), (2, 2, axis(1))), query)[0] == "unsure"
    assert _decide(_gallery((1, 1, axis(0)), (2, 1, axis(1))), query)[0] == "known", (
        "two ids of one person agree"
    )


def test_the_nearest_exemplar_counts_not_the_mean() -> None:
    gallery = _gallery((1, 1, axis(0)), (1, 1, axis(1)), (1, 1, axis(2)))
    assert _decide(gallery, axis(1)) == ("known", 1)


def test_the_middle_of_the_exemplars_helps_a_view_that_is_near_none_of_them() -> None:
    sides = [near(axis(0), 0.8, other) for other in (10, 11, 12)]
    exemplars = [Exemplar(number, 1, 1, "face", side, 100.0, 1) for number, side in enumerate(sides)]
    query = axis(0)[np.newaxis]
    nearest = Gallery(exemplars).scores(query)[1]
    assert nearest == pytest.approx(0.8, abs=1e-5)
    assert Gallery(exemplars, middle=0.5).scores(query)[1] == pytest.approx(
        (0.8 + _to_middle(sides)) / 2, abs=1e-5
    )
    assert _to_middle(sides) > 0.9
    assert Gallery(exemplars[:1], middle=0.7).scores(query)[1] == pytest.approx(0.8, abs=1e-5), (
        "one is its middle"
    )


def test_a_stranger_like_one_exemplar_is_less_like_the_person() -> None:
    exemplars = [
        Exemplar(number, 1, 1, "face", near(axis(0), 0.8, other), 100.0, 1)
        for number, other in enumerate((10, 11, 12))
    ]
    stranger = axis(10)[np.newaxis]
    assert Gallery(exemplars, middle=0.7).scores(stranger)[1] < Gallery(exemplars).scores(stranger)[1] - 0.1


def test_opposite_exemplars_have_no_middle() -> None:
    exemplars = [Exemplar(n, 1, 1, "face", side, 100.0, 1) for n, side in enumerate((axis(0), -axis(0)))]
    assert Gallery(exemplars, middle=0.5).scores(axis(0)[np.newaxis])[1] == pytest.approx(0.5)


def _to_middle(sides: list[np.ndarray]) -> float:
    middle = np.mean(sides, axis=0)
    return float(axis(0) @ middle / np.linalg.norm(middle))


def test_barred_nodes_cannot_be_matched() -> None:
    gallery = _gallery((1, 1, axis(0)))
    assert gallery.scores(axis(0)[np.newaxis], barred={1}) == {}


def test_ties_are_broken_by_the_lower_id() -> None:
    gallery = _gallery((7, 1, axis(0)), (3, 1, axis(0)))
    assert _decide(gallery, axis(0)) == ("known", 3)


def test_a_negative_nearer_than_the_exemplars_rules_a_node_out() -> None:
    exemplars = [Exemplar(1, 1, 1, "face", axis(0), 100.0, 1), Exemplar(2, 2, 2, "face", axis(1), 100.0, 1)]
    gallery = Gallery(exemplars, [(1, near(axis(0), 0.7, 5)), (99, axis(0))])
    assert _decide(gallery, axis(0)) == ("known", 1), "its own face is still its own"
    assert _decide(gallery, near(axis(0), 0.65, 5))[0] == "new", "what a resident took away stays away"
    assert _decide(gallery, axis(1)) == ("known", 2)


def test_a_vector_without_direction_is_not_usable() -> None:
    assert usable(axis(0))
    for vector in (np.zeros(128), np.full(128, np.nan), np.full(128, np.inf), 2 * axis(0)):
        assert not usable(vector.astype(np.float32))
