"""Speech from text: a Piper voice (VITS, Kim et al. 2021) through onnxruntime.

Phonemes come from models/phonemes.py; playing the sound is left to others.
"""

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from models.errors import ModelError
from models.phonemes import Phonemizer, phonemizer
from models.sessions import open_session

MODEL_FILE = "en_US-joe-medium.onnx"
_SEED = 1
_PAUSE_S = 0.25  # after a sentence
_LONGEST_CLAUSE = 240  # characters
_CLAUSE_END = re.compile(r"(?<=[,;:.!?])\s+|\n+")
_SENTENCE_MARKS = ".!?"
_MARKS = ",;:.!?"
_LANGUAGE_SWITCH = re.compile(r"\([a-z-]+\)")
_READABLE = re.compile(r"[A-Za-z0-9]")
_START, _END, _BETWEEN = "^", "$", "_"


@dataclass(frozen=True)
class _Voice:
    """What the voice's JSON file says."""

    sample_rate_hz: int
    espeak_voice: str
    scales: tuple[float, float, float]  # noise, length, noise of the durations
    ids: dict[str, list[int]]


class SpeechSynthesizer:
    """A Piper voice of one speaker; the default one (joe) speaks American English only."""

    def __init__(self, directory: Path, *, phonemes: Phonemizer | None = None, threads: int = 1) -> None:
        onnxruntime.set_seed(
            _SEED
        )  # taken by sessions opened from now on: the same text always sounds the same
        self._session = open_session(directory / MODEL_FILE, threads=threads)
        self._voice = _read_voice(directory / f"{MODEL_FILE}.json")
        self._phonemes = phonemes or phonemizer()

    def synthesize(self, text: str) -> tuple[NDArray[np.float32], int]:
        """Samples, float32 (n,) in [-1, 1], and their rate in Hz (22,050 for joe).

        Raises ModelError for a text without a Latin letter or digit, and where espeak-ng cannot be run.
        """
        if _READABLE.search(text) is None:
            raise ModelError(
                f"nothing in {text[:40]!r} can be spoken by {MODEL_FILE}: it has no letter or digit"
            )
        clauses = [part for clause in _CLAUSE_END.split(text) for part in _short(clause)]
        clauses = [clause for clause in clauses if _READABLE.search(clause)]
        phonemes = self._phonemes(clauses, self._voice.espeak_voice)
        pause = np.zeros(round(_PAUSE_S * self._voice.sample_rate_hz), dtype=np.float32)
        parts: list[NDArray[np.float32]] = []
        for sentence in _sentences(zip(clauses, phonemes, strict=True)):
            parts += [self._speak(sentence), pause]
        return np.concatenate(parts[:-1]), self._voice.sample_rate_hz

    def _speak(self, phonemes: str) -> NDArray[np.float32]:
        ids = self._ids(phonemes)
        outputs = self._session.run(
            {
                "input": np.array([ids], dtype=np.int64),
                "input_lengths": np.array([len(ids)], dtype=np.int64),
                "scales": np.array(self._voice.scales, dtype=np.float32),
            }
        )
        samples = outputs[self._session.output_names[0]].reshape(-1)
        return np.clip(samples, -1.0, 1.0).astype(np.float32)

    def _ids(self, phonemes: str) -> list[int]:
        """Each phoneme followed by a blank; what the voice never learned is left out."""
        known = self._voice.ids
        ids = [*known[_START], *known[_BETWEEN]]
        for phoneme in unicodedata.normalize("NFD", _LANGUAGE_SWITCH.sub("", phonemes)):
            if phoneme in known:
                ids += [*known[phoneme], *known[_BETWEEN]]
        return [*ids, *known[_END]]


def _read_voice(path: Path) -> _Voice:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        inference = found["inference"]
        voice = _Voice(
            sample_rate_hz=int(found["audio"]["sample_rate"]),
            espeak_voice=str(found["espeak"]["voice"]),
            scales=(
                float(inference["noise_scale"]),
                float(inference["length_scale"]),
                float(inference["noise_w"]),
            ),
            ids=dict(found["phoneme_id_map"]),
        )
    except FileNotFoundError as error:
        raise ModelError(f"model file {path} is missing; run `hearsight models fetch`") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is no Piper voice: {error!r}; fetch it again") from error
    lacking = [mark for mark in (_START, _END, _BETWEEN) if mark not in voice.ids]
    if lacking:
        raise ModelError(f"{path} is no Piper voice: phoneme_id_map lacks {lacking}; fetch it again")
    return voice


def _short(clause: str) -> list[str]:
    """The clause in parts of at most 240 characters, cut between words."""
    parts: list[str] = []
    for word in clause.split():
        if parts and len(parts[-1]) + len(word) < _LONGEST_CLAUSE:
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts


def _sentences(clauses: Iterable[tuple[str, str]]) -> list[str]:
    """Phonemes of whole sentences, each clause with the mark it ended with."""
    sentences: list[str] = [""]
    for clause, phonemes in clauses:
        mark = clause[-1] if clause[-1] in _MARKS else ""
        sentences[-1] += f"{' ' if sentences[-1] else ''}{phonemes.strip()}{mark}"
        if (mark and mark in _SENTENCE_MARKS) or len(sentences[-1]) > 2 * _LONGEST_CLAUSE:
            sentences.append("")
    return [sentence for sentence in sentences if sentence]
