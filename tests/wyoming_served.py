"""A Wyoming server on a loop of its own, with scripted engines and answers, for tests of both sides."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from wyoming.info import Info

from models.errors import ModelError
from models.speech import Transcript
from runtime.answer import Answer
from runtime.answering import AnsweringService, Asked
from runtime.config_talking import WyomingSettings
from runtime.errors import HearsightError
from runtime.voice import Sound
from runtime.workers import Worker
from runtime.wyoming_connection import Offers
from runtime.wyoming_server import WyomingServer
from tests.answers import plain_answer

RATE = 16000
SAID = {0: "", 1: "Who was here?", 2: "谁来过？"}
VOICE_OF_ANNA = 1  # loudness of what she says, in tenths


def recognise(samples: NDArray[np.float32]) -> Transcript:
    """The loudness of a sound, in tenths, is the number of the sentence that is said in it."""
    if samples.size and np.abs(samples).max() > 0.95:
        raise ModelError("the speech model failed on 1 pieces of speech")
    number = round(float(np.abs(samples).max(initial=0.0)) * 10)
    language = "zh" if number == 2 else "en"
    return Transcript(0.0, samples.size / RATE, SAID[number], language, 1.0 if SAID[number] else 0.0)


def speak(text: str) -> Sound:
    """A tenth of a second for each letter, at 22,050 Hz, as loud as the text is long."""
    if "unspeakable" in text:
        raise ModelError("nothing in it can be spoken")
    return np.full(2205 * len(text), min(0.9, len(text) / 100), dtype=np.float32), 22050


def sound(number: int, length_s: float = 1.0, rate_hz: int = RATE) -> NDArray[np.float32]:
    """Speech that `recognise` knows."""
    return np.full(round(length_s * rate_hz), number / 10, dtype=np.float32)


class Served:
    """Runs the server until it is left. asked: the questions that came through; own `offers` may be handed in."""

    def __init__(
        self, *, idle_s: float = 10.0, change: Callable[[Offers], Offers] = lambda offers: offers
    ) -> None:
        self.asked: list[Asked] = []
        self._idle_s = idle_s
        self._change = change
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(10)
        assert not self._thread.is_alive()

    def state(self) -> dict[str, Any]:
        return self.server.state()

    def _answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        if "refuse" in asked.text:
            raise HearsightError("nothing can be asked with it")
        return plain_answer(f"to {asked.text}")

    def _stop(self) -> None:
        self.server.stop()
        self._answering.stop()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        worker = Worker("answer")
        self._answering = AnsweringService(self._answer, worker, most_waiting=8)

        async def transcribe(samples: NDArray[np.float32]) -> Transcript:
            return recognise(samples)

        async def asker_of(samples: NDArray[np.float32]) -> int | None:
            return 7 if round(float(np.abs(samples).max(initial=0.0)) * 10) == VOICE_OF_ANNA else None

        async def synthesize(text: str, language: str) -> Sound:
            return speak(text)

        offers = self._change(Offers(Info(), transcribe, asker_of, synthesize, self._answering))
        self.server = WyomingServer(
            WyomingSettings(enabled=True, port=0), offers, self._listening, idle_s=self._idle_s
        )
        await asyncio.gather(self.server.run(), self._answering.run())
        worker.close()

    def _listening(self, uri: str) -> None:
        host, _, port = uri.removeprefix("tcp://").rpartition(":")
        self.host, self.port = host, int(port)
        self._ready.set()
