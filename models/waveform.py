"""What every speech model here is handed: 16 kHz mono float32 samples in [-1, 1], checked once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError

SAMPLE_RATE_HZ = 16_000
_LOUDEST = 4.0
_FULL_SCALE = 0.999
_CLIPPED = 0.01  # the share of samples at full scale that a voice may have

Samples = NDArray[np.float32]


def check_samples(samples: NDArray[Any]) -> Samples:
    """float32 samples of shape (n,), n may be 0; overshoot of a decoder or resampler is clipped to [-1, 1].

    Raises ModelError for another shape, for integers, for values that are not finite, and for a scale that is
    plainly not [-1, 1].
    """
    if samples.ndim != 1:
        raise ModelError(f"audio has shape {samples.shape}; give one channel, shape (n,)")
    if not np.issubdtype(samples.dtype, np.floating):
        raise ModelError(f"audio has type {samples.dtype}; give floats in [-1, 1], at 16 kHz")
    checked: Samples = np.ascontiguousarray(samples, dtype=np.float32)
    if not checked.size:
        return checked
    loudest = float(np.max(np.abs(checked)))
    if not np.isfinite(loudest):
        bad = int(np.count_nonzero(~np.isfinite(checked)))
        raise ModelError(f"audio has {bad} samples that are not finite; the microphone or file is damaged")
    if loudest > _LOUDEST:
        raise ModelError(f"audio reaches {loudest:g}; give samples in [-1, 1]")
    return np.clip(checked, -1.0, 1.0) if loudest > 1.0 else checked


def is_clipped(samples: Samples) -> bool:
    """Whether sound (n,) is overdriven: a voice in it is no longer like itself."""
    return bool(samples.size) and float((np.abs(samples) >= _FULL_SCALE).mean()) > _CLIPPED


def cut(samples: Samples, start_s: float, end_s: float) -> Samples:
    """The samples between two times; times outside the recording are moved to its ends."""
    start = max(0, round(start_s * SAMPLE_RATE_HZ))
    return samples[start : max(start, round(end_s * SAMPLE_RATE_HZ))]
