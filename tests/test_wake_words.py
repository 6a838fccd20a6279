"""Wake word detectors keep one contract: scripted, elsewhere over the Wyoming protocol, and openWakeWord's own."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError
from wyoming.wake import Detection

from drivers.media import AudioBlock
from drivers.replay import Replay
from drivers.resample import Resampler
from models.errors import ModelError
from models.manifest import Manifest
from models.synthesis import SpeechSynthesizer
from models.wake_words import PHRASES, WakeWordDetector
from runtime.address import wake_name
from runtime.config import Settings
from runtime.config_talking import VoiceSettings
from runtime.stand_in import AGAIN_S
from runtime.wyoming_sound import SoundCollector
from runtime.wyoming_wake import WyomingWake
from runtime.wyoming_wire import encoded, receive
from tests.command_line import called
from tests.fake_devices import ManualClock, wait_until
from tests.pictures import demo_scene

RATE = 16000
BLOCK = 1600
INSTALLED = importlib.util.find_spec("pyopen_wakeword") is not None
SYNTHESIS = Manifest.load().default("speech_synthesis").directory(Settings().models.dir)
Sound = NDArray[np.float32]


class Detector(Protocol):
    def hear(self, samples: Sound) -> str | None: ...


class Loud:
    """Stands for a detector: the phrase is a sound that rises over 0.5."""

    def __init__(self) -> None:
        self._loud = False

    def hear(self, samples: Sound) -> str | None:
        before, self._loud = self._loud, bool(np.abs(samples).max(initial=0.0) > 0.5)
        return "hey_jarvis" if self._loud and not before else None


class WakeService:
    """A Wyoming wake word service on a loop of its own that hears what `Loud` hears.

    chunks: how many it has heard; while it is `gone` it drops whoever connects.
    """

    def __init__(self) -> None:
        self.gone = False
        self.chunks = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def __enter__(self) -> WakeService:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def drop(self) -> None:
        """Be gone."""
        self.gone = True
        self._loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        for writer in self._peers:
            writer.transport.abort()

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        self._peers: list[asyncio.StreamWriter] = []
        self._left = asyncio.Semaphore(0)
        server = await asyncio.start_server(self._listen, "127.0.0.1", 0)
        self.port: int = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()
        self._abort()
        for _ in self._peers:
            await self._left.acquire()

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._peers.append(writer)
        if self.gone:
            writer.transport.abort()
        detector = Loud()
        try:
            while (event := await receive(reader)) is not None:
                if event.type == "audio-chunk":
                    piece = SoundCollector(10)
                    piece.add(event)
                    if (name := detector.hear(piece.whole())) is not None:
                        writer.write(encoded(Detection(name=name, timestamp=0).event()))
                        await writer.drain()
                    self.chunks += 1
        finally:
            self._left.release()


@dataclass(frozen=True)
class Case:
    """A detector, sound with its phrase at the end of it, and a wait until so many blocks have been worked through."""

    detector: Detector
    phrase: Sound
    settle: Callable[[int], None] = lambda blocks: None


def _spoken(text: str) -> Sound:
    samples, rate_hz = SpeechSynthesizer(SYNTHESIS).synthesize(text)
    return Resampler(rate_hz, RATE).push(samples)


@pytest.fixture(params=["scripted", "elsewhere", "own"])
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    loud = np.full(BLOCK, 0.8, dtype=np.float32)
    if request.param == "scripted":
        yield Case(Loud(), loud)
    elif request.param == "elsewhere":
        with WakeService() as service:
            wake = WyomingWake("127.0.0.1", service.port, ManualClock())
            yield Case(wake, loud, lambda blocks: wait_until(lambda: service.chunks == blocks))
            wake.close()
    else:
        if not INSTALLED:
            pytest.skip("pyopen-wakeword is not installed; run `pip install 'hearsight[wake]'`")
        yield Case(WakeWordDetector("hey_jarvis"), _spoken("Hey Jarvis!"))


def _heard(case: Case, sound: Sound) -> list[str]:
    """The phrases that are told of while a sound and silence are heard, by a detector that has heard nothing yet."""
    whole = np.concatenate([sound, np.zeros(-len(sound) % BLOCK + RATE, dtype=np.float32)])
    blocks = [whole[at : at + BLOCK] for at in range(0, len(whole), BLOCK)]
    told = [case.detector.hear(block) for block in blocks[:-1]]
    case.settle(len(blocks) - 1)
    told.append(case.detector.hear(blocks[-1]))
    return [phrase for phrase in told if phrase is not None]


def test_a_phrase_is_told_once(case: Case) -> None:
    silence = np.zeros(2 * RATE, dtype=np.float32)
    assert case.detector.hear(silence[:0]) is None
    assert _heard(case, np.concatenate([silence, case.phrase])) == ["hey_jarvis"]


def test_silence_is_no_phrase(case: Case) -> None:
    assert _heard(case, np.zeros(2 * RATE, dtype=np.float32)) == []


def test_a_service_that_goes_is_missed_aloud_once_and_found_again(caplog: pytest.LogCaptureFixture) -> None:
    clock, silence, loud = ManualClock(), np.zeros(BLOCK, np.float32), np.full(BLOCK, 0.8, np.float32)
    with (
        caplog.at_level(logging.WARNING),
        WakeService() as service,
        closing(WyomingWake("127.0.0.1", service.port, clock)) as wake,
    ):
        assert wake.hear(silence) is None and wake.state == "ok"
        wait_until(lambda: service.chunks == 1)
        service.drop()
        wait_until(lambda: wake.hear(silence) is None and wake.state != "ok")
        service.gone = False
        assert wake.hear(loud) is None and service.chunks == 1, "not tried at once"
        clock.now_s += AGAIN_S
        told = wake.hear(loud)
        wait_until(lambda: (told or wake.hear(silence)) == "hey_jarvis")
        assert wake.state == "ok"
    assert len(caplog.records) == 2 and "no wake word is heard meanwhile" in caplog.text
    assert "can be used again" in caplog.text


def test_a_service_that_was_never_there_is_missed_aloud_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    wake = WyomingWake("127.0.0.1", 9, clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert wake.hear(np.zeros(BLOCK, np.float32)) is None and "cannot be reached" in wake.state
            clock.now_s += AGAIN_S
    assert len(caplog.records) == 1


def test_names() -> None:
    said = {
        "hey_jarvis": "jarvis",
        "okay_nabu": "nabu",
        "ok_nabu_v0.1": "nabu",
        "alexa": "alexa",
        "hey": "hey",
    }
    assert {model: wake_name(model) for model in said} == said


def test_settings() -> None:
    assert VoiceSettings(addressed_by=("wake",), wake="wyoming://10.0.0.2:10400").wake
    for wrong in (
        {"wake": "hey_jarvis"},
        {"addressed_by": ("wake",)},
        {"addressed_by": ("wake",), "wake": "hal"},
    ):
        with pytest.raises(ValidationError, match="wake"):
            VoiceSettings.model_validate(wrong)


@pytest.mark.skipif(INSTALLED, reason="pyopen-wakeword is installed")
def test_without_the_package_one_sentence_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ModelError, match=r"pip install 'hearsight\[wake\]'"):
        WakeWordDetector("hey_jarvis")
    config = tmp_path / "robot.yaml"
    config.write_text(
        "voice: {enabled: true, addressed_by: [wake], wake: hey_jarvis, recognizer: 'wyoming://127.0.0.1:9'}\n"
        "camera: {enabled: false}\nmicrophone: {enabled: false}\n"
    )
    found = called(capsys, "check", "--config", config, "--data-dir", tmp_path / "data", "--json")
    rows = {row["what"]: row for row in found.json}
    assert not rows["voice.wake"]["ok"] and "hearsight[wake]" in rows["voice.wake"]["detail"]
    assert not rows["voice.recognizer"]["ok"] and "cannot be reached" in rows["voice.recognizer"]["detail"]


@pytest.mark.skipif(
    not INSTALLED, reason="pyopen-wakeword is not installed; run `pip install 'hearsight[wake]'`"
)
def test_our_own_knows_each_phrase_and_is_not_woken_by_talk() -> None:
    said = {
        "hey_jarvis": "Hey Jarvis, where are the car keys?", "alexa": "Alexa, who was here?",
        "okay_nabu": "Okay Nabu, who was here?", "hey_mycroft": "Hey Mycroft, who was here?",
        "hey_rhasspy": "Hey Rhasspy, who was here?",
    }  # fmt: skip
    assert set(said) == set(PHRASES)
    items = Replay(demo_scene(), frame_rate_hz=1.0).items()
    talk = np.concatenate([item.samples for item in items if isinstance(item, AudioBlock)])
    silence = np.zeros(2 * RATE, dtype=np.float32)
    for phrase, sentence in said.items():
        heard = np.concatenate([silence, _spoken(sentence)])
        assert _heard(Case(WakeWordDetector(phrase), heard), heard) == [phrase]
    deaf = Case(WakeWordDetector("hey_jarvis"), silence)
    assert _heard(deaf, np.concatenate([silence, _spoken("Hearsight, where are the car keys?"), talk])) == []
