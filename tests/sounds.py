"""Sounds for tests: recordings at 16 kHz where present, noise, tones, and audio no model should accept."""

import json
from dataclasses import dataclass
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from tests.pictures import media

Samples = NDArray[np.float32]
RATE_HZ = 16_000

BAD_AUDIO: dict[str, NDArray[Any]] = {
    "not a number": np.full(RATE_HZ, np.nan, np.float32),
    "infinite": np.array([0.0, np.inf] * RATE_HZ, np.float32),
    "integers": np.zeros(RATE_HZ, np.int16),
    "two channels": np.zeros((RATE_HZ, 2), np.float32),
    "wrong scale": np.full(RATE_HZ, 3000.0, np.float32),
}


def recording(relative: str) -> Samples:
    """A real recording beside the checkout as float32 mono 16 kHz; the test is skipped where it is absent."""
    resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE_HZ)
    with av.open(str(media(relative))) as container:
        frames = [out for frame in container.decode(audio=0) for out in resampler.resample(frame)]
        frames += resampler.resample(None)
    return np.concatenate([frame.to_ndarray().reshape(-1) for frame in frames]).astype(np.float32)


@dataclass(frozen=True)
class Spoken:
    """A segment of the visitors' recording."""

    start_s: float
    end_s: float
    person: str
    transcript: str


def visitors() -> tuple[Samples, list[Spoken]]:
    """78 s in which 13 people say 26 sentences, and who says which when."""
    truth = json.loads(media("streams/visitors_day1.gt.json").read_text(encoding="utf-8"))
    spoken = [
        Spoken(row["start_s"], row["end_s"], row["person"], row["transcript"]) for row in truth["segments"]
    ]
    return recording("streams/visitors_day1.mp4"), spoken


def noise(duration_s: float, level: float = 0.1) -> Samples:
    drawn = np.random.default_rng(7).standard_normal(round(duration_s * RATE_HZ))
    return np.asarray(level * drawn, dtype=np.float32)


def silence(duration_s: float) -> Samples:
    return np.zeros(round(duration_s * RATE_HZ), dtype=np.float32)


def tone(duration_s: float) -> Samples:
    time_s = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    return np.asarray(0.5 * np.sin(2 * np.pi * 440 * time_s), dtype=np.float32)
