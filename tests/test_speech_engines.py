"""Speech engines here and elsewhere keep one contract; one that is gone is stood in for, and that is said."""

from __future__ import annotations

import dataclasses
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import numpy as np
import pytest
from wyoming.asr import Transcript as TranscriptEvent

from models.errors import ModelError
from models.manifest import Manifest
from models.speech import Transcript
from runtime.compose import Parts
from runtime.compose_hearing import speech_recognizer, voice_embedder
from runtime.compose_speech import Samples, SpeechEngines, configured_engines, own_engines
from runtime.config import Settings
from runtime.config_talking import VoiceSettings
from runtime.stand_in import AGAIN_S, WithStandIn
from runtime.voice import Sound
from runtime.wyoming_connection import Offers
from runtime.wyoming_engines import EngineFault, WyomingRecognizer, WyomingVoice
from runtime.wyoming_wire import BadMessage, PeerGone, encoded
from tests.fake_devices import ManualClock
from tests.wyoming_served import RATE, Served, recognise, sound, speak

Engines = tuple[Callable[[Samples], Transcript], Callable[[str], Sound]]


@pytest.fixture(scope="module", params=["here", "elsewhere"])
def engines(request: pytest.FixtureRequest) -> Iterator[Engines]:
    if request.param == "here":
        yield recognise, speak
        return
    with Served() as served:
        recognizer, voice = (
            WyomingRecognizer(served.host, served.port),
            WyomingVoice(served.host, served.port, "en"),
        )
        yield recognizer.transcribe, voice.synthesize


def test_recognition(engines: Engines) -> None:
    transcribe, _ = engines
    assert transcribe(sound(1)) == Transcript(0.0, 1.0, "Who was here?", "en", 1.0)
    assert transcribe(sound(2, 2.5)) == Transcript(0.0, 2.5, "谁来过？", "zh", 1.0)
    assert transcribe(sound(0)).text == "" and transcribe(sound(0)).confidence == 0.0
    assert transcribe(np.zeros(0, dtype=np.float32)).text == ""
    with pytest.raises((ModelError, BadMessage), match="failed on 1 pieces"):
        transcribe(sound(10))


def test_synthesis(engines: Engines) -> None:
    _, synthesize = engines
    samples, rate_hz = synthesize("Anna put the keys on the shelf.")
    expected, _ = speak("Anna put the keys on the shelf.")
    assert rate_hz == 22050 and samples.dtype == np.float32
    np.testing.assert_allclose(samples, expected, atol=1e-4)
    with pytest.raises((ModelError, BadMessage), match="can be spoken"):
        synthesize("unspeakable")


class OnePeer:
    """A peer that takes one connection, sends `answer` and then waits, or closes at once."""

    def __init__(self, answer: bytes, *, closes: bool) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._answer, self._closes = answer, closes
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        peer, _ = self._listener.accept()
        with peer:
            peer.sendall(self._answer)
            if not self._closes:
                self._done.wait(10)

    def __enter__(self) -> OnePeer:
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(10)
        self._listener.close()


@pytest.mark.parametrize(
    ("answer", "closes", "error"),
    [
        (b"", True, PeerGone),
        (b"", False, PeerGone),
        (b'{"type": "transcript", "data_length": 50}\n{"te', False, PeerGone),
        (b'{"type": "transcript", "data_length": 50}\n{"te', True, PeerGone),
        (b'{"type": "transcript", "payload_length": 9999999999}\n', False, BadMessage),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", False, BadMessage),
        (b"x" * 100_000, False, BadMessage),
        (b'{"type": "transcript"}\n', False, BadMessage),
        (b'{"type": "error", "data": {"text": "no model"}}\n', False, EngineFault),
        (b'{"type": "info"}\n' * 3, False, PeerGone),
    ],
)
def test_a_bad_recogniser_is_left_in_time(answer: bytes, closes: bool, error: type[Exception]) -> None:
    with OnePeer(answer, closes=closes) as peer, pytest.raises(error):
        WyomingRecognizer("127.0.0.1", peer.port, answer_s=0.3).transcribe(sound(1))


