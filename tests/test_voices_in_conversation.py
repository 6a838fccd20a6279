"""In a conversation, an utterance unlike any voice for sure is given to whoever its speaker was recognised as."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runtime.hear import HeardSpeech
from tests.identified_clips import VOICE_RULE, Household, open_store, says, track
from tests.vectors import axis, near

ANNA, LEO = axis(0, 192), axis(1, 192)
UNCLEAR = near(ANNA, 0.47, 7)


@pytest.fixture
def household(tmp_path: Path) -> Iterator[Household]:
    """Anna and Leo have been heard before, each with a face."""
    with open_store(tmp_path) as store:
        household = Household(store, voice_rule=replace(VOICE_RULE, conversation=0.45))
        household.clip([track(axis(0))], [says(ANNA)])
        household.clip([track(axis(1))], [says(LEO)])
        yield household


def _said(vector: np.ndarray, speaker: int | None, start_s: float) -> HeardSpeech:
    return replace(says(vector, start_s, start_s + 2.0), speaker=speaker)


def test_an_unclear_utterance_is_its_speakers_and_teaches_nothing(household: Household) -> None:
    before = household.store.exemplars("voice")
    spoken = household.clip([], [_said(ANNA, 0, 1.0), _said(LEO, 1, 4.0), _said(UNCLEAR, 0, 7.0)]).speech
    assert (spoken[2].voice_id, spoken[2].by) == (spoken[0].voice_id, "conversation")
    assert spoken[2].verdict == "unsure"
    assert len(household.store.exemplars("voice")) == len(before)


def test_it_stays_open_where_the_speaker_was_not_recognised_or_is_two(household: Household) -> None:
    alone = household.clip([], [_said(UNCLEAR, 0, 1.0)]).speech
    other = household.clip([], [_said(ANNA, 1, 1.0), _said(UNCLEAR, 0, 4.0)]).speech
    both = household.clip([], [_said(ANNA, 0, 1.0), _said(LEO, 0, 4.0), _said(UNCLEAR, 0, 7.0)]).speech
    unnumbered = household.clip([], [_said(ANNA, None, 1.0), _said(UNCLEAR, None, 4.0)]).speech
    assert [one[-1].voice_id for one in (alone, other, both, unnumbered)] == [None] * 4


def test_it_stays_open_where_it_is_more_like_somebody_else_or_like_nobody(household: Household) -> None:
    spoken = household.clip([], [_said(LEO, 0, 1.0), _said(UNCLEAR, 0, 4.0)]).speech
    assert spoken[1].voice_id is None
    spoken = household.clip([], [_said(ANNA, 0, 1.0), _said(near(ANNA, 0.42, 9), 0, 4.0)]).speech
    assert spoken[1].voice_id is None


def test_a_face_that_speaks_and_is_somebody_elses_is_not_overruled(household: Household) -> None:
    leo = track(axis(1), 6.0, 10.0)
    spoken = household.clip([leo], [_said(ANNA, 0, 1.0), _said(UNCLEAR, 0, 7.0)]).speech
    assert spoken[1].voice_id is None and spoken[1].by == "sight"
