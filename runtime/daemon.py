"""The daemon: the table of services for one source, run to the source's end or until told to stop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from drivers.media import Frame
from drivers.speaker import Speaker
from memory_store.store import MemoryStore
from models.language_process import LanguageProcess
from models.text import TextEmbedder
from models.yielding_language import YieldingLanguage
from runtime import compose, compose_hearing, compose_speech
from runtime.capture import Capture, FrameItem, Pace, SoundItem
from runtime.channel import Channel
from runtime.clips import Live, Source, boot_id
from runtime.clock import Clock
from runtime.clock_steps import ClockSteps
from runtime.compose_objects import object_memory
from runtime.conversing import SpokenTurn
from runtime.describe import Describer
from runtime.describe_service import DescribedClip, DescribeService
from runtime.facts import NEVER_THE_SAME
from runtime.media_files import MediaFiles
from runtime.memorize import MemorizedClip, Memorizer
from runtime.memorize_service import MemorizeService
from runtime.own_speech import OwnSpeech
from runtime.perceive import HeardClip, HearService, SeenClip, SeeService
from runtime.pipeline import Pipeline, Report
from runtime.serving import Serving, build_serving
from runtime.stop_signals import stop_on_signals
from runtime.supervisor import Supervisor
from runtime.talking import Talking, build_talking
from runtime.voice import Loudspeaker
from runtime.workers import Worker

# Forgetting rewrites the whole file, and verifying reads the text index: a large memory is locked for that long.
_PATIENCE_S = 120.0


@dataclass(frozen=True)
class Listeners:
    """Who is told what happens: each written clip, each described one, how far the source was read, what was asked."""

    on_clip: Callable[[MemorizedClip], None] = lambda clip: None
    on_described: Callable[[DescribedClip], None] = lambda clip: None
    on_progress: Callable[[float], None] = lambda media_s: None
    on_turn: Callable[[SpokenTurn], None] = lambda turn: None


class Daemon:
    """Capture, see, hear, memorize and, with a language model, describe: one source, one memory."""

    def __init__(
        self,
        parts: compose.Parts,
        source: Source,
        pace: Pace,
        clock: Clock,
        listeners: Listeners,
        *,
        loudspeaker: Callable[[OwnSpeech], Loudspeaker] | None = None,
    ) -> None:
        """loudspeaker: makes what is spoken with, which tells OwnSpeech what it plays; else the configured device."""
        self._parts = parts
        self._source = source
        self._pace = pace
        self._clock = clock
        self._listeners = listeners
        self._loudspeaker = loudspeaker or self._configured_loudspeaker

    def _configured_loudspeaker(self, own: OwnSpeech) -> Loudspeaker:
        assert isinstance(self._source, Live)
        return Speaker(self._parts.settings.voice.loudspeaker, on_play=own.played, clock=self._source.media_s)

    async def run(self) -> Report:
        """Run until the source ends or the process is told to stop; what was captured until then is written."""
        with ExitStack() as stack:
            stack.enter_context(stop_on_signals(self._source.stop))
            talks = self._is_live and self._parts.settings.voice.enabled
            workers = {name: Worker(name) for name in ("capture", "store", "language", "answer")}
            workers |= {name: Worker(name, background=talks) for name in ("see", "hear")}
            for worker in workers.values():
                stack.callback(worker.close)
            store = await workers["store"].call(compose.open_store, self._parts, busy_timeout_s=_PATIENCE_S)
            stack.callback(store.close)
            pipeline = await self._build(store, workers, stack)
            supervisor = Supervisor(pipeline.table(), self._parts.settings.supervisor, self._clock)
            started_s = self._clock.monotonic_s()
            await supervisor.run()
            return pipeline.report(self._clock.monotonic_s() - started_s, supervisor.restarts)

    async def _build(self, store: MemoryStore, workers: dict[str, Worker], stack: ExitStack) -> Pipeline:
        frames: Channel[FrameItem] = Channel("frames", 32, _is_frame if self._is_live else None)
        sound: Channel[SoundItem] = Channel("sound", 1200)
        seen: Channel[SeenClip] = Channel("seen", 2)
        heard: Channel[HeardClip] = Channel("heard", 2)
        embedder = await workers["store"].call(compose.text_embedder, self._parts)
        watcher = await workers["see"].call(compose.watcher, self._parts)
        # Not on the thread "hear", whose low priority the recogniser's own threads would take on.
        hearing, own = await workers["store"].call(compose_hearing.ears, self._parts), OwnSpeech()
        listener = compose_hearing.listener(self._parts, hearing, own)
        language = self._language(stack)
        serving, talking = await self._answering(language, embedder, hearing, own, workers, stack)
        describe = self._describe(store, workers, embedder, language, serving)
        memorizer = self._memorizer(store, embedder, describes=describe is not None)
        memorize = MemorizeService(seen, heard, memorizer, workers["store"], self._on_clip(describe))
        capture = self._capture(frames, sound, store, workers, memorize, describe)
        see = SeeService(frames, seen, watcher, workers["see"])
        hear = HearService(sound, heard, listener, workers["hear"])
        providers = {**watcher.providers, **listener.providers, "text_embedding": embedder.provider}
        return Pipeline(capture, see, hear, memorize, describe, serving, talking, (frames, sound), providers)

    @property
    def _is_live(self) -> bool:
        return self._source.duration_s is None

    async def _answering(
        self,
        language: LanguageProcess | None,
        embedder: TextEmbedder,
        hearing: compose_hearing.Ears,
        own: OwnSpeech,
        workers: dict[str, Worker],
        stack: ExitStack,
    ) -> tuple[Serving | None, Talking | None]:
        """What answers questions, and what does so aloud: live, as far as they are switched on."""
        settings, speech = self._parts.settings, None
        if not self._is_live:
            return None, None
        if settings.voice.enabled or settings.wyoming.enabled:
            engines = (hearing.recognizer, hearing.embedder)
            speech = await workers["store"].call(compose_speech.own_engines, self._parts, *engines)
        if not settings.api.enabled and speech is None:
            return None, None
        serving = await build_serving(
            self._parts, language, embedder, workers["answer"], stack, speech=speech
        )
        if speech is None or not isinstance(self._source, Live) or not settings.voice.enabled:
            return serving, None
        return serving, build_talking(
            self._parts, self._source, hearing.activity, speech, serving, workers["answer"],
            self._loudspeaker, own, stack, self._listeners.on_turn,
        )  # fmt: skip

    def _memorizer(self, store: MemoryStore, embedder: TextEmbedder, *, describes: bool) -> Memorizer:
        settings = self._parts.settings
        return Memorizer(
            store,
            compose.identifier(self._parts, store),
            MediaFiles(settings.data_dir),
            embedder.embed_passage,
            place=settings.robot.place,
            boot_id=boot_id(),
            describes=describes,
            keeps_sound=describes and self._parts.language_has_senses,
            tentative=compose.tentative_people(self._parts, store),
            clock_steps=ClockSteps(store, self._clock, boot_id()) if self._is_live else None,
            facts=compose.fact_learner(self._parts, store, embedder),
            objects=object_memory(self._parts, store),
        )

    def _capture(
        self,
        frames: Channel[FrameItem],
        sound: Channel[SoundItem],
        store: MemoryStore,
        workers: dict[str, Worker],
        memorize: MemorizeService,
        describe: DescribeService | None,
    ) -> Capture:
        async def known(key: str) -> bool:
            return await workers["store"].call(store.find_clip, key) is not None

        async def ready(index: int) -> None:
            """As fast as possible must not mean perceiving and generating on the same cores at once."""
            if describe is not None and self._pace.speed is None and not self._is_live:
                await memorize.until_written(index - capture.skipped_clips)
                await describe.until_idle()

        settings = self._parts.settings
        capture = Capture(
            self._source,
            frames,
            sound,
            clip_s=settings.clip.length_s,
            carry_s=settings.clip.carry_speech_s,
            pace=self._pace,
            clock=self._clock,
            worker=workers["capture"],
            known=known,
            ready=ready,
            progress=self._listeners.on_progress,
        )
        return capture

    def _language(self, stack: ExitStack) -> LanguageProcess | None:
        language = compose.language_model(self._parts)
        if language is not None:
            stack.callback(language.close)
        return language

    def _describe(
        self,
        store: MemoryStore,
        workers: dict[str, Worker],
        embedder: TextEmbedder,
        language: LanguageProcess | None,
        serving: Serving | None,
    ) -> DescribeService | None:
        settings = self._parts.settings
        if language is None or not settings.memorize.language_model:
            return None
        senses = self._parts.language_has_senses
        return DescribeService(
            store,
            workers["store"],
            Describer(
                YieldingLanguage(language), sees=senses, hears=senses, max_tokens=settings.memorize.max_tokens
            ),
            workers["language"],
            MediaFiles(settings.data_dir),
            embedder.embed_passage,
            same_fact=self._parts.text_entry.thresholds["same_fact"],
            same_event=self._parts.text_entry.thresholds.get("same_event", NEVER_THE_SAME),
            facts=compose.fact_learner(self._parts, store, embedder),
            with_media=senses,
            on_described=self._listeners.on_described,
            until_free=None if serving is None else serving.answering.until_free,
        )

    def _on_clip(self, describe: DescribeService | None) -> Callable[[MemorizedClip], None]:
        def told(clip: MemorizedClip) -> None:
            if describe is not None:
                describe.clip_written()
            self._listeners.on_clip(clip)

        return told


def _is_frame(item: FrameItem) -> bool:
    return isinstance(item, Frame)
