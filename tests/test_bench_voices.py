"""The voice benchmark's sound and arithmetic, on noise, clicks and made-up vectors."""

import numpy as np
import pytest

from offline_tools.bench.spoiled_sound import (
    Condition,
    Household,
    conditions,
    in_room,
    mixed,
    spoiled,
    without_rumble,
)
from offline_tools.bench.verification import Probe
from offline_tools.bench.voices import chosen_on_halves, measured
from runtime.gallery import MatchRule
from tests.recordings import tone
from tests.vectors import axis, near


def power(sound: np.ndarray) -> float:  # type: ignore[type-arg]
    return float(np.mean(sound.astype(np.float64) ** 2))


@pytest.mark.parametrize("snr_db", [20.0, 10.0, 5.0])
def test_noise_is_mixed_at_the_ratio_asked_for(snr_db: float) -> None:
    speech = tone(2.0)
    noise = np.random.default_rng(1).normal(0, 0.01, 9000).astype(np.float32)
    added = mixed(speech, noise, snr_db) - speech
    assert 10 * np.log10(power(speech) / power(added)) == pytest.approx(snr_db, abs=0.05)


def test_a_room_delays_and_repeats_without_changing_length_or_power() -> None:
    click = np.zeros(16000, dtype=np.float32)
    click[100] = 0.5
    response = np.zeros(4000, dtype=np.float32)
    response[0], response[3000] = 1.0, 1.0
    heard = in_room(click, response)
    assert heard.shape == click.shape
    assert power(heard) == pytest.approx(power(click), rel=1e-4)
    assert np.flatnonzero(np.abs(heard) > 0.1).tolist() == [100, 3100]


def test_conditions_cover_clean_and_each_level_with_and_without_a_room_and_never_clip() -> None:
    household = Household((tone(0.3, frequency_hz=90.0),), (np.ones(1, dtype=np.float32),))
    names = [condition.name for condition in conditions((20.0, 5.0))]
    assert names == [
        "clean",
        "clean, room",
        "noise 20 dB",
        "noise 20 dB, room",
        "noise 5 dB",
        "noise 5 dB, room",
    ]
    loud = 1.9 * tone(1.0)
    assert np.abs(spoiled(loud, Condition(5.0), household, 3)).max() <= 1.0
    np.testing.assert_array_equal(spoiled(tone(1.0), Condition(), household, 0), tone(1.0))


def test_speakers_far_apart_are_recognised_with_the_threshold_of_the_other_half() -> None:
    enrolled = {f"s{n}": axis(n, 192)[np.newaxis] for n in range(4)}
    probes = [Probe(f"s{n}", near(axis(n, 192), 0.7, 20 + n)) for n in range(4)]
    probes += [Probe(None, near(axis(0, 192), 0.55, 30)), Probe(None, axis(31, 192))]
    chosen = chosen_on_halves(enrolled, probes)
    assert chosen == pytest.approx((0.625, 0.35))
    result = measured(enrolled, {"s0": enrolled["s0"]}, probes, chosen, MatchRule(0.5, 0.45, 0.05))
    assert result.held_out.true_accept == result.shipped.true_accept == 1.0
    assert (result.shipped.strangers_taken, result.held_out.strangers_taken) == (1, 1)
    assert result.equal_error_rate == 0.0
    assert (result.at_home.recognised, result.at_home.own) == (1, 4)


def test_rumble_under_speech_does_not_count_as_noise() -> None:
    hum, hiss = tone(1.0, frequency_hz=50.0), tone(1.0, frequency_hz=2000.0)
    np.testing.assert_allclose(without_rumble(hum + hiss), hiss, atol=1e-3)
