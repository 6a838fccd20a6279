"""Speech as a room and a noise spoil it: convolved with a room response, mixed at a signal-to-noise ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drivers.media import AudioBlock
from drivers.replay import Replay
from offline_tools.bench.report import media

Sound = NDArray[np.float32]
SAMPLE_RATE_HZ = 16000
RUMBLE_HZ = 300.0
FRYING_S = (6.4, 10.0)  # desed_7.txt: nobody speaks there


@dataclass(frozen=True, eq=False)
class Household:
    """What spoils: noises without speech, and room responses that begin with the direct sound."""

    noises: tuple[Sound, ...]
    rooms: tuple[Sound, ...]


@dataclass(frozen=True)
class Condition:
    """How test speech is spoiled; snr_db None: no noise."""

    snr_db: float | None = None
    in_room: bool = False

    @property
    def name(self) -> str:
        noise = "clean" if self.snr_db is None else f"noise {self.snr_db:g} dB"
        return f"{noise}, room" if self.in_room else noise


def read_sound(path: Path) -> Sound:
    """All of a file as mono at 16 kHz."""
    items = Replay(path, sample_rate_hz=SAMPLE_RATE_HZ).items()
    return np.concatenate([item.samples for item in items if isinstance(item, AudioBlock)])


def household_sounds() -> Household:
    """The noises and room responses of the shared media."""
    folder = media("household_audio")
    frying = read_sound(folder / "desed_7.flac")
    first, last = (round(moment * SAMPLE_RATE_HZ) for moment in FRYING_S)
    noises = [*(read_sound(path) for path in sorted(folder.glob("sb_noise*.flac"))), frying[first:last]]
    rooms = [_from_direct_sound(read_sound(path)) for path in sorted(folder.glob("sb_rir*.wav"))]
    return Household(tuple(without_rumble(noise) for noise in noises), tuple(rooms))


def without_rumble(noise: Sound) -> Sound:
    """The noise above RUMBLE_HZ only.

    94 to 99.9 % of the power of these noises lies below, where it hardly touches a voice: a ratio that counts it
    would call 5 dB what a listener calls quiet.
    """
    spectrum = np.fft.rfft(noise)
    spectrum[np.fft.rfftfreq(len(noise), 1 / SAMPLE_RATE_HZ) < RUMBLE_HZ] = 0
    return np.fft.irfft(spectrum, len(noise)).astype(np.float32)


def spoiled(speech: Sound, condition: Condition, household: Household, number: int) -> Sound:
    """The speech under a condition; `number` picks the noise and the room in turn. Shape and loudness are kept."""
    sound = speech
    if condition.in_room:
        sound = in_room(sound, household.rooms[number % len(household.rooms)])
    if condition.snr_db is not None:
        sound = mixed(sound, household.noises[number % len(household.noises)], condition.snr_db)
    peak = float(np.abs(sound).max())
    return sound if peak <= 1.0 else (sound / peak).astype(np.float32)


def in_room(speech: Sound, response: Sound) -> Sound:
    """Speech as heard in the room: same length, same power."""
    size = 1 << (len(speech) + len(response)).bit_length()
    heard = np.fft.irfft(np.fft.rfft(speech, size) * np.fft.rfft(response, size), size)[: len(speech)]
    loud: Sound = (heard * np.sqrt(_power(speech) / max(_power(heard), 1e-12))).astype(np.float32)
    return loud


def mixed(speech: Sound, noise: Sound, snr_db: float) -> Sound:
    """Speech with the noise, repeated as often as needed, at that ratio of powers."""
    long = np.resize(noise, len(speech))
    gain = np.sqrt(_power(speech) / max(_power(long), 1e-12) / 10 ** (snr_db / 10))
    noisy: Sound = (speech + gain * long).astype(np.float32)
    return noisy


def conditions(levels_db: Sequence[float]) -> list[Condition]:
    """Clean, the room alone, and each level of noise without and with the room."""
    return [Condition(snr, room) for snr in (None, *levels_db) for room in (False, True)]


def _from_direct_sound(response: Sound) -> Sound:
    return response[int(np.argmax(np.abs(response))) :]


def _power(sound: NDArray[np.floating]) -> float:
    return float(np.mean(np.square(sound, dtype=np.float64)))
