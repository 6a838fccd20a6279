"""Sound as a WAV file in memory, which every reader of training data and every chat endpoint takes."""

from __future__ import annotations

import io
import wave

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE_HZ = 16000


def wav_bytes(samples: NDArray[np.float32]) -> bytes:
    """Sound, float32 mono 16 kHz in [-1, 1] (n,), as a WAV file with 16 bits."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE_HZ)
        file.writeframes((np.clip(samples, -1.0, 1.0) * 32767).astype("<i2").tobytes())
    return buffer.getvalue()
