"""Cross comparisons of voices: who is compared with whom, thresholds of the other half, bounds of small shares."""

import numpy as np
import pytest

from offline_tools.bench.voice_trials import (
    Cut,
    Enrolment,
    chosen_for_others,
    cuts,
    verified,
    wilson_upper,
)
from tests.vectors import axis, near


def _enrolment(person: str, number: int, *utterances: str) -> Enrolment:
    return Enrolment(person, frozenset(utterances), axis(number, 192)[np.newaxis])


def _cut(person: str, utterance: str, vector: np.ndarray) -> Cut:  # type: ignore[type-arg]
    return Cut(person, utterance, 2.0, vector)


@pytest.mark.parametrize(
    ("errors", "comparisons", "upper"), [(0, 600, 0.00449), (5, 1000, 0.0101), (0, 0, 1.0), (3, 3, 1.0)]
)
def test_the_bound_is_wilsons(errors: int, comparisons: int, upper: float) -> None:
    assert wilson_upper(errors, comparisons) == pytest.approx(upper, rel=0.02)


def test_nobody_is_compared_with_an_utterance_that_was_enrolled() -> None:
    enrolments = [_enrolment("a", 0, "a1"), _enrolment("b", 1, "b1")]
    probes = [
        _cut("a", "a1", axis(0, 192)),
        _cut("a", "a2", near(axis(0, 192), 0.7, 5)),
        _cut("b", "b2", near(axis(1, 192), 0.3, 6)),
    ]
    found = verified(enrolments, probes, {"a": 0.5, "b": 0.5})
    assert (found.false_reject.errors, found.false_reject.comparisons) == (1, 2)
    assert (found.false_accept.errors, found.false_accept.comparisons) == (0, 3)
    assert (found.false_reject.people, found.false_reject.all_people) == (1, 2)


def test_a_false_accept_counts_once_for_each_pair_of_people() -> None:
    enrolments = [_enrolment("a", 0, "a1"), _enrolment("b", 1, "b1")]
    probes = [_cut("c", f"c{number}", near(axis(0, 192), 0.6, 10 + number)) for number in range(3)]
    found = verified([*enrolments, _enrolment("c", 2, "none")], probes, dict.fromkeys("abc", 0.5))
    assert (found.false_accept.errors, found.false_accept.people) == (3, 1)


def test_each_half_gets_the_threshold_of_the_other() -> None:
    enrolments = [_enrolment(name, number, f"{name}1") for number, name in enumerate("abcd")]
    probes = [
        _cut(name, f"{name}2", near(axis(number, 192), 0.9 if name in "ac" else 0.6, 20 + number))
        for number, name in enumerate("abcd")
    ]
    chosen = chosen_for_others(enrolments, probes, 0.005, 0.05)
    assert chosen["a"] == chosen["c"] == pytest.approx(0.3)
    assert chosen["b"] == chosen["d"] == pytest.approx(0.45)


def test_cuts_follow_one_another_and_a_rest_is_dropped() -> None:
    sound = np.arange(5 * 16000, dtype=np.float32)
    parts = cuts(sound, 2.0)
    assert [int(part[0]) for part in parts] == [0, 32000] and all(len(part) == 32000 for part in parts)
    assert cuts(sound[:100], 2.0) == []