def test_a_voice_without_sound_and_nobody_there() -> None:
    with (
        OnePeer(b'{"type": "audio-stop"}\n', closes=False) as peer,
        pytest.raises(EngineFault, match="no sound"),
    ):
        WyomingVoice("127.0.0.1", peer.port, "en", answer_s=0.3).synthesize("Hello.")
    with pytest.raises(PeerGone, match="cannot be reached"):
        WyomingVoice("127.0.0.1", peer.port, "en").synthesize("Hello.")


def test_a_languageless_transcript_is_read() -> None:
    with OnePeer(encoded(TranscriptEvent(" 谁来过？").event()), closes=False) as peer:
        found = WyomingRecognizer("127.0.0.1", peer.port).transcribe(sound(1))
    assert (found.text, found.language) == ("谁来过？", "zh")


def test_one_that_is_gone_is_stood_in_for_and_comes_back(caplog: pytest.LogCaptureFixture) -> None:
    clock, there, asked = ManualClock(), [False], []

    def elsewhere(number: int) -> str:
        asked.append(number)
        if not there[0]:
            raise PeerGone("wyoming://x:1 cannot be reached: refused")
        return f"elsewhere {number}"

    engine = WithStandIn("the voice wyoming://x:1", elsewhere, lambda number: f"here {number}", clock)
    with caplog.at_level(logging.WARNING):
        assert engine.state == "ok"
        assert [engine(1), engine(2)] == ["here 1", "here 2"] and asked == [1], "not asked again at once"
        assert "cannot be reached" in engine.state
        clock.now_s += AGAIN_S
        assert engine(3) == "here 3" and asked == [1, 3]
        clock.now_s += AGAIN_S
        there[0] = True
        assert engine(4) == "elsewhere 4" and engine.state == "ok"
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2 and "the robot's own does its work" in said[0] and "can be used again" in said[1]


def test_what_is_configured_is_used() -> None:
    own = SpeechEngines(recognise, {"en": speak, "zh": speak}, lambda samples: samples)
    manifest = Manifest.load()
    assert configured_engines(Parts(Settings(), manifest), own) is own
    with Served() as served:
        address = f"wyoming://{served.host}:{served.port}"
        settings = Settings(voice=VoiceSettings(recognizer=address, synthesizer=address))
        engines = configured_engines(Parts(settings, manifest), own)
        assert (
            engines.transcribe(sound(1)).text == "Who was here?" and engines.voices["zh"]("你好")[1] == 22050
        )
        assert {name: engine.state for name, engine in engines.elsewhere.items()} == {
            "recognizer": "ok", "synthesizer en": "ok", "synthesizer zh": "ok"
        }  # fmt: skip
    assert engines.transcribe(sound(1)).text == "Who was here?"
    assert "cannot be reached" in engines.elsewhere["recognizer"].state


@pytest.mark.skipif(
    not Manifest.load().default("speech_synthesis").directory(Settings().models.dir).exists(),
    reason="no models",
)
def test_our_own_engines_over_the_protocol() -> None:
    parts = Parts(Settings(), Manifest.load())
    own = own_engines(parts, speech_recognizer(parts), voice_embedder(parts))

    async def transcribe(samples: Samples) -> Transcript:
        return own.transcribe(samples)

    async def synthesize(text: str, language: str) -> Sound:
        return own.voices[language](text)

    def real(offers: Offers) -> Offers:
        return dataclasses.replace(offers, transcribe=transcribe, synthesize=synthesize)

    with ExitStack() as stack:
        served = stack.enter_context(Served(change=real))
        said, rate_hz = WyomingVoice(served.host, served.port, "en").synthesize("Where are the car keys?")
        at = np.arange(round(len(said) * RATE / rate_hz)) * (rate_hz / RATE)
        heard = np.interp(at, np.arange(len(said)), said).astype(np.float32)
        found = WyomingRecognizer(served.host, served.port).transcribe(heard)
    assert "car keys" in found.text.casefold() and found.language == "en"
