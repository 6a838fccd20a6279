"""Pieces of speech are grouped by voice: as many speakers as there are, short strays to whoever is nearest."""

import numpy as np
import pytest

from models.speaker_clusters import speakers_of
from tests.vectors import axis, near


def _speakers(vectors: list[np.ndarray], seconds: list[float]) -> list[int]:  # type: ignore[type-arg]
    return speakers_of(
        np.stack(vectors).astype(np.float32),
        np.array(seconds, dtype=np.float32),
        same_voice=0.3,
        least_s=1.5,
    )


def test_two_voices_in_turn_are_two_speakers_numbered_as_they_are_heard() -> None:
    pieces = [near(axis(voice, 192), 0.6, 10 + number) for number, voice in enumerate((5, 2, 5, 2, 2, 5))]
    assert _speakers(pieces, [1.5] * 6) == [0, 1, 0, 1, 1, 0]


def test_one_voice_that_varies_is_one_speaker() -> None:
    assert _speakers([near(axis(0, 192), 0.65, 10 + number) for number in range(8)], [1.0] * 8) == [0] * 8


def test_a_stray_too_short_to_be_anybody_goes_to_the_nearest_speaker() -> None:
    stray = near(axis(1, 192), 0.25, 40)
    assert _speakers([axis(0, 192), axis(1, 192), stray], [3.0, 3.0, 0.5]) == [0, 1, 1]


def test_where_nobody_speaks_long_enough_there_is_one_speaker() -> None:
    assert _speakers([axis(0, 192), axis(1, 192)], [0.6, 0.5]) == [0, 0]


def test_nothing_said_is_nobody() -> None:
    assert (
        speakers_of(np.zeros((0, 192), np.float32), np.zeros(0, np.float32), same_voice=0.3, least_s=1) == []
    )


@pytest.mark.parametrize("seconds", [0.0, 1e-9])
def test_pieces_without_any_weight_are_still_given_to_somebody(seconds: float) -> None:
    assert _speakers([axis(0, 192), axis(0, 192)], [seconds, seconds]) == [0, 0]
