"""Conversations composed of read speech: who speaks when is known, some interrupt, the room may answer."""

from __future__ import annotations

import wave
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.voices import VoiceActivity
from offline_tools.bench.diarization_error import FRAME_S, Speaking
from offline_tools.bench.report import media
from offline_tools.bench.spoiled_sound import SAMPLE_RATE_HZ, Sound, in_room, read_sound

LENGTH_S = 30.0
SPEAKERS = 3
TURN_S = (1.0, 4.0)
PAUSE_S = (0.0, 0.8)
INTERRUPTION_S = (0.0, 1.0)
INTERRUPTED = 0.3  # share of turns that begin before the last one has ended
LEVEL_DB = (-6.0, 0.0)
LOUDNESS = 0.05  # root mean square of the loudest speaker
HISS = 0.0005


@dataclass(frozen=True, eq=False)
class Conversation:
    """Its sound (n,) at 16 kHz, and who really speaks when."""

    name: str
    samples: Sound
    truth: tuple[Speaking, ...]


def write_wave(conversation: Conversation, directory: Path) -> Path:
    """The conversation as a 16-bit file in the directory."""
    path = directory / f"{conversation.name.replace(' ', '_')}.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE_HZ)
        file.writeframes((conversation.samples * 32767).astype("<i2").tobytes())
    return path


def unknown_speakers() -> dict[str, Sound]:
    """The speech of the twelve speakers that no threshold was chosen on."""
    return {path.stem: read_sound(path) for path in sorted(media("speech/strangers").glob("*.flac"))}


def compose(
    seed: int, speech: Mapping[str, Sound], activity: VoiceActivity, *, room: Sound | None = None
) -> Conversation:
    """Half a minute in which three of the speakers take turns, drawn by `seed`; `room`: its response."""
    drawn = np.random.default_rng(seed)
    people = [str(name) for name in drawn.choice(sorted(speech), SPEAKERS, replace=False)]
    sound = drawn.normal(0, HISS, round(LENGTH_S * SAMPLE_RATE_HZ)).astype(np.float32)
    truth: list[Speaking] = []
    begin_s, last = 0.5, ""
    while begin_s < LENGTH_S - TURN_S[0]:
        last = str(drawn.choice([name for name in people if name != last]))
        turn = _turn(speech[last], drawn)
        truth += _spoken(activity, turn, begin_s, last)
        heard = turn if room is None else in_room(turn, room)
        heard = heard * (LOUDNESS * 10 ** (drawn.uniform(*LEVEL_DB) / 20) / max(_rms(heard), 1e-6))
        at = round(begin_s * SAMPLE_RATE_HZ)
        fits = heard[: len(sound) - at]
        sound[at : at + len(fits)] += fits
        interrupts = drawn.random() < INTERRUPTED
        pause_s = -drawn.uniform(*INTERRUPTION_S) if interrupts else drawn.uniform(*PAUSE_S)
        begin_s += len(turn) / SAMPLE_RATE_HZ + pause_s
    return Conversation(f"conversation {seed}", np.clip(sound, -1, 1), tuple(truth))


def shared(speaking: Sequence[Speaking], length_s: float) -> NDArray[np.bool_]:
    """Whether more than one speaks, every FRAME_S."""
    counts = np.zeros(round(length_s / FRAME_S), dtype=np.int64)
    for one in speaking:
        counts[round(one.start_s / FRAME_S) : round(one.end_s / FRAME_S)] += 1
    return np.asarray(counts > 1)


def _turn(speech: Sound, drawn: np.random.Generator) -> Sound:
    length = min(len(speech), round(drawn.uniform(*TURN_S) * SAMPLE_RATE_HZ))
    first = int(drawn.integers(0, len(speech) - length + 1))
    return speech[first : first + length]


def _spoken(activity: VoiceActivity, turn: Sound, begin_s: float, who: str) -> list[Speaking]:
    return [
        Speaking(begin_s + span.start_s, min(LENGTH_S, begin_s + span.end_s), who)
        for span in activity.spans(turn)
        if begin_s + span.start_s < LENGTH_S
    ]


def _rms(sound: Sound) -> float:
    return float(np.sqrt(np.mean(np.square(sound, dtype=np.float64))))
