"""The stress benchmark on small households: the truth it counts against, and that both rules see the same."""

from pathlib import Path

import numpy as np
import pytest

from models.manifest import Manifest
from offline_tools.bench.identity_stress import SHARP, drifting, look_alikes, run
from runtime.compose import Parts
from runtime.config import Settings


@pytest.fixture
def parts() -> Parts:
    return Parts(Settings(), Manifest.load())


def test_look_alikes_lie_where_they_should_and_take_turns() -> None:
    household = look_alikes(np.random.default_rng(3), clips=4)
    assert [stays[0].who for stays in household] == ["one", "other", "one", "other"]
    assert float(household[0][0].vector @ household[1][0].vector) == pytest.approx(0.35, abs=1e-5)


def test_the_drift_goes_as_far_as_said_on_both_sides_and_no_single_comes_twice() -> None:
    household = drifting(np.random.default_rng(3), clips=80, singles=100, quality=SHARP)
    middle = household[0][0].vector
    likeness = [float(stays[0].vector @ middle) for stays in household]
    assert min(likeness) == pytest.approx(0.75, abs=1e-3)
    singles = [visit.who for stays in household for visit in stays if visit.who != "person"]
    assert len(singles) == len(set(singles)) == 100
    assert all(visit.end_s < 30 for stays in household for visit in stays)


def test_look_alikes_stay_two_for_the_runtime_and_become_one_in_the_reference(parts: Parts) -> None:
    stress = run(parts, look_alikes(np.random.default_rng(3), clips=6), hours_between=1.0)
    assert stress.ours.left == 2
    assert stress.ours.mixed == 0
    assert stress.ours.for_people == {"one": 1, "other": 1}
    assert stress.reference.mixed + stress.reference.left in (2, 3)


def test_sharp_faces_met_once_are_gone_a_week_later(parts: Parts, tmp_path: Path) -> None:
    household = drifting(np.random.default_rng(3), clips=12, singles=6, quality=SHARP)
    stress = run(parts, household, hours_between=2.0)
    assert stress.ours.left == stress.ours.for_people["person"]
    assert stress.reference.left >= 6
