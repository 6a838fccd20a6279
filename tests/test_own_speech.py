"""The robot's own voice through a room and noise is left out; a resident who speaks over it or after it is not."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from drivers.media import AudioBlock
from models.synthesis import SpeechSynthesizer
from models.voices import Span, VoiceActivity
from runtime.hear import Listener
from runtime.own_speech import OwnSpeech, SortedSpeech
from tests.pictures import fetched_model
from tests.sounds import RATE_HZ, Samples, recording
from tests.test_hear import LoudIsSpeech

BEGIN_S = 1000.0  # the sound's own start; the robot speaks one second later
SAID = (
    "The washing machine has finished.",
    "I do not know who that was.",
)


@cache
def _spoken(number: int) -> tuple[NDArray[np.float32], int]:
    return SpeechSynthesizer(fetched_model("piper-joe")).synthesize(SAID[number])


def _rms(sound: Samples) -> float:
    return float(np.sqrt(np.mean(sound**2)))


def _through_the_room(sound: NDArray[np.float32], rate_hz: int) -> Samples:
    """What the microphone hears of it, at 16 kHz and an RMS of 0.05: loudspeaker clipping and a room response."""
    at = np.arange(round(len(sound) * RATE_HZ / rate_hz)) * rate_hz / RATE_HZ
    dry = np.tanh(3 * np.interp(at, np.arange(len(sound)), sound))
    response = recording("household_audio/sb_rir1.wav")
    response = response[int(np.abs(response).argmax()) :]
    size = len(dry) + len(response)
    wet = np.fft.irfft(np.fft.rfft(dry, size) * np.fft.rfft(response, size), size)[: len(dry) + RATE_HZ // 4]
    return np.asarray(0.05 * wet / np.sqrt(np.mean(wet**2)), dtype=np.float32)


def _scene(heard: list[tuple[float, Samples]], snr_db: float) -> Samples:
    scene = np.zeros(round(RATE_HZ * max(at + len(sound) / RATE_HZ + 1 for at, sound in heard)), np.float32)
    for at, sound in heard:
        scene[round(at * RATE_HZ) :][: len(sound)] += sound
    noise = np.resize(recording("household_audio/sb_noise3.flac"), len(scene))
    return np.clip(scene + noise * (0.05 * 10 ** (-snr_db / 20) / _rms(noise)), -1, 1).astype(np.float32)


def _sorted(own: OwnSpeech, scene: Samples) -> tuple[SortedSpeech, list[Span]]:
    spans = VoiceActivity(fetched_model("silero-vad")).spans(scene)
    assert spans, "nothing here to be told apart"
    return own.sort(scene, BEGIN_S, spans), spans


def _shared(spans: tuple[Span, ...] | list[Span], start_s: float, end_s: float) -> float:
    return sum(max(0.0, min(span.end_s, end_s) - max(span.start_s, start_s)) for span in spans)


@pytest.mark.parametrize(("delay_s", "snr_db"), [(0.0, 20.0), (0.25, 10.0), (0.5, 5.0)])
def test_what_the_robot_says_is_its_own(delay_s: float, snr_db: float) -> None:
    for number in range(len(SAID)):
        sound, rate_hz = _spoken(number)
        own = OwnSpeech()
        own.played(sound, rate_hz, BEGIN_S + 1.0)
        scene = _scene([(1.0 + delay_s, _through_the_room(sound, rate_hz))], snr_db)
        found, _ = _sorted(own, scene)
        assert found.others == (), SAID[number]


def test_a_resident_who_speaks_right_after_the_robot_is_heard_whole() -> None:
    resident = recording("speech/jfk.flac")[: 3 * RATE_HZ]
    resident = resident * (0.05 / _rms(resident))
    for number in range(len(SAID)):
        sound, rate_hz = _spoken(number)
        own = OwnSpeech()
        own.played(sound, rate_hz, BEGIN_S + 1.0)
        after_s = 1.2 + len(sound) / rate_hz + 0.1
        scene = _scene([(1.2, _through_the_room(sound, rate_hz)), (after_s, resident)], 20.0)
        found, spans = _sorted(own, scene)
        spoken_s = _shared(spans, after_s + 0.3, after_s + 3)
        assert _shared(found.others, after_s + 0.3, after_s + 3) > 0.95 * spoken_s, SAID[number]
        assert _shared(found.own, 1.2, after_s) > 0.8 * _shared(spans, 1.2, after_s), SAID[number]


def test_a_resident_who_speaks_over_the_robot_is_not_swallowed() -> None:
    resident = recording("speech/jfk.flac")[: 3 * RATE_HZ]
    resident = resident * (0.08 / _rms(resident))
    for number in range(len(SAID)):
        sound, rate_hz = _spoken(number)
        own = OwnSpeech()
        own.played(sound, rate_hz, BEGIN_S + 1.0)
        scene = _scene([(1.2, _through_the_room(sound, rate_hz)), (1.4, resident)], 20.0)
        found, spans = _sorted(own, scene)
        assert _shared(found.others, 1.4, 4.4) > 0.6 * _shared(spans, 1.4, 4.4), SAID[number]
        assert any(found.over), "mixed speech is marked, so that no voice is learned from it"


def test_other_speech_while_something_unheard_was_played_stays_what_it_is() -> None:
    sound, rate_hz = _spoken(1)
    own = OwnSpeech()
    own.played(sound, rate_hz, BEGIN_S + 0.3)
    found, spans = _sorted(own, recording("speech/jfk.flac"))
    assert _shared(found.others, 0, 60) > 0.97 * _shared(spans, 0, 60)


@pytest.mark.parametrize("played", [np.zeros(0, np.float32), np.zeros(16000, np.float32)])
def test_silence_played_explains_nothing(played: Samples) -> None:
    own = OwnSpeech()
    own.played(played, 16000, BEGIN_S)
    sound = np.random.default_rng(3).normal(0, 0.1, 32000).astype(np.float32)
    spans = [Span(0.0, 0.01), Span(0.5, 1.5)]
    assert own.sort(sound, BEGIN_S, spans).others == tuple(spans)
    assert OwnSpeech().sort(sound, BEGIN_S, spans).own == ()


def test_the_listener_leaves_own_speech_out_and_counts_it() -> None:
    rng = np.random.default_rng(5)
    sound = np.repeat(rng.uniform(0.05, 1.0, 20), 1600) * rng.normal(0, 0.3, 32000)
    own, ears = OwnSpeech(), LoudIsSpeech()
    own.played(sound.astype(np.float32), 16000, 1.0)
    listener = Listener(ears, ears, ears, ears, carry_speech_s=10.0, own=own)  # type: ignore[arg-type]
    heard = np.zeros(10 * 16000, np.float32)
    heard[round(1.2 * 16000) :][: len(sound)] = np.clip(sound, -1, 1)
    heard[6 * 16000 : 8 * 16000] = 0.5
    listener.add(AudioBlock(0.0, heard))
    hearing = listener.finish(last=True)
    assert hearing.own_utterances >= 1
    assert [round(one.start_s, 1) for one in hearing.speech] == [6.0]
