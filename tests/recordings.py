"""Small recordings made at test time: pictures that carry their number, and tones."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

SHARED_MEDIA = Path(__file__).resolve().parents[2] / "shared" / "media"


def picture(number: int, width: int = 96, height: int = 64) -> NDArray[np.uint8]:
    """Return a picture whose left half is as bright as its number says (8 levels apart, below 31)."""
    image = np.full((height, width, 3), 20, np.uint8)
    image[:, : width // 2] = 8 * (number % 31)
    return image


def tone(duration_s: float, rate_hz: int = 16000, frequency_hz: float = 440.0) -> NDArray[np.float32]:
    """Return a sine at half scale."""
    times = np.arange(round(duration_s * rate_hz)) / rate_hz
    return (0.5 * np.sin(2 * np.pi * frequency_hz * times)).astype(np.float32)


def write_recording(
    path: Path,
    *,
    picture_times_s: Sequence[float] = (),
    sounds: Sequence[tuple[float, NDArray[np.float32]]] = (),
    rate_hz: int = 16000,
    size: tuple[int, int] = (96, 64),
    rotation: int = 0,
    metadata: dict[str, str] | None = None,
    options: dict[str, str] | None = None,
) -> Path:
    """Write pictures at these times, and mono sounds at theirs; the suffix of `path` chooses the container."""
    video: Any = None
    audio: Any = None
    with av.open(str(path), "w", options=options or {}) as container:
        container.metadata.update(metadata or {})
        if picture_times_s:
            video = container.add_stream("mpeg4", rate=25)
            video.width, video.height, video.pix_fmt = *size, "yuv420p"
            video.bit_rate = 400_000
            video.codec_context.gop_size = 12
            video.codec_context.time_base = Fraction(1, 1000)
            if rotation:
                video.set_display_rotation(rotation)
        if sounds:
            audio = container.add_stream("pcm_s16le" if path.suffix == ".mkv" else "aac", rate=rate_hz)
            audio.layout = "mono"
        for number, time_s in enumerate(picture_times_s):
            frame = av.VideoFrame.from_ndarray(picture(number, *size), format="bgr24").reformat(
                format="yuv420p"
            )
            frame.pts, frame.time_base = round(time_s * 1000), video.codec_context.time_base
            container.mux(video.encode(frame))
        for start_s, samples in sounds:
            for offset in range(0, samples.size, 1024):
                piece = samples[offset : offset + 1024]
                if audio.codec_context.name.startswith("pcm"):
                    data, form = (piece * 32767).astype(np.int16), "s16"
                else:
                    data, form = piece, "fltp"
                block = av.AudioFrame.from_ndarray(data.reshape(1, -1), format=form, layout="mono")
                block.sample_rate, block.pts = rate_hz, round(start_s * rate_hz) + offset
                container.mux(audio.encode(block))
        for stream in (video, audio):
            if stream is not None:
                container.mux(stream.encode(None))
    return path
