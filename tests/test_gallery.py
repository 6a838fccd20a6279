"""The matching rule: threshold, margin over the second-best person, and the band in between."""

import numpy as np

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
