"""Ids over many clips, restarts and index rebuilds: they never change."""

from pathlib import Path

import pytest

from tests.identified_clips import Household, open_store
from tests.identified_days import Family, drift_and_passers_by


def _live(directory: Path, clips: int, restarts: int) -> None:
    family = Family()
    clip = 0
    for restart in range(restarts):
        with open_store(directory) as store:
            household = Household(store)
            household.clips = clip
            for _ in range(clips // restarts):
                family.clip(household)
            clip = household.clips
            if restart % 2:
                store.rebuild_indexes()
            family.check(household)


def test_ids_survive_restarts_and_index_rebuilds(tmp_path: Path) -> None:
    _live(tmp_path, clips=60, restarts=4)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_ids_survive_ten_thousand_clips(tmp_path: Path) -> None:
    _live(tmp_path, clips=10_000, restarts=20)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_two_hundred_drifting_clips_and_five_hundred_passers_by(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        drift_and_passers_by(Household(store), clips=200, passers_by=500)
