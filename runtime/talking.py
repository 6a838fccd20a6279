"""The voice side of a live daemon: builds the services of a spoken conversation and ties them to the microphone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from drivers.media import AudioBlock
from models.faces import FaceEmbedder
from models.phonemes import phonemizer
from models.voices import VoiceActivity
from runtime import compose
from runtime.address import Address
from runtime.asker import AskerByVoice
from runtime.channel import Channel, ChannelClosed
from runtime.clips import Live
from runtime.compose_speech import Elsewhere, SpeechEngines, configured_engines, wake_word
from runtime.conversing import ReplyService, SpokenTurn
from runtime.gaze import Looker, RecentFrames
from runtime.listening import EarService, Wake
from runtime.own_speech import OwnSpeech
from runtime.question_ear import QuestionEar, Spoken
from runtime.serving import Serving
from runtime.supervisor import Service
from runtime.voice import Loudspeaker, Voice
from runtime.warm_up import warm_speech
from runtime.workers import Worker
from runtime.wyoming_wake import WyomingWake

_WORKERS = ("ear", "reply", "synthesis", "loudspeaker")


@dataclass(frozen=True)
class Talking:
    """The services that hear questions and say answers, as rows of the daemon's table."""

    ear: EarService
    reply: ReplyService
    voice: Voice
    sound: Channel[AudioBlock]
    elsewhere: Mapping[str, Elsewhere]
    warm_up: Callable[[], Awaitable[None]]

    def table(self, fatal: tuple[type[Exception], ...]) -> list[Service]:
        """What runs."""
        services = {"warm_ear": self.warm_up, "ear": self.ear.run, "reply": self.reply.run}
        return [Service(name, run, fatal) for name, run in services.items()]

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
            **{name: engine.state for name, engine in self.elsewhere.items()},
        }


def build_talking(
    parts: compose.Parts,
    live: Live,
    activity: VoiceActivity,
    speech: SpeechEngines,
    serving: Serving,
    answer_worker: Worker,
    loudspeaker: Callable[[OwnSpeech], Loudspeaker],
    own: OwnSpeech,
    stack: ExitStack,
    on_turn: Callable[[SpokenTurn], None],
) -> Talking:
    """Everything but the models of hearing, which are shared. Raises ModelError where there is no voice."""
    settings = parts.settings.voice
    engines = configured_engines(parts, speech)
    workers = {name: Worker(name) for name in _WORKERS}
    for worker in workers.values():
        stack.callback(worker.close)
    voice = Voice(
        engines.voices,
        loudspeaker(own),
        synthesis=workers["synthesis"],
        playing=workers["loudspeaker"],
        clock=live.media_s,
    )
    spoken: Channel[Spoken] = Channel("spoken", 4, lambda one: True)
    frames = looker = None
    if "look" in settings.addressed_by:
        frames, looker = RecentFrames(), _looker(parts, serving, workers["reply"], answer_worker)
        live.oversee(frames.see)
    reply = _reply(
        parts, spoken, engines, serving, voice, looker, workers["reply"], answer_worker, live, on_turn
    )
    if serving.api is not None:
        serving.api.on_listen = reply.listen
    wake, elsewhere = wake_word(parts), dict(engines.elsewhere)
    if isinstance(wake, WyomingWake):
        stack.callback(wake.close)
        elsewhere["wake"] = wake
    woken = None if wake is None else Wake(wake.hear, reply.woken)
    sound: Channel[AudioBlock] = Channel("overheard", 100, lambda block: True)
    live.overhear(_into(sound, asyncio.get_running_loop()))
    ear = QuestionEar(
        activity.stream(), end_silence_s=settings.end_silence_s, longest_s=settings.longest_question_s
    )
    listening = EarService(sound, spoken, ear, own, voice, workers["ear"], live.media_s, woken, frames)

    async def warm_up() -> None:
        await workers["reply"].call(warm_speech, speech.transcribe, speech.embed, speech.voices)

    talking = Talking(listening, reply, voice, sound, elsewhere, warm_up)
    serving.states["voice"] = talking.state
    return talking


def _reply(
    parts: compose.Parts,
    spoken: Channel[Spoken],
    engines: SpeechEngines,
    serving: Serving,
    voice: Voice,
    looker: Looker | None,
    worker: Worker,
    answer_worker: Worker,
    live: Live,
    on_turn: Callable[[SpokenTurn], None],
) -> ReplyService:
    settings = parts.settings.voice
    rule = compose.match_rule(parts.entry("voice_embedding"))
    asker = AskerByVoice(engines.embed, serving.store, rule, hearing=worker, answering=answer_worker)
    return ReplyService(
        spoken,
        engines.transcribe,
        asker.of,
        serving.answering,
        voice,
        settings,
        address=Address((parts.settings.robot.name, *settings.also_called), _pronounced),
        named=lambda name: Address((name,), _pronounced),
        looking=None if looker is None else looker.of,
        on_turn=on_turn,
        worker=worker,
        clock=live.media_s,
    )


def _looker(parts: compose.Parts, serving: Serving, seeing: Worker, answer_worker: Worker) -> Looker:
    faces = parts.entry("face_embedding")
    embedder = FaceEmbedder(parts.directory(faces), accelerator=parts.settings.models.accelerator)
    return Looker(
        compose.face_detector(parts),
        embedder,
        compose.face_rule(faces),
        serving.store,
        seeing=seeing,
        answering=answer_worker,
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
