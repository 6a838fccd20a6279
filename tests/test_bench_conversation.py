"""Composed conversations: the same for the same seed, true to what was mixed, with speech on top of speech."""

from types import SimpleNamespace
from typing import cast

import numpy as np

from models.voices import Span, VoiceActivity
from offline_tools.bench.conversation import LENGTH_S, Conversation, compose, shared
from offline_tools.bench.diarization_error import Speaking
from tests.recordings import tone


def _talk(seed: int) -> Conversation:
    whole = SimpleNamespace(spans=lambda samples: [Span(0.0, len(samples) / 16000)])
    speech = {f"s{n}": tone(6.0, frequency_hz=200.0 * (n + 1)) for n in range(4)}
    return compose(seed, speech, cast(VoiceActivity, whole))


def test_the_same_seed_gives_the_same_conversation_and_another_seed_another() -> None:
    np.testing.assert_array_equal(_talk(1).samples, _talk(1).samples)
    assert _talk(1).truth == _talk(1).truth != _talk(2).truth


def test_where_the_truth_says_nobody_speaks_there_is_only_hiss() -> None:
    talk = _talk(3)
    quiet = np.ones(len(talk.samples), dtype=np.bool_)
    for one in talk.truth:
        quiet[round(one.start_s * 16000) : round(one.end_s * 16000)] = False
    assert 0 < quiet.sum() < len(quiet)
    assert np.abs(talk.samples[quiet]).max() < 0.005 < np.abs(talk.samples[~quiet]).max()
    assert all(0 <= one.start_s < one.end_s <= LENGTH_S for one in talk.truth)


def test_some_interrupt_and_nobody_follows_himself() -> None:
    talks = [_talk(seed) for seed in range(6)]
    assert sum(shared(talk.truth, LENGTH_S).sum() / 100 for talk in talks) > 2.0
    assert all(a.who != b.who for talk in talks for a, b in zip(talk.truth, talk.truth[1:], strict=False))


def test_shared_seconds_are_those_of_two_or_more() -> None:
    talk = [Speaking(0, 2, "a"), Speaking(1, 3, "b"), Speaking(1.5, 2, "c")]
    assert np.flatnonzero(shared(talk, 4.0)).tolist() == list(range(100, 200))
