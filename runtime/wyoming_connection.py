"""One connection to the Wyoming server: recognises speech, speaks text, answers questions, says what it offers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray
from wyoming.asr import Transcript as TranscriptEvent
from wyoming.error import Error
from wyoming.event import Event
from wyoming.handle import Handled, NotHandled
from wyoming.info import Info
from wyoming.ping import Pong

from memory_store.errors import MemoryStoreError
from models.errors import ModelError
from models.speech import Transcript
from runtime.answering import AnsweringService, Asked
from runtime.errors import HearsightError
from runtime.grounding import language_of
from runtime.voice import Sound, split_sentences
from runtime.wyoming_sound import SoundCollector, sound_chunks, sound_start, sound_stop
from runtime.wyoming_wire import BadMessage, encoded, receive

log = logging.getLogger(__name__)
LONGEST_SPEECH_S = 30.0
LONGEST_TEXT = 5000
PAUSE_S = 0.25  # between two sentences
_numbers = count(1)
_ERRORS = (HearsightError, ModelError, MemoryStoreError)


@dataclass(frozen=True)
class Offers:
    """What the server does for its peers.

    transcribe: speech (n,), 16 kHz; asker_of: whose voice it is; synthesize: a text in a language, ISO 639-1.
    """

    info: Info
    transcribe: Callable[[NDArray[np.float32]], Awaitable[Transcript]]
    asker_of: Callable[[NDArray[np.float32]], Awaitable[int | None]]
    synthesize: Callable[[str, str], Awaitable[Sound]]
    answering: AnsweringService


class WyomingConnection:
    """Serves one peer until it leaves, is silent for `idle_s`, or sends what is no Wyoming.

    Who asks is a voice that nobody knows, unless the very words were recognised here, just before, in a voice that
    is known.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, offers: Offers, *, idle_s: float
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._offers = offers
        self._idle_s = idle_s
        self._conversation = f"wyoming {next(_numbers)}"
        self._sound = SoundCollector(LONGEST_SPEECH_S)
        self._heard: tuple[str, int | None] = ("", None)  # the words recognised last, and whose they were
        self._handlers: dict[str, Callable[[Event], Awaitable[None]]] = {
            "describe": self._describe,
            "ping": self._ping,
            "audio-start": self._begin,
            "audio-chunk": self._hear,
            "audio-stop": self._recognise,
            "synthesize": self._speak,
            "transcript": self._handle,
        }

    async def serve(self) -> None:
        """To the connection's end; what is wrong with a message is told to the peer, and ends it."""
        try:
            while True:
                event = await asyncio.wait_for(receive(self._reader), self._idle_s)
                if event is None:
                    return
                handler = self._handlers.get(event.type)  # what is not known is left, as the protocol wants
                if handler is not None:
                    await handler(event)
        except BadMessage as error:
            log.info("a Wyoming peer was left: %s", error)
            await self._say_goodbye(str(error))
        except (OSError, TimeoutError) as error:
            log.info("a Wyoming peer has gone: %s", error or "silent for too long")

    async def _say_goodbye(self, why: str) -> None:
        try:
            await self._send(Error(why).event())
        except (OSError, TimeoutError):
            return

    async def _send(self, event: Event) -> None:
        self._writer.write(encoded(event))
        await asyncio.wait_for(self._writer.drain(), self._idle_s)

    async def _describe(self, _event: Event) -> None:
        await self._send(self._offers.info.event())

    async def _ping(self, event: Event) -> None:
        await self._send(Pong(event.data.get("text")).event())

    async def _begin(self, _event: Event) -> None:
        self._sound = SoundCollector(LONGEST_SPEECH_S)

    async def _hear(self, event: Event) -> None:
        self._sound.add(event)

    async def _recognise(self, _event: Event) -> None:
        sound, self._sound = self._sound, SoundCollector(LONGEST_SPEECH_S)
        try:
            samples = sound.at_16_khz()
            transcript = await self._offers.transcribe(samples)
            self._heard = (transcript.text, await self._offers.asker_of(samples))
        except _ERRORS as error:
            await self._send(Error(str(error)).event())
            return
        await self._send(TranscriptEvent(text=transcript.text, language=transcript.language).event())

    async def _speak(self, event: Event) -> None:
        text = _text(event)
        voice = event.data.get("voice")
        language = voice.get("language") if isinstance(voice, dict) else None
        if not isinstance(language, str):
            language = language_of(text)
        started = False
        try:
            for sentence in split_sentences(text):
                samples, rate_hz = await self._offers.synthesize(sentence, language[:2])
                if started:
                    samples = np.concatenate([np.zeros(round(PAUSE_S * rate_hz), np.float32), samples])
                else:
                    await self._send(sound_start(rate_hz))
                started = True
                for chunk in sound_chunks(samples, rate_hz):
                    await self._send(chunk)
        except _ERRORS as error:
            await self._send(Error(str(error)).event())
            return
        if not started:
            await self._send(Error("the text holds nothing that can be spoken").event())
            return
        await self._send(sound_stop())

    async def _handle(self, event: Event) -> None:
        text = _text(event)
        words, voice = self._heard
        self._heard = ("", None)
        asker = voice if text == words else None
        context = event.data.get("context")
        context = context if isinstance(context, dict) else None
        named = context.get("conversation_id") if context else None
        conversation = f"wyoming {named[:100]!r}" if isinstance(named, str) else self._conversation
        try:
            answer = await self._offers.answering.submit(Asked(text, asker, conversation, spoken=True))
        except _ERRORS as error:
            await self._send(NotHandled(text=str(error), context=context).event())
            return
        await self._send(Handled(text=answer.text, context=context).event())


def _text(event: Event) -> str:
    text = event.data.get("text")
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise BadMessage(f"{event.type} wants a text of at most {LONGEST_TEXT} characters")
    return text
