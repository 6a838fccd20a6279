"""The power of sound in mel bands over time: what two recordings of one sound still share after a room."""

import numpy as np
from numpy.typing import NDArray

from models.waveform import SAMPLE_RATE_HZ

HOP_S = 0.01
BANDS = 28
_WINDOW = 400
_HOP = 160
_FFT = 512
_LOWEST_HZ, _HIGHEST_HZ = 150.0, 6000.0  # below lies rumble, above what small loudspeakers and rooms lose


def mel_power(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Power (frames, 28), 25 ms windows every 10 ms, of sound (n,) at 16 kHz; none for less than one window."""
    if len(samples) < _WINDOW:
        return np.zeros((0, BANDS), dtype=np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(samples, _WINDOW)[::_HOP]
    spectrum = np.abs(np.fft.rfft(windows * np.hanning(_WINDOW), _FFT, axis=1)) ** 2
    return np.asarray(spectrum @ _FILTERS.T, dtype=np.float32)


def _filters() -> NDArray[np.float64]:
    """Triangles evenly spaced in mel, each of sum 1, shape (bands, bins)."""

    def mel(hertz: float) -> float:
        return float(2595 * np.log10(1 + hertz / 700))

    points = 700 * (10 ** (np.linspace(mel(_LOWEST_HZ), mel(_HIGHEST_HZ), BANDS + 2) / 2595) - 1)
    bins = np.fft.rfftfreq(_FFT, 1 / SAMPLE_RATE_HZ)
    low, middle, high = points[:-2, np.newaxis], points[1:-1, np.newaxis], points[2:, np.newaxis]
    triangles = np.clip(np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle)), 0, None)
    return np.asarray(triangles / triangles.sum(axis=1, keepdims=True), dtype=np.float64)


_FILTERS = _filters()
