"""The daemon is spoken to: a synthesized question into a scripted microphone, its answer out of the loudspeaker and,
like in a room, back into the microphone.
"""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from drivers.live import LiveSource
from drivers.microphone import Microphone
from drivers.resample import Resampler
from drivers.speaker import Speaker
from models.manifest import Manifest
from models.speech import SpeechRecognizer
from models.synthesis import SpeechSynthesizer
from models.voices import Span
from runtime import compose
from runtime.capture import Pace
from runtime.clips import Live
from runtime.clock import SystemClock
from runtime.config import ClipSettings, ModelSettings, PrivacySettings, Settings
from runtime.config_talking import ApiSettings, VoiceSettings, WyomingSettings
from runtime.daemon import Daemon, Listeners
from runtime.own_speech import OwnSpeech
from runtime.voice import Loudspeaker
from tests.fake_devices import FakePortAudio
from tests.household import remember

RATE = 16000
BLOCK = 1600
MODELS = Settings().models.dir
SYNTHESIS = Manifest.load().default("speech_synthesis").directory(MODELS)


class Room(FakePortAudio):
    """PortAudio in a room: what is played takes its time and comes back through the microphone, more softly."""

    def __init__(self, question: NDArray[np.float32]) -> None:
        super().__init__(rates_hz=(RATE,))
        self._air = np.concatenate([np.zeros(RATE, np.float32), question, np.zeros(120 * RATE, np.float32)])
        self._at = 0
        self._lock = threading.Lock()
        self.done = threading.Event()

    def live(self) -> None:
        """Deliver a block each 100 ms to whoever listens."""
        while not any(stream.state == "started" for stream in self.streams):
            if self.done.wait(0.02):
                return
        began_s, number = time.monotonic(), 0
        while not self.done.wait(max(0.0, began_s + number * BLOCK / RATE - time.monotonic())):
            number += 1
            with self._lock:
                heard = self._air[self._at : self._at + BLOCK].copy()
                self._at += BLOCK
            for stream in self.streams:
                if stream.state == "started":
                    stream.hear(heard)

    def play(self, samples: NDArray[np.float32], rate_hz: int, *, device: Any, blocking: bool) -> None:
        super().play(samples, rate_hz, device=device, blocking=blocking)
        echo = Resampler(rate_hz, RATE).push(samples) * 0.4
        with self._lock:
            first = self._at + round(0.05 * RATE)
            self._air[first : first + len(echo)] += echo
        self.done.wait(len(samples) / rate_hz)


def _sound_of(text: str) -> NDArray[np.float32]:
    samples, rate_hz = SpeechSynthesizer(SYNTHESIS).synthesize(text)
    return Resampler(rate_hz, RATE).push(samples)


def _words(sounds: list[tuple[NDArray[np.float32], int]]) -> str:
    recognizer = SpeechRecognizer(Manifest.load().default("speech_recognition").require(MODELS))
    heard = np.concatenate([Resampler(rate_hz, RATE).push(samples) for samples, rate_hz in sounds])
    return recognizer.transcribe(heard, [Span(0.0, len(heard) / RATE)])[0].text


@pytest.mark.timeout(150)
@pytest.mark.skipif(not SYNTHESIS.exists(), reason="no voice to ask with; run `hearsight models fetch`")
def test_a_spoken_question_is_answered_aloud_and_the_robot_does_not_hear_itself(tmp_path: Path) -> None:
    room = Room(_sound_of("Hearsight, what did Anna say about the car keys?"))
    settings = Settings(
        data_dir=tmp_path, clip=ClipSettings(length_s=30.0), models=ModelSettings(language="none"),
        voice=VoiceSettings(enabled=True, follow_up_s=5.0, addressed_by=("name", "push", "look")),
        api=ApiSettings(enabled=False), wyoming=WyomingSettings(enabled=True, port=0),
        privacy=PrivacySettings(unknown="all"),
    )  # fmt: skip
    parts = compose.Parts(settings, Manifest.load())
    with compose.open_store(parts) as store:
        embedder = compose.text_embedder(parts)
        remember(store, embedder.embed_passage)
    source = Live(
        LiveSource(None, Microphone(None, block_s=BLOCK / RATE, backend=room), 5.0), "boot", SystemClock()
    )

    def loudspeaker(own: OwnSpeech) -> Loudspeaker:
        return Speaker(None, backend=room, on_play=own.played, clock=source.media_s)

    daemon = Daemon(parts, source, Pace(None), SystemClock(), Listeners(), loudspeaker=loudspeaker)
    lines: list[str] = []

    async def scenario() -> None:
        waiting = asyncio.create_task(asyncio.to_thread(_until_answered, room, source))
        await asyncio.wait_for(daemon.run(), 120)
        await waiting

    air = threading.Thread(target=room.live)
    air.start()
    try:
        asyncio.run(scenario())
    finally:
        room.done.set()
        air.join(5)
    said = _words(room.played)
    assert "keys" in said.casefold() and "bowl" in said.casefold(), said
    with compose.open_store(parts) as store:
        assert len(store.traces()) == 1, "its own answer is no question"
        heard = [
            node.text for node in store.nodes(kinds=["episodic"]) if node.clip_id and "says" in node.text
        ]
        lines = [text for text in heard if "car keys" in text]
        assert len([text for text in heard if "blue bowl" in text]) == 1, heard  # what Anna once said herself
        assert lines


def _until_answered(room: Room, source: Live) -> None:
    """Stop the source some seconds after the answer, in which the robot might answer itself."""
    deadline_s = time.monotonic() + 60
    while not room.played and time.monotonic() < deadline_s:
        time.sleep(0.1)
    time.sleep(9.0)
    source.stop()
