"""How loud a stretch of sound is over time, and how far speech stands above the noise around it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.waveform import SAMPLE_RATE_HZ

STEP_S = 0.02
RUMBLE_HZ = 300.0  # below lies most of the power of household noise, and little that a voice is known by
_FLOOR = 1e-10  # power of what counts as silence, -100 dB
_QUIETEST = 0.1  # share of an utterance's frames that lie in its pauses
_AROUND_S = 2.0  # how far from an utterance its noise is looked for
_GUARD_S = 0.15  # kept away from any speech


@dataclass(frozen=True, eq=False)
class Loudness:
    """Mean power above RUMBLE_HZ every 20 ms, shape (frames,), of sound that starts at `start_s`."""

    start_s: float
    power: NDArray[np.float32]

    def decibels(self, start_s: float, end_s: float) -> float:
        """Level of the part of the span that was heard; -100 where none was."""
        first = max(0, round((start_s - self.start_s) / STEP_S))
        last = max(first, round((end_s - self.start_s) / STEP_S))
        part = self.power[first:last]
        return float(10 * np.log10(max(_FLOOR, float(part.mean())))) if part.size else -100.0


def loudness(samples: NDArray[np.float32], start_s: float = 0.0) -> Loudness:
    """The loudness of sound (n,); what is left of a last frame is not counted."""
    frame = round(STEP_S * SAMPLE_RATE_HZ)
    if len(samples) < frame:
        return Loudness(start_s, np.zeros(0, dtype=np.float32))
    size = int(2 ** np.ceil(np.log2(len(samples))))
    spectrum = np.fft.rfft(samples, size)
    spectrum[np.fft.rfftfreq(size, 1 / SAMPLE_RATE_HZ) < RUMBLE_HZ] = 0
    above = np.fft.irfft(spectrum, size)[: len(samples)]
    whole = above[: len(samples) // frame * frame].reshape(-1, frame)
    return Loudness(start_s, np.asarray((whole.astype(np.float64) ** 2).mean(axis=1), dtype=np.float32))


def speech_snr_db(
    sound: Loudness, start_s: float, end_s: float, speech: list[tuple[float, float]]
) -> float | None:
    """Signal-to-noise ratio of the speech from `start_s` to `end_s`, in dB from -10 to 60; None where unheard.

    The noise is the louder of two guesses: the mean power in the gaps between all stretches of `speech` nearby,
    which bursts count in, and that of the utterance's own quietest frames.
    """
    times = sound.start_s + (np.arange(sound.power.size) + 0.5) * STEP_S
    inside = (times >= start_s) & (times < end_s)
    if not inside.any():
        return None
    gap = (times >= start_s - _AROUND_S) & (times < end_s + _AROUND_S)
    for begin, end in speech:
        gap &= (times < begin - _GUARD_S) | (times >= end + _GUARD_S)
    own = sound.power[inside]
    noise = float(np.quantile(own, _QUIETEST))
    if int(gap.sum()) * STEP_S >= 0.1:
        noise = max(noise, float(sound.power[gap].mean()))
    noise = max(noise, _FLOOR)
    signal = max(float(own.mean()) - noise, _FLOOR)
    return float(np.clip(10 * np.log10(signal / noise), -10.0, 60.0))
