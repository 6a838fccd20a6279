"""A recording as pictures at an even rate and one piece of sound, and written again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drivers.media import AudioBlock, Frame
from drivers.replay import Replay
from offline_tools.media_writer import write_mp4

RATE_HZ = 10
SAMPLE_RATE_HZ = 16000

Picture = NDArray[np.uint8]
Samples = NDArray[np.float32]


def pictures(path: Path) -> Iterator[Picture]:
    """BGR pictures (h, w, 3) with even sides, RATE_HZ of them a second from 0 on; a hole repeats the one before it.

    Raises DriverError for a file that is no video.
    """
    written, last = 0, None
    for item in Replay(path, frame_rate_hz=RATE_HZ).items():
        if not isinstance(item, Frame):
            continue
        image = item.image[: item.image.shape[0] // 2 * 2, : item.image.shape[1] // 2 * 2]
        tick = int(item.time_s * RATE_HZ + 1e-6)
        while written < tick:
            yield image if last is None else last
            written += 1
        if written == tick:
            yield image
            written += 1
        last = image


def sound(path: Path) -> Samples | None:
    """The whole sound from 0 on, mono at SAMPLE_RATE_HZ, lost stretches silent; None where there is none."""
    replay = Replay(path, frame_rate_hz=RATE_HZ, sample_rate_hz=SAMPLE_RATE_HZ)
    if not replay.info.has_audio:
        return None
    blocks = [item for item in replay.items() if isinstance(item, AudioBlock)]
    ends = [round(block.time_s * SAMPLE_RATE_HZ) + block.samples.size for block in blocks]
    samples = np.zeros(max(ends, default=0), np.float32)
    for block, end in zip(blocks, ends, strict=True):
        samples[end - block.samples.size : end] = block.samples
    return samples


def write(path: Path, shown: Iterator[Picture], heard: Samples | None) -> None:
    """Write both as MP4 by way of a .part file. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_mp4(path, shown, RATE_HZ, heard, SAMPLE_RATE_HZ)
