"""Mono sound from one sample rate to another, piece by piece, through FFmpeg's resampler."""

import av
import numpy as np
from numpy.typing import NDArray


class Resampler:
    """A stream of float32 mono samples (n,) brought to another rate; a few samples stay inside until flush."""

    def __init__(self, from_rate_hz: int, to_rate_hz: int) -> None:
        self._from_rate_hz = from_rate_hz
        self._resampler = av.AudioResampler(format="flt", layout="mono", rate=to_rate_hz)

    def push(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what is complete after `samples`."""
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="flt", layout="mono")
        frame.sample_rate = self._from_rate_hz
        return self._run(frame)

    def flush(self) -> NDArray[np.float32]:
        """Return the rest; the resampler is finished afterwards."""
        return self._run(None)

    def _run(self, frame: av.AudioFrame | None) -> NDArray[np.float32]:
        pieces = [piece.to_ndarray().reshape(-1) for piece in self._resampler.resample(frame)]
        return np.concatenate([np.zeros(0, np.float32), *pieces]).astype(np.float32)
