"""The voice side of a live daemon: builds the services of a spoken conversation and ties them to the microphone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.media import AudioBlock
from models.phonemes import phonemizer
from models.speech import Transcript
from models.voices import Span
from runtime import compose, compose_hearing
from runtime.address import Address
from runtime.channel import Channel, ChannelClosed
from runtime.clips import Live
from runtime.conversing import EarService, ReplyService
from runtime.exemplars import gallery_of
from runtime.gallery import usable
from runtime.hear import SAMPLE_RATE_HZ
from runtime.own_speech import OwnSpeech
from runtime.question_ear import QuestionEar, Spoken
from runtime.serving import Serving
from runtime.supervisor import Service
from runtime.voice import Loudspeaker, Voice
from runtime.workers import Worker

_WORKERS = ("ear", "reply", "synthesis", "loudspeaker")


@dataclass(frozen=True)
class Talking:
    """The services that hear questions and say answers, as rows of the daemon's table."""

    ear: EarService
    reply: ReplyService
    voice: Voice
    sound: Channel[AudioBlock]

    def table(self, fatal: tuple[type[Exception], ...]) -> list[Service]:
        """What runs."""
        return [Service("ear", self.ear.run, fatal), Service("reply", self.reply.run, fatal)]

    async def stop(self) -> None:
        """Fall silent, and end both."""
        self.voice.stop()
        await self.sound.close()

    def state(self) -> dict[str, Any]:
        """For the API."""
        return {
            "speaking": self.voice.speaking,
            "interrupted": self.ear.interrupted,
            "dropped": self.sound.dropped,
            **self.reply.counts,
        }


def build_talking(
    parts: compose.Parts,
    live: Live,
    hearing: compose_hearing.Ears,
    serving: Serving,
    answer_worker: Worker,
    loudspeaker: Callable[[OwnSpeech], Loudspeaker],
    own: OwnSpeech,
    stack: ExitStack,
) -> Talking:
    """Everything but the models of hearing, which are shared. Raises ModelError where there is no voice."""
    settings = parts.settings.voice
    workers = {name: Worker(name) for name in _WORKERS}
    for worker in workers.values():
        stack.callback(worker.close)
    voice = Voice(
        compose_hearing.synthesizers(parts),
        loudspeaker(own),
        synthesis=workers["synthesis"],
        playing=workers["loudspeaker"],
        clock=live.media_s,
    )
    sound: Channel[AudioBlock] = Channel("overheard", 100, lambda block: True)
    speech: Channel[Spoken] = Channel("spoken", 2)
    ear = QuestionEar(
        hearing.activity.stream(),
        end_silence_s=settings.end_silence_s,
        longest_s=settings.longest_question_s,
    )
    rule = compose.match_rule(parts.entry("voice_embedding"))

    def transcribe(samples: NDArray[np.float32]) -> Transcript:
        return hearing.recognizer.transcribe(samples, [Span(0.0, samples.size / SAMPLE_RATE_HZ)])[0]

    def who(vector: NDArray[np.float32]) -> int | None:
        gallery = gallery_of(serving.store, "voice")
        match = gallery.decide(gallery.scores(vector[np.newaxis]), rule)
        known = match.verdict == "known" and match.node_id is not None
        return serving.store.owner_of(match.node_id) if known and match.node_id is not None else None

    async def asker_of(samples: NDArray[np.float32]) -> int | None:
        vector = await workers["reply"].call(hearing.embedder.embed, samples)
        return await answer_worker.call(who, vector) if usable(vector) else None

    reply = ReplyService(
        speech,
        transcribe,
        asker_of,
        serving.answering,
        voice,
        settings,
        address=Address((parts.settings.robot.name, *settings.also_called), _pronounced),
        worker=workers["reply"],
        clock=live.media_s,
    )
    if serving.api is not None:
        serving.api.on_listen = reply.listen
    live.overhear(_into(sound, asyncio.get_running_loop()))
    return Talking(
        EarService(sound, speech, ear, own, voice, workers["ear"], live.media_s), reply, voice, sound
    )


def _pronounced(texts: Sequence[str]) -> Sequence[str]:
    return phonemizer()(texts, "en-us") if texts else []


def _into(sound: Channel[AudioBlock], loop: asyncio.AbstractEventLoop) -> Callable[[AudioBlock], None]:
    """Puts blocks into the channel from another thread; after its end they are left."""

    async def put(block: AudioBlock) -> None:
        try:
            await sound.put(block)
        except ChannelClosed:
            return

    def take(block: AudioBlock) -> None:
        asyncio.run_coroutine_threadsafe(put(block), loop)

    return take
