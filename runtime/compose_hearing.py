"""What hears and what speaks: the part of the composition root for sound."""

from __future__ import annotations

from dataclasses import dataclass

from models.espeak_voice import EspeakVoice
from models.speech import SpeechRecognizer
from models.synthesis import SpeechSynthesizer
from models.voices import SpeakerTurns, VoiceActivity, VoiceEmbedder
from runtime.compose import Parts
from runtime.hear import Listener
from runtime.own_speech import OwnSpeech
from runtime.voice import Synthesizer


@dataclass(frozen=True)
class Ears:
    """The models of hearing, loaded once for all who hear."""

    activity: VoiceActivity
    turns: SpeakerTurns
    embedder: VoiceEmbedder
    recognizer: SpeechRecognizer


def ears(parts: Parts) -> Ears:
    """Voice activity, speaker turns, voice embedding, speech recognition."""
    models = parts.settings.models
    embedder = VoiceEmbedder(parts.directory(parts.entry("voice_embedding")))
    return Ears(
        VoiceActivity(parts.directory(parts.entry("voice_activity"))),
        SpeakerTurns(parts.directory(parts.entry("speaker_turns")), embedder),
        embedder,
        SpeechRecognizer(
            parts.directory(parts.entry("speech_recognition", models.speech_recognition)),
            languages=models.speech_languages,
        ),
    )


def listener(parts: Parts, hearing: Ears | None = None, own: OwnSpeech | None = None) -> Listener:
    """What hears clip by clip; `own` is what the robot itself says."""
    hearing = hearing or ears(parts)
    return Listener(
        hearing.activity,
        hearing.turns,
        hearing.embedder,
        hearing.recognizer,
        carry_speech_s=parts.settings.clip.carry_speech_s,
        own=own,
    )


def synthesizers(parts: Parts) -> dict[str, Synthesizer]:
    """Voices by language: the trained one, and espeak-ng's for the other languages that residents speak."""
    trained = SpeechSynthesizer(parts.directory(parts.entry("speech_synthesis")))
    others = [language for language in parts.settings.models.speech_languages if language != "en"]
    return {"en": trained, **{language: EspeakVoice(language) for language in others}}
