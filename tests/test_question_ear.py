"""The ear for questions over scripted sound, and over real speech beside the detector that hears it whole."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from drivers.media import AudioBlock
from models.manifest import Manifest
from models.voice_activity import ActivityStream, VoiceActivity
from runtime.question_ear import QuestionEar, Spoken

RATE = 16000
CHUNK = 512
MODELS = Path("~/.cache/hearsight/models").expanduser()


class LoudIsSpeech:
    """Stands for the detector: a chunk is speech where it is not silent. Counts its resets."""

    def __init__(self) -> None:
        self.resets = 0
        self._rest = np.zeros(0, dtype=np.float32)

    def reset(self) -> None:
        self.resets += 1
        self._rest = np.zeros(0, dtype=np.float32)

    def feed(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        sound = np.concatenate([self._rest, samples])
        whole = len(sound) // CHUNK
        self._rest = sound[whole * CHUNK :]
        return np.abs(sound[: whole * CHUNK].reshape(whole, CHUNK)).max(axis=1, initial=0.0)


def _sound(*parts: tuple[float, float]) -> NDArray[np.float32]:
    """Seconds and loudness of one part after the other."""
    return np.concatenate(
        [np.full(round(length_s * RATE), loud, dtype=np.float32) for length_s, loud in parts]
    )


def _blocks(sound: NDArray[np.float32], start_s: float = 0.0, size: int = 1600) -> list[AudioBlock]:
    return [AudioBlock(start_s + at / RATE, sound[at : at + size]) for at in range(0, len(sound), size)]


def _ear(activity: object, longest_s: float = 15.0) -> QuestionEar:
    return QuestionEar(cast(ActivityStream, activity), end_silence_s=0.8, longest_s=longest_s)


def _heard(ear: QuestionEar, blocks: list[AudioBlock]) -> list[Spoken]:
    return [spoken for block in blocks if (spoken := ear.hear(block)) is not None]


@pytest.mark.parametrize("size", [160, 1600, 8000, 517])
def test_a_stretch_is_given_whole_once_the_silence_is_long_enough(size: int) -> None:
    ear = _ear(LoudIsSpeech())
    sound = _sound((1.0, 0.0), (2.0, 0.9), (0.5, 0.0), (1.0, 0.9), (1.0, 0.0), (0.6, 0.9), (1.0, 0.0))
    one, two = _heard(ear, _blocks(sound, 100.0, size))
    assert one.start_s == pytest.approx(100.7, abs=0.05) and one.end_s == pytest.approx(104.8, abs=0.05)
    assert two.start_s == pytest.approx(105.2, abs=0.05) and two.end_s == pytest.approx(106.4, abs=0.05)
    assert one.samples.max() == pytest.approx(0.9) and (one.samples > 0.5).mean() > 0.7
    assert len(one.samples) / RATE == pytest.approx(one.end_s - one.start_s, abs=0.01)


def test_a_pause_is_told_once_and_is_the_end_if_nothing_follows() -> None:
    ear = _ear(LoudIsSpeech())
    sound = _sound((1.0, 0.0), (1.5, 0.9), (0.6, 0.0), (1.0, 0.9), (2.0, 0.0))
    told: list[Spoken] = []
    pauses: list[Spoken] = []
    for block in _blocks(sound, 100.0):
        if (spoken := ear.hear(block)) is not None:
            told.append(spoken)
        if (pause := ear.pause()) is not None:
            pauses.append(pause)
            assert not told, "before it is sure that it has ended"
    (whole,), (first, second) = told, pauses
    assert first.end_s == pytest.approx(102.8, abs=0.05) and first.start_s == whole.start_s
    assert (second.start_s, second.end_s) == (whole.start_s, whole.end_s)
    np.testing.assert_array_equal(second.samples, whole.samples)


def test_long_speech_and_clicks_are_no_hurried_question() -> None:
    for said in ((0.1, 0.9), (7.0, 0.9)):
        ear = _ear(LoudIsSpeech())
        for block in _blocks(_sound((1.0, 0.0), said, (0.7, 0.0))):
            assert ear.hear(block) is None and ear.pause() is None


def test_a_click_is_no_speech_and_endless_speech_is_cut() -> None:
    assert not _heard(_ear(LoudIsSpeech()), _blocks(_sound((1.0, 0.0), (0.1, 0.9), (2.0, 0.0))))
    parts = _heard(_ear(LoudIsSpeech(), longest_s=5.0), _blocks(_sound((12.0, 0.9))))
    assert len(parts) == 2 and all(4.9 < part.end_s - part.start_s < 5.7 for part in parts)


def test_lost_sound_ends_what_was_said_before_it() -> None:
    activity = LoudIsSpeech()
    ear = _ear(activity)
    before = _blocks(_sound((1.0, 0.0), (1.0, 0.9)))
    after = _blocks(_sound((0.2, 0.9), (2.0, 0.0)), start_s=30.0)
    assert not _heard(ear, before) and ear.speaking_s > 0.9
    assert not _heard(ear, after) and activity.resets == 1 and ear.speaking_s == 0.0


def test_silence_for_an_hour_holds_two_seconds() -> None:
    ear = _ear(LoudIsSpeech())
    for number in range(36_00):
        assert ear.hear(AudioBlock(float(number), np.zeros(RATE, dtype=np.float32))) is None
    assert len(ear.latest(100.0).samples) <= 3.1 * RATE


@pytest.mark.skipif(
    not (MODELS / "silero-vad").exists() and not list(MODELS.glob("*vad*")), reason="no voice activity model"
)
def test_the_stream_hears_what_the_whole_does() -> None:
    activity = VoiceActivity(Manifest.load().default("voice_activity").require(MODELS))
    sound = np.random.default_rng(3).normal(0, 0.05, RATE * 3).astype(np.float32).clip(-1, 1)
    whole = activity.probabilities(sound)
    stream = activity.stream()
    parts = [stream.feed(sound[at : at + 1234]) for at in range(0, len(sound), 1234)]
    streamed = np.concatenate(parts)
    assert len(streamed) == len(sound) // CHUNK
    np.testing.assert_allclose(streamed, whole[: len(streamed)], atol=1e-6)
