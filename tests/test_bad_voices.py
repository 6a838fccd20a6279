"""Bad sound and bad vectors: silence, clipping, telephone and studio rates, damaged samples; nobody comes of them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from drivers.media import AudioBlock
from drivers.replay import Replay
from models.speech import SpeechRecognizer
from models.voices import SpeakerTurns, VoiceActivity, VoiceEmbedder
from models.waveform import is_clipped
from runtime.hear import Hearing, Listener
from tests.identified_clips import Household, open_store, says
from tests.pictures import fetched_model
from tests.recordings import write_recording
from tests.sounds import RATE_HZ, Samples, noise, recording, silence
from tests.test_hear import LoudIsSpeech
from tests.vectors import axis, near

ANNA = axis(0, 192)
VECTORS = [np.zeros(192), np.full(192, np.nan), np.full(192, np.inf), 2 * axis(0, 192), np.zeros(0)]


@pytest.fixture(scope="module")
def ears() -> Iterator[Listener]:
    embedder = VoiceEmbedder(fetched_model("campplus-zh-en"))
    turns = SpeakerTurns(fetched_model("pyannote-segmentation-3"), embedder)
    wordless = cast(SpeechRecognizer, LoudIsSpeech())
    activity = VoiceActivity(fetched_model("silero-vad"))
    yield Listener(activity, turns, embedder, wordless, carry_speech_s=10.0)


@pytest.fixture
def household(tmp_path: Path) -> Iterator[Household]:
    with open_store(tmp_path) as store:
        household = Household(store)
        household.clip([], [says(ANNA)])
        yield household


def _hear(ears: Listener, sound: Samples) -> Hearing:
    for first in range(0, len(sound), 8000):
        ears.add(AudioBlock(first / RATE_HZ, sound[first : first + 8000]))
    return ears.finish(last=True)


def _at_rate(sound: Samples, rate_hz: int) -> Samples:
    """The sound at another rate, with nothing above half of the lower of both."""
    spectrum = np.fft.rfft(sound)
    count = round(len(sound) * rate_hz / RATE_HZ)
    kept = np.zeros(count // 2 + 1, dtype=np.complex128)
    bins = min(len(kept), len(spectrum)) * 19 // 20
    kept[:bins] = spectrum[:bins]
    return np.asarray(np.fft.irfft(kept, count) * rate_hz / RATE_HZ, dtype=np.float32)


def _voice(ears: Listener, path: Path) -> Samples:
    for item in Replay(path, sample_rate_hz=RATE_HZ).items():
        ears.add(cast(AudioBlock, item))
    spoken = [one for one in ears.finish(last=True).speech if one.vector is not None]
    vector = max(spoken, key=lambda one: one.duration_s).vector
    assert vector is not None
    return vector


@pytest.mark.parametrize(
    "sound", [silence(5), silence(0.001), noise(5, 0.0001), np.full(80000, 1, np.float32)]
)
def test_silence_hiss_and_a_stuck_sample_are_nobody(ears: Listener, sound: Samples) -> None:
    assert _hear(ears, sound).speech == ()


def test_a_voice_is_the_same_at_studio_rate_and_like_itself_at_telephone_rate(
    ears: Listener, tmp_path: Path
) -> None:
    one, other, stranger = ("1688/1688-142285-0000", "1688/1688-142285-0001", "2033/2033-164914-0000")

    def voice(name: str, rate_hz: int) -> Samples:
        sound = _at_rate(recording(f"speech/librispeech/{name}.flac")[: 4 * RATE_HZ], rate_hz)
        path = tmp_path / f"{name[-4:]}{name[:4]}{rate_hz}.mkv"
        return _voice(ears, write_recording(path, sounds=[(0.0, sound)], rate_hz=rate_hz))

    narrow = voice(one, 8000)
    assert voice(one, 48000) @ voice(one, RATE_HZ) > 0.95
    assert narrow @ voice(other, 8000) > 0.5
    assert max(narrow @ voice(stranger, 8000), narrow @ voice(stranger, 48000)) < 0.48


def test_overdriven_speech_is_marked_and_teaches_nothing(ears: Listener, household: Household) -> None:
    speech = recording("speech/jfk.flac")[: 6 * RATE_HZ]
    assert not any(one.clipped for one in _hear(ears, speech).speech)
    overdriven = np.clip(speech * 30, -1, 1)
    heard = _hear(ears, overdriven).speech
    assert heard and is_clipped(overdriven) and all(one.clipped for one in heard)
    before = household.store.exemplars("voice")
    spoken = household.clip(
        [], [replace(one, snr_db=None) for one in heard] + [replace(says(near(ANNA, 0.7, 3)), clipped=True)]
    ).speech
    assert [one.voice_id is None for one in spoken] == [True] * len(heard) + [False]
    assert len(household.store.exemplars("voice")) == len(before) and len(household.store.people()) == 1


def test_damaged_samples_are_silence_and_counted(ears: Listener) -> None:
    speech = recording("speech/jfk.flac")[: 4 * RATE_HZ].copy()
    speech[3 * RATE_HZ :] = np.nan
    speech[3 * RATE_HZ + 5] = np.inf
    hearing = _hear(ears, speech)
    assert hearing.gap_s == pytest.approx(1.0, abs=1e-3)
    assert np.isfinite(hearing.samples).all()
    assert hearing.speech and all(
        one.vector is None or np.isfinite(one.vector).all() for one in hearing.speech
    )


@pytest.mark.parametrize("bad", VECTORS, ids=["zero", "nan", "infinite", "long", "empty"])
def test_a_vector_without_direction_is_nobodys(household: Household, bad: np.ndarray) -> None:
    spoken = household.clip(
        [], [replace(says(bad.astype(np.float32)), speaker=0), replace(says(ANNA), speaker=0)]
    )
    assert spoken.speech[0].voice_id is None and spoken.speech[1].voice_id is not None
    assert len(household.store.people()) == 1 and household.store.check() == []
