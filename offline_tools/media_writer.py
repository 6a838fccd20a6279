"""Pictures and sound written as an MP4 (H.264 and AAC) through PyAV, the same bytes for the same input."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

_ENCODERS = ("libopenh264", "libx264", "mpeg4")


def write_mp4(
    path: Path,
    pictures: Iterator[NDArray[np.uint8]],
    rate_hz: int,
    samples: NDArray[np.float32] | None,
    sample_rate_hz: int,
) -> None:
    """Write BGR `pictures` at `rate_hz`, and mono `samples` where given, to `path` by way of a .part file."""
    part = path.with_name(f"{path.name}.part")
    with av.open(
        str(part), "w", format="mp4", options={"movflags": "faststart", "fflags": "+bitexact"}
    ) as container:
        video: Any = None
        audio: Any = None
        if samples is not None:
            audio = container.add_stream("aac", rate=sample_rate_hz, layout="mono")
            audio.bit_rate = 64_000
        sound = _audio_frames(samples, sample_rate_hz) if samples is not None else iter(())
        heard_s = 0.0
        for number, picture in enumerate(pictures):
            if video is None:
                video = video_stream(container, picture.shape[1], picture.shape[0], rate_hz)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="bgr24")
            frame.pts = number
            container.mux(video.encode(frame.reformat(format="yuv420p")))
            while heard_s < (number + 1) / rate_hz and (block := next(sound, None)) is not None:
                heard_s += block.samples / sample_rate_hz
                container.mux(audio.encode(block))
        for stream in (video, audio):
            if stream is not None:
                container.mux(stream.encode(None))
    part.replace(path)


def video_stream(container: Any, width: int, height: int, rate_hz: int) -> Any:
    """A new H.264 stream of a container, with the first encoder there is."""
    name = next(name for name in _ENCODERS if name in av.codecs_available)
    stream = container.add_stream(name, rate=rate_hz)
    stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
    stream.bit_rate = 900_000
    stream.codec_context.thread_count = 1
    stream.codec_context.gop_size = 2 * rate_hz
    return stream


def _audio_frames(samples: NDArray[np.float32], rate_hz: int) -> Iterator[av.AudioFrame]:
    for start in range(0, samples.size, 1024):
        piece = np.ascontiguousarray(samples[start : start + 1024]).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(piece, format="fltp", layout="mono")
        frame.sample_rate, frame.pts = rate_hz, start
        yield frame
