"""What every driver delivers: frames, audio blocks, facts about a file, and the errors of this package."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


class DriverError(Exception):
    """A device or a recording cannot be used; the message says which, why and what to do."""


class StaleFrame(DriverError):
    """The newest frame is older than the caller allows."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture: `image` is uint8 BGR (h, w, 3), `time_s` counts from the start of its source."""

    time_s: float
    image: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class AudioBlock:
    """Consecutive sound: `samples` is float32 mono (n,) in [-1, 1], the first one heard at `time_s`."""

    time_s: float
    samples: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class MediaInfo:
    """Facts about a recording; `width` and `height` are those of the frames delivered, 0 without video."""

    path: str
    sha256: str
    duration_s: float
    has_video: bool
    has_audio: bool
    width: int
    height: int
    video_rate_hz: float
    recorded_utc_s: float | None
