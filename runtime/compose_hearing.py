"""What hears: the part of the composition root for sound."""

from __future__ import annotations

from dataclasses import dataclass

from models.speech import SpeechRecognizer
from models.voices import SpeakerTurns, VoiceActivity, VoiceEmbedder
from runtime.compose import Parts
from runtime.hear import Listener
from runtime.own_speech import OwnSpeech


@dataclass(frozen=True)
class Ears:
    """The models of hearing, loaded once for all who hear."""

    activity: VoiceActivity
    turns: SpeakerTurns
    embedder: VoiceEmbedder
    recognizer: SpeechRecognizer


def ears(parts: Parts) -> Ears:
    """Voice activity, speaker turns, voice embedding, speech recognition."""
    embedder = voice_embedder(parts)
    return Ears(
        VoiceActivity(parts.directory(parts.entry("voice_activity"))),
        SpeakerTurns(parts.directory(parts.entry("speaker_turns")), embedder),
        embedder,
        speech_recognizer(parts),
    )


def voice_embedder(parts: Parts) -> VoiceEmbedder:
    """What tells voices apart."""
    return VoiceEmbedder(parts.directory(parts.entry("voice_embedding")))


def speech_recognizer(parts: Parts) -> SpeechRecognizer:
    """What knows words; a question does not wait for a clip."""
    settings, models = parts.settings, parts.settings.models
    return SpeechRecognizer(
        parts.directory(parts.entry("speech_recognition", models.speech_recognition)),
        languages=models.speech_languages,
        at_once=1 + settings.voice.enabled + settings.wyoming.enabled,
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
