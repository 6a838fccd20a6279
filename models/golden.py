"""Golden cases: prompts whose answers are known, given to a model to see whether it still answers as it must."""

from __future__ import annotations

import difflib
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.bundle_manifest import GoldenCase, GoldenMessage
from models.errors import ModelError
from models.language import LanguageModel, Message

_SOUND_RATE_HZ = 16_000
_INT16_SCALE = 32_768.0


@dataclass(frozen=True)
class GoldenResult:
    """What a model answered to one case, and how far that agrees with the known answer, 0 to 1."""

    id: str
    answer: str
    agreement: float


def ask_golden(
    model: LanguageModel, cases: Sequence[GoldenCase], directory: Path, *, timeout_s: float = 300.0
) -> list[GoldenResult]:
    """Let the model answer every case at temperature 0; `directory` holds the pictures and sounds they name.

    Raises ModelError where the model fails at one, or a file of one cannot be read.
    """
    results = []
    for case in cases:
        try:
            messages = [message_of(message, directory) for message in case.messages]
            answer = model.complete(messages, max_tokens=case.max_tokens, timeout_s=timeout_s).text
        except ModelError as error:
            raise ModelError(f"golden case {case.id}: {error}") from error
        results.append(GoldenResult(case.id, answer, agreement(case.answer, answer)))
    return results


def mean_agreement(results: Sequence[GoldenResult]) -> float:
    """The mean over the cases; 1 where there are none."""
    return sum(one.agreement for one in results) / len(results) if results else 1.0


def agreement(known: str, given: str) -> float:
    """The ratio of Ratcliff and Obershelp over the characters: 1 for the same text, near 0 for another.

    It is no equality, because another processor rounds otherwise, and a word of a good answer may come out different.
    """
    return difflib.SequenceMatcher(None, known.strip(), given.strip(), autojunk=False).ratio()


def message_of(message: GoldenMessage, directory: Path) -> Message:
    """The message as models take it. Raises ModelError where a picture or sound cannot be read."""
    try:
        images = tuple((directory / name).read_bytes() for name in message.images)
    except OSError as error:
        raise ModelError(f"cannot read the picture {error.filename}: {error.strerror}") from error
    return Message(
        message.role, message.content, images, tuple(_sound(directory / name) for name in message.sounds)
    )


def _sound(path: Path) -> NDArray[np.float32]:
    """The samples of a WAV file, float32 in [-1, 1]."""
    try:
        with wave.open(str(path), "rb") as reader:
            shape = (reader.getnchannels(), reader.getsampwidth(), reader.getframerate())
            frames = reader.readframes(reader.getnframes())
    except (OSError, EOFError, wave.Error) as error:
        raise ModelError(f"cannot read the sound {path}: {error}") from error
    if shape != (1, 2, _SOUND_RATE_HZ):
        raise ModelError(f"the sound {path} must be mono, 16 bit, 16 kHz; it has {shape}")
    return np.frombuffer(frames, np.int16).astype(np.float32) / np.float32(_INT16_SCALE)
