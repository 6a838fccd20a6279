"""Error rates, chosen thresholds and counts of the verification benchmarks, on scores known beforehand."""

import numpy as np
import pytest

from offline_tools.bench.reference_rule import ReferenceGallery, ReferenceIdentities
from offline_tools.bench.verification import (
    Probe,
    Trials,
    chosen_threshold,
    equal_error_rate,
    identified,
    identified_by_reference,
    trials,
)
from runtime.gallery import MatchRule
from tests.vectors import axis, near


def test_equal_error_rate_of_scores_that_overlap_by_a_quarter() -> None:
    scores = Trials(np.array([0.3, 0.6, 0.7, 0.8]), np.array([0.1, 0.2, 0.25, 0.65]))
    assert equal_error_rate(scores) == pytest.approx(0.25)


def test_the_chosen_threshold_lies_halfway_and_never_lets_more_than_the_allowed_share_through() -> None:
    impostor, genuine = np.arange(1000) / 2000, 0.6 + np.arange(100) / 250
    threshold = chosen_threshold(Trials(genuine, impostor), 0.1, 0.05)
    assert threshold == pytest.approx((0.4495 + 0.62) / 2)
    mixed = chosen_threshold(Trials(np.array([0.3, 0.35]), np.array([0.2, 0.4])), 0.005, 0.02)
    assert mixed > 0.4


def test_a_probe_is_compared_with_the_nearest_exemplar_of_everybody() -> None:
    enrolled = {"a": np.stack([axis(0), axis(1)]), "b": axis(2)[np.newaxis]}
    scores = trials(enrolled, [Probe("a", near(axis(1), 0.7, 5)), Probe(None, axis(2))])
    assert scores.genuine == pytest.approx([0.7])
    assert sorted(scores.impostor) == pytest.approx([0.0, 0.0, 1.0])


def test_a_probe_between_two_people_is_nobodys_under_the_margin_and_somebodys_in_the_reference() -> None:
    enrolled = {"a": axis(0)[np.newaxis], "b": axis(1)[np.newaxis]}
    between = ((axis(0) + 1.02 * axis(1)) / np.linalg.norm(axis(0) + 1.02 * axis(1))).astype(np.float32)
    probes = [Probe("a", between), Probe("a", near(axis(0), 0.9, 9))]
    ours = identified(enrolled, probes, MatchRule(0.5, 0.4, 0.05))
    assert (ours.recognised, ours.taken_for_another) == (1, 0)
    theirs = identified_by_reference(enrolled, probes, 0.3)
    assert (theirs.recognised, theirs.taken_for_another) == (1, 1)


def test_the_reference_rule_keeps_no_more_than_its_cap_and_merges_people_who_are_somewhat_alike() -> None:
    gallery: ReferenceGallery[str] = ReferenceGallery(0.3, cap=2)
    gallery.enroll("a", np.stack([axis(number) for number in range(5)]))
    assert gallery.best(np.stack([axis(9)])) is None
    identities = ReferenceIdentities(0.3, cap=10)
    assert identities.meet(axis(0)[np.newaxis]) == 0
    assert identities.meet(near(axis(0), 0.35, 1)[np.newaxis]) == 0
    assert identities.meet(axis(9)[np.newaxis]) == 1
    assert identities.count == 2
