"""Records camera and microphone, or takes a file over, as an ordinary MP4 with a sidecar that says who has agreed.

The robot itself keeps no video: of a clip it keeps a few key frames, and its sound only for a model that hears.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import av
import numpy as np

from drivers.media import AudioBlock, Frame
from offline_tools.chatml_media import file_sha256
from offline_tools.errors import OfflineToolError
from offline_tools.media_writer import video_stream
from offline_tools.recordings.video import RATE_HZ, SAMPLE_RATE_HZ, Samples

_AAC_SAMPLES = 1024
_GAP_S = 0.05
_HEAD_S = 3.0


@dataclass(frozen=True)
class Sidecar:
    """FILE.recording.json: which bytes, when they were taken, and who in them has agreed to what."""

    sha256: str
    start_utc_s: float
    duration_s: float
    agreed: tuple[str, ...]
    source: str


def sidecar_path(video: Path) -> Path:
    """Where a recording's sidecar lies."""
    return video.with_name(video.name + ".recording.json")


def record(
    out: Path, items: Iterable[Frame | AudioBlock], *, agreed: Sequence[str], start_utc_s: float, source: str
) -> Sidecar:
    """Write items, in order of time from 0 on, to `out`, and its sidecar last.

    agreed: everybody in it, who has been asked. Raises OfflineToolError where nobody has agreed, nothing came, or the
    file is there already or cannot be written.
    """
    if not agreed:
        raise OfflineToolError(
            "nothing is recorded without consent: name everybody in it with --agreed NAME…"
        )
    if out.exists():
        raise OfflineToolError(f"{out} is there already: name another file")
    part = out.with_name(out.name + ".part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        duration_s = _mux(part, items)
        if not duration_s:
            raise OfflineToolError(f"{source} gave neither picture nor sound: nothing was recorded")
        os.replace(part, out)
        sidecar = Sidecar(file_sha256(out), start_utc_s, round(duration_s, 3), tuple(agreed), source)
        text = json.dumps(asdict(sidecar), ensure_ascii=False, indent=1) + "\n"
        sidecar_path(out).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OfflineToolError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return sidecar


def read_sidecar(video: Path) -> Sidecar:
    """A recording's sidecar. Raises OfflineToolError where it is missing, no sidecar, or of other bytes."""
    path = sidecar_path(video)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        sidecar = Sidecar(**document | {"agreed": tuple(document["agreed"])})
    except OSError as error:
        raise OfflineToolError(
            f"{path} cannot be read ({error.strerror}): nobody in {video} is known to have agreed"
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise OfflineToolError(f"{path} is no sidecar of a recording: {error}") from error
    if file_sha256(video) != sidecar.sha256:
        raise OfflineToolError(
            f"{path} belongs to other bytes than those of {video}: it says nothing about them"
        )
    return sidecar


def until(items: Iterator[Frame | AudioBlock], end_s: float) -> Iterator[Frame | AudioBlock]:
    """Items from the source's start to a moment."""
    for item in items:
        if item.time_s >= end_s:
            return
        yield item


def _mux(path: Path, items: Iterable[Frame | AudioBlock]) -> float:
    """Encode items as they come, in bounded memory; how long the recording is."""
    iterator = iter(items)
    head = list(_head(iterator))
    if not head:
        return 0.0
    with av.open(str(path), "w", format="mp4", options={"movflags": "faststart"}) as container:
        first = next((item for item in head if isinstance(item, Frame)), None)
        video = None if first is None else _Video(container, first)
        audio = _Audio(container) if any(isinstance(item, AudioBlock) for item in head) else None
        for item in chain(head, iterator):
            encoder = video if isinstance(item, Frame) else audio
            if encoder is not None:
                encoder.add(item)
        for encoder in (video, audio):
            if encoder is not None:
                encoder.end()
    return max(encoder.ended_s for encoder in (video, audio) if encoder is not None)


def _head(iterator: Iterator[Frame | AudioBlock]) -> Iterator[Frame | AudioBlock]:
    """What comes first, to know whether there are pictures and sound at all: a file's streams are named before it."""
    for item in iterator:
        yield item
        if item.time_s >= _HEAD_S:
            return


class _Video:
    """Pictures at RATE_HZ: each stands until the next."""

    def __init__(self, container: Any, first: Frame) -> None:
        self._container = container
        self._size = (first.image.shape[1] // 2 * 2, first.image.shape[0] // 2 * 2)
        self._stream = video_stream(container, *self._size, RATE_HZ)
        self._tick = -1
        self.ended_s = 0.0

    def add(self, item: Frame | AudioBlock) -> None:
        """A picture as large as the first, later than the one before by a tick at least; else it is left out."""
        assert isinstance(item, Frame)
        tick = round(item.time_s * RATE_HZ)
        image = item.image[: self._size[1], : self._size[0]]
        if tick <= self._tick or image.shape[:2] != self._size[::-1]:
            return
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="bgr24")
        frame.pts = self._tick = tick
        self._container.mux(self._stream.encode(frame.reformat(format="yuv420p")))
        self.ended_s = (tick + 1) / RATE_HZ

    def end(self) -> None:
        """Write what the encoder still holds."""
        self._container.mux(self._stream.encode(None))


class _Audio:
    """Sound laid on the clock of the source, silence where some was lost, in the pieces that the encoder takes."""

    def __init__(self, container: Any) -> None:
        self._container = container
        self._stream = container.add_stream("aac", rate=SAMPLE_RATE_HZ, layout="mono")
        self._held = np.zeros(0, np.float32)
        self._written = 0
        self.ended_s = 0.0

    def add(self, item: Frame | AudioBlock) -> None:
        """A block; what overlaps sound that was written already is left out."""
        assert isinstance(item, AudioBlock)
        missing = round(item.time_s * SAMPLE_RATE_HZ) - self._written - self._held.size
        samples = np.nan_to_num(item.samples, posinf=0.0, neginf=0.0)
        if missing > _GAP_S * SAMPLE_RATE_HZ:
            samples = np.concatenate([np.zeros(missing, np.float32), samples])
        elif missing < -_GAP_S * SAMPLE_RATE_HZ:
            samples = samples[-missing:]
        self._held = np.concatenate([self._held, samples])
        while self._held.size >= _AAC_SAMPLES:
            self._encode(self._held[:_AAC_SAMPLES])
            self._held = self._held[_AAC_SAMPLES:]
        self.ended_s = (self._written + self._held.size) / SAMPLE_RATE_HZ

    def end(self) -> None:
        """Write what is held, and what the encoder still holds."""
        if self._held.size:
            self._encode(self._held)
        self._container.mux(self._stream.encode(None))

    def _encode(self, piece: Samples) -> None:
        block = av.AudioFrame.from_ndarray(
            np.ascontiguousarray(piece).reshape(1, -1), format="fltp", layout="mono"
        )
        block.sample_rate, block.pts = SAMPLE_RATE_HZ, self._written
        self._written += piece.size
        self._container.mux(self._stream.encode(block))
