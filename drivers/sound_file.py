"""Sound as a FLAC file in memory and back, without loss beyond 16 bits."""

import io

import av
import numpy as np
from numpy.typing import NDArray

from drivers.media import DriverError


def encode_flac(samples: NDArray[np.float32], sample_rate_hz: int) -> bytes:
    """`samples` (n,) mono in [-1, 1] as a FLAC file; louder samples are clipped."""
    buffer = io.BytesIO()
    whole = (np.clip(samples, -1.0, 1.0) * 32767).astype(np.int16)
    with av.open(buffer, mode="w", format="flac") as container:
        stream = container.add_stream("flac", rate=sample_rate_hz, layout="mono")
        frame = av.AudioFrame.from_ndarray(whole[np.newaxis], format="s16", layout="mono")
        frame.sample_rate = sample_rate_hz
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return buffer.getvalue()


def decode_flac(data: bytes) -> tuple[NDArray[np.float32], int]:
    """The samples (n,) in [-1, 1] of a mono FLAC file and their rate. Raises DriverError for damaged data."""
    try:
        with av.open(io.BytesIO(data), mode="r") as container:
            frames = [frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)]
            rate_hz = int(container.streams.audio[0].rate)
    except (av.FFmpegError, IndexError) as error:
        raise DriverError(f"sound data of {len(data)} bytes is no FLAC file: {error}") from error
    if not frames:
        raise DriverError(f"sound data of {len(data)} bytes holds no sound")
    return np.concatenate(frames).astype(np.float32) / np.float32(32768), rate_hz
