"""What recognises questions and speaks answers, our own and elsewhere: the part of the composition root for talking."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory_store.store import MemoryStore
from models.espeak_voice import EspeakVoice
from models.speech import SpeechRecognizer, Transcript
from models.synthesis import SpeechSynthesizer
from models.voices import Span, VoiceEmbedder
from models.wake_words import PHRASES, WakeWordDetector
from runtime.answering import AnsweringService
from runtime.asker import AskerByVoice
from runtime.compose import Parts, match_rule
from runtime.config_talking import peer_of
from runtime.hear import SAMPLE_RATE_HZ
from runtime.stand_in import WithStandIn
from runtime.voice import Sound, Synthesize, voice_for
from runtime.workers import Worker
from runtime.wyoming_connection import Offers
from runtime.wyoming_engines import WyomingRecognizer, WyomingVoice
from runtime.wyoming_info import wyoming_info
from runtime.wyoming_wake import WyomingWake

Samples = NDArray[np.float32]


class Elsewhere(Protocol):
    """An engine elsewhere; state: "ok", or what is wrong with it."""

    @property
    def state(self) -> str: ...


@dataclass(frozen=True)
class SpeechEngines:
    """Words of a question (n,), 16 kHz; voices by language; the vector of a voice.

    elsewhere: by name, the engines reached over the Wyoming protocol.
    """

    transcribe: Callable[[Samples], Transcript]
    voices: Mapping[str, Synthesize]
    embed: Callable[[Samples], Samples]
    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict)


def own_engines(parts: Parts, recognizer: SpeechRecognizer, embedder: VoiceEmbedder) -> SpeechEngines:
    """The robot's own: a trained voice, and espeak-ng's for the other languages that residents speak."""

    def transcribe(samples: Samples) -> Transcript:
        return recognizer.transcribe(samples, [Span(0.0, samples.size / SAMPLE_RATE_HZ)])[0]

    trained = SpeechSynthesizer(parts.directory(parts.entry("speech_synthesis")))
    others = [language for language in parts.settings.models.speech_languages if language != "en"]
    voices = {
        "en": trained.synthesize,
        **{language: EspeakVoice(language).synthesize for language in others},
    }
    return SpeechEngines(transcribe, voices, embedder.embed)


def configured_engines(parts: Parts, own: SpeechEngines) -> SpeechEngines:
    """Those that robot.yaml names, with the robot's own in their place while they are gone."""
    settings = parts.settings.voice
    engines = own
    if settings.recognizer is not None:
        elsewhere = WithStandIn(
            f"the recogniser {settings.recognizer}",
            WyomingRecognizer(*peer_of(settings.recognizer)).transcribe,
            own.transcribe,
            time.monotonic,
        )
        engines = replace(engines, transcribe=elsewhere, elsewhere={"recognizer": elsewhere})
    if settings.synthesizer is not None:
        voices = {
            language: WithStandIn(
                f"the voice {settings.synthesizer} ({language})",
                WyomingVoice(*peer_of(settings.synthesizer), language).synthesize,
                speak,
                time.monotonic,
            )
            for language, speak in own.voices.items()
        }
        named = {f"synthesizer {language}": voice for language, voice in voices.items()}
        engines = replace(engines, voices=voices, elsewhere={**engines.elsewhere, **named})
    return engines


def wake_word(parts: Parts) -> WakeWordDetector | WyomingWake | None:
    """What listens for a wake word. Raises ModelError where the package of the robot's own is not installed."""
    chosen = parts.settings.voice.wake
    if chosen is None:
        return None
    return WakeWordDetector(chosen) if chosen in PHRASES else WyomingWake(*peer_of(chosen), time.monotonic)


def offers(
    parts: Parts,
    own: SpeechEngines,
    answering: AnsweringService,
    store: MemoryStore,
    answer_worker: Worker,
    stack: ExitStack,
) -> Offers:
    """What the Wyoming server does: recognising and speaking on threads of its own."""
    hearing, speaking = Worker("wyoming-asr"), Worker("wyoming-tts")
    for worker in (hearing, speaking):
        stack.callback(worker.close)
    rule = match_rule(parts.entry("voice_embedding"))
    asker = AskerByVoice(own.embed, store, rule, hearing=hearing, answering=answer_worker)

    async def transcribe(samples: Samples) -> Transcript:
        return await hearing.call(own.transcribe, samples)

    async def synthesize(text: str, language: str) -> Sound:
        return await speaking.call(voice_for(language, own.voices), text)

    return Offers(wyoming_info(parts), transcribe, asker.of, synthesize, answering)
