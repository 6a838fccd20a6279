"""The listener: gaps are counted, speech cut off by a clip's end moves whole to the next clip."""

import numpy as np
import pytest

from drivers.media import AudioBlock
from models.speech import Transcript
from models.voices import Span, Turn
from runtime.hear import Listener

RATE = 16000


class LoudIsSpeech:
    """Voice activity, turns, embedding and recognition of a test tone: what is loud is one utterance."""

    def spans(self, samples: np.ndarray) -> list[Span]:
        loud = np.abs(samples.reshape(-1, RATE // 10)).max(axis=1) > 0.1
        edges = np.flatnonzero(np.diff(np.concatenate(([0], loud.astype(int), [0]))))
        return [Span(start / 10, end / 10) for start, end in zip(edges[::2], edges[1::2], strict=True)]

    def turns(self, samples: np.ndarray) -> list[Turn]:
        return []

    def embed(self, samples: np.ndarray) -> np.ndarray:
        return np.eye(192, dtype=np.float32)[0]

    def transcribe(self, samples: np.ndarray, spans: list) -> list[Transcript]:
        return [Transcript(s.start_s, s.end_s, f"{s.end_s - s.start_s:.1f} s", "en", 0.9) for s in spans]


def _listener(carry_speech_s: float = 10.0) -> Listener:
    ears = LoudIsSpeech()
    return Listener(ears, ears, ears, ears, carry_speech_s=carry_speech_s)  # type: ignore[arg-type]


def _play(listener: Listener, loud: list[tuple[float, float]], start_s: float, end_s: float) -> None:
    for step in range(round((end_s - start_s) * 2)):
        times = start_s + step / 2 + np.arange(RATE // 2) / RATE
        level = sum((times >= a) & (times < b) for a, b in loud)
        listener.add(AudioBlock(start_s + step / 2, (0.5 * np.asarray(level)).astype(np.float32)))


def _heard(listener: Listener, last: bool = False) -> list[tuple[float, float]]:
    return [(round(one.start_s, 1), round(one.end_s, 1)) for one in listener.finish(last=last).speech]


def test_times_count_from_the_start_of_the_source() -> None:
    listener = _listener()
    _play(listener, [(31.0, 33.0)], 30.0, 60.0)
    assert _heard(listener) == [(31.0, 33.0)]


def test_cut_off_speech_belongs_whole_to_the_next_clip() -> None:
    listener = _listener()
    sentence = [(28.0, 32.0)]
    _play(listener, sentence, 0.0, 30.0)
    first = listener.finish(last=False)
    assert first.speech == () and first.carried_s == pytest.approx(2.2)
    _play(listener, sentence, 30.0, 60.0)
    assert _heard(listener) == [(28.0, 32.0)]


def test_speech_longer_than_the_limit_is_cut() -> None:
    listener = _listener(carry_speech_s=5.0)
    speech = [(20.0, 40.0)]
    _play(listener, speech, 0.0, 30.0)
    assert _heard(listener) == [(20.0, 30.0)]
    _play(listener, speech, 30.0, 60.0)
    assert _heard(listener) == [(30.0, 40.0)]


def test_at_the_end_nothing_is_carried_away() -> None:
    listener = _listener()
    _play(listener, [(8.0, 10.0)], 0.0, 10.0)
    assert _heard(listener, last=True) == [(8.0, 10.0)]


def test_a_resumed_clip_hears_its_carried_speech_and_nothing_else_again() -> None:
    listener = _listener()
    speech = [(21.0, 22.0), (28.0, 32.0)]
    _play(listener, speech, 20.0, 30.0)
    listener.skip()
    _play(listener, speech, 30.0, 60.0)
    assert _heard(listener) == [(28.0, 32.0)]


def test_lost_sound_is_silence_and_is_counted() -> None:
    listener = _listener()
    _play(listener, [(1.0, 2.0), (7.0, 8.0)], 0.0, 3.0)
    _play(listener, [(1.0, 2.0), (7.0, 8.0)], 5.0, 10.0)
    hearing = listener.finish(last=True)
    assert hearing.gap_s == pytest.approx(2.0)
    assert [round(one.start_s, 1) for one in hearing.speech] == [1.0, 7.0]


def test_no_sound_at_all() -> None:
    hearing = _listener().finish(last=True)
    assert hearing.speech == () and len(hearing.samples) == 0
