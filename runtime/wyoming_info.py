"""How the robot describes itself to Wyoming peers: which speech recognition, voices and answers it offers."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from wyoming.info import (
    AsrModel,
    AsrProgram,
    Attribution,
    HandleModel,
    HandleProgram,
    Info,
    TtsProgram,
    TtsVoice,
)

from runtime.compose import Parts


def wyoming_info(parts: Parts) -> Info:
    """How the robot describes itself to its peers."""
    models, name = parts.settings.models, parts.settings.robot.name
    recognition = parts.entry("speech_recognition", models.speech_recognition)
    synthesis = parts.entry("speech_synthesis")
    languages = list(models.speech_languages)
    about: dict[str, Any] = {"installed": True, "version": version("hearsight")}
    here: dict[str, Any] = {"attribution": Attribution(name="Hearsight", url=""), **about}

    def made_by(publisher: str) -> dict[str, Any]:
        return {"attribution": Attribution(name=publisher, url=publisher), **about}

    heard = AsrModel(recognition.id, description=None, languages=languages, **made_by(recognition.publisher))
    voices = [
        TtsVoice(synthesis.id, description=None, languages=["en"], **made_by(synthesis.publisher)),
        *(
            TtsVoice(f"espeak-ng-{language}", description=None, languages=[language], **here)
            for language in languages
            if language != "en"
        ),
    ]
    memory = HandleModel(
        "memory", description="answers from what was seen and heard", languages=["en", "zh"], **here
    )
    return Info(
        asr=[AsrProgram(name, description="speech recognition", models=[heard], **here)],
        tts=[TtsProgram(name, description="speech synthesis", voices=voices, **here)],
        handle=[HandleProgram(name, description="the robot's memory", models=[memory], **here)],
    )
