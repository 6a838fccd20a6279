"""One stream of a media file as frames or audio blocks on the file's own clock, in bounded memory."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import av.error
import numpy as np
from numpy.typing import NDArray

from drivers.container import Container, Stream, open_container, pick_stream, prepare
from drivers.damage import Damage, WholePictures
from drivers.media import AudioBlock, DriverError, Frame

MAX_SIDE_PX = 1280
_GAP_S = 0.1  # a hole in the audio clock longer than this splits the sound
_BACK_S = 1.0  # a clock that jumps back further than this was restarted
_AHEAD_S = 60.0  # … and one that runs this far past the end of the file was, too
_PREROLL_S = 1.0  # decoded and thrown away after a jump, so that decoders and filters have settled
_MAX_READ_ERRORS = 20


@dataclass(slots=True)
class StreamClock:
    """Presentation times as seconds since the file's start; missing and restarted ones are carried on."""

    origin_s: float
    duration_s: float
    expected_s: float = 0.0
    shift_s: float = 0.0
    started: bool = False

    def at(self, pts: int | None, time_base: Any, length_s: float) -> float:
        """Return the time of an item of `length_s` seconds stamped `pts`."""
        if pts is None or time_base is None:
            time_s = self.expected_s
        else:
            time_s = float(pts * time_base) - self.origin_s + self.shift_s
        ahead = time_s > max(self.duration_s, self.expected_s) + _AHEAD_S
        if self.started and (time_s < self.expected_s - _BACK_S or ahead):
            self.shift_s += self.expected_s - time_s
            time_s = self.expected_s
        self.started = True
        self.expected_s = time_s + length_s
        return round(time_s, 5)


def decoded(container: Container, stream: Stream, damage: Damage) -> Iterator[Any]:
    """Yield the whole decoded frames of `stream`; what is not is counted in `damage` and passed over."""
    whole = WholePictures(damage)
    while True:
        try:
            for packet in container.demux(stream):
                yield from _decode_packet(packet, whole, damage)
            break
        except (av.error.FFmpegError, OSError) as error:
            damage.read_errors.append(str(error))
            whole.broke(None)
            if len(damage.read_errors) >= _MAX_READ_ERRORS:
                yield from _decode_packet(None, whole, damage, stream)
                break
    yield from whole.rest()


def _decode_packet(packet: Any, whole: WholePictures, damage: Damage, stream: Stream = None) -> Iterator[Any]:
    if (
        packet is not None and packet.is_corrupt
    ):  # the container knows of lost pieces that a decoder may not notice
        damage.broken_packets += 1
        whole.broke(packet.pts)
    try:
        frames = stream.codec_context.decode(None) if packet is None else packet.decode()
    except av.error.EOFError:
        return
    except (av.error.FFmpegError, OSError):
        damage.broken_packets += 1
        whole.broke(None if packet is None else packet.pts)
        return
    for frame in frames:
        if isinstance(frame, av.VideoFrame):
            yield from whole.after(frame)
        elif frame.is_corrupt:  # a packet of sound stands alone
            damage.corrupt_frames += 1
        else:
            yield frame


@dataclass(frozen=True, slots=True)
class StreamReader:
    """How to read one file: its clock, and the rates wanted."""

    path: Path
    origin_s: float
    duration_s: float
    frame_rate_hz: float
    sample_rate_hz: int
    block_s: float

    def frames(self, start_s: float, damage: Damage) -> Iterator[Frame]:
        """Yield for each tick of the frame rate the first picture shown at or after it."""
        next_tick = math.ceil(start_s * self.frame_rate_hz - 1e-6)
        whole_until = damage.pieces
        for time_s, picture in self._timed("video", start_s, damage):
            if time_s * self.frame_rate_hz + 1e-6 < next_tick:
                continue
            try:
                image = frame_image(picture)
            except (av.error.FFmpegError, ValueError):
                damage.broken_packets += 1  # a damaged header claims an impossible picture
                continue
            tick = math.floor(time_s * self.frame_rate_hz + 1e-6)
            if damage.pieces > whole_until:
                damage.lost_ticks += max(0, tick - next_tick)
            next_tick, whole_until = tick + 1, damage.pieces
            yield Frame(time_s, image)
        if damage.pieces > whole_until:
            damage.lost_ticks += max(0, math.floor(damage.ended_s * self.frame_rate_hz) - next_tick)

    def blocks(self, start_s: float, damage: Damage) -> Iterator[AudioBlock]:
        """Yield mono sound cut at multiples of the block length; a hole leaves a short block before it."""
        cutter = BlockCutter(self.sample_rate_hz, self.block_s, round(start_s * self.sample_rate_hz))
        segment = _Segment(self.sample_rate_hz)
        for time_s, sound in self._timed("audio", start_s, damage):
            offset_s = time_s - segment.end_s
            if segment.started and offset_s < -_GAP_S:
                continue  # sound stamped over sound already heard
            if not segment.started or offset_s > _GAP_S:
                yield from cutter.push(segment.flush())
                yield from cutter.restart(max(0, round(time_s * self.sample_rate_hz)))
                segment = _Segment(self.sample_rate_hz, time_s)
            try:
                samples = segment.push(sound)
            except (av.error.FFmpegError, ValueError):
                damage.broken_packets += 1  # a damaged header claims an impossible format
                segment = _Segment(self.sample_rate_hz)
                continue
            yield from cutter.push(samples)
        yield from cutter.push(segment.flush())
        yield from cutter.rest()

    def _timed(self, kind: str, start_s: float, damage: Damage) -> Iterator[tuple[float, Any]]:
        """Yield decoded items with their times, from a little before `start_s`."""
        for seeking in (start_s > 0.0, False):
            with open_container(self.path) as container:
                stream = pick_stream(container, kind)
                if stream is None:
                    raise DriverError(f"{self.path}: changed while it was replayed; start the replay again")
                prepare(stream)
                if seeking and not self._seek(container, max(0.0, start_s - _PREROLL_S)):
                    continue
                clock = StreamClock(self.origin_s, self.duration_s)
                settled = not seeking
                for item in decoded(container, stream, damage):
                    time_s = clock.at(item.pts, item.time_base, _length_s(item, stream))
                    if not settled and time_s > start_s:
                        break  # the jump went too far: read from the beginning instead
                    settled = True
                    damage.ended_s = max(damage.ended_s, clock.expected_s)
                    yield time_s, item
                else:
                    if damage.last_pts is not None:
                        clock.at(damage.last_pts, stream.time_base, _length_s(None, stream))
                        damage.ended_s = max(damage.ended_s, clock.expected_s)
                    return

    def _seek(self, container: Container, time_s: float) -> bool:
        try:
            container.seek(round((time_s + self.origin_s) * 1e6))
        except (av.error.FFmpegError, OSError):
            return False
        return True


def _length_s(item: Any, stream: Stream) -> float:
    if isinstance(item, av.AudioFrame):
        return float(item.samples / max(1, item.sample_rate))
    rate = stream.average_rate or stream.guessed_rate
    return 1.0 / float(rate) if rate else 0.04


def frame_image(picture: Any) -> NDArray[np.uint8]:
    """Return the picture upright as BGR, square pixels, its longer side at most MAX_SIDE_PX."""
    ratio = picture_ratio(picture)
    width, height = picture.width * ratio, float(picture.height)
    scale = min(1.0, MAX_SIDE_PX / max(width, height))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    image = picture.reformat(size[0], size[1], format="bgr24", interpolation="AREA").to_ndarray()
    quarter_turns = round(picture.rotation / 90) % 4
    return np.ascontiguousarray(np.rot90(image, quarter_turns))


def picture_ratio(picture: Any) -> float:
    """Return the width of one pixel over its height."""
    ratio = getattr(picture, "sample_aspect_ratio", None)
    return float(ratio) if ratio and 0.2 < float(ratio) < 5.0 else 1.0


class _Segment:
    """Sound without a hole, brought to mono at one rate."""

    def __init__(self, sample_rate_hz: int, start_s: float | None = None) -> None:
        self.started = start_s is not None
        self.end_s = start_s or 0.0
        self._rate_hz = sample_rate_hz
        self._shape: tuple[Any, ...] = ()
        self._resampler: Any = None

    def push(self, sound: Any) -> NDArray[np.float32]:
        """Return what the resampler gives out for one more decoded piece."""
        shape = (sound.format.name, sound.layout.name, sound.sample_rate)
        before = np.zeros(0, np.float32)
        if shape != self._shape:
            before = self.flush()
            self._shape = shape
            self._resampler = av.AudioResampler(format="flt", layout="mono", rate=self._rate_hz)
        self.end_s += sound.samples / max(1, sound.sample_rate)
        sound.pts = None
        return np.concatenate([before, *self._resample(sound)])

    def flush(self) -> NDArray[np.float32]:
        """Return what the resampler still holds."""
        if self._resampler is None:
            return np.zeros(0, np.float32)
        rest = self._resample(None)
        self._resampler = None
        return np.concatenate([np.zeros(0, np.float32), *rest])

    def _resample(self, sound: Any) -> list[NDArray[np.float32]]:
        return [piece.to_ndarray().reshape(-1) for piece in self._resampler.resample(sound)]


class BlockCutter:
    """Cuts a run of samples at fixed multiples of the block length, counted from the file's start."""

    def __init__(self, sample_rate_hz: int, block_s: float, first_sample: int = 0) -> None:
        self._rate_hz = sample_rate_hz
        self._block = max(1, round(block_s * sample_rate_hz))
        self._first = first_sample
        self._position = 0
        self._held = np.zeros(0, np.float32)

    def restart(self, position: int) -> Iterator[AudioBlock]:
        """Give out what is held, then go on at sample number `position`."""
        yield from self.rest()
        self._position = max(position, self._position)

    def push(self, samples: NDArray[np.float32]) -> Iterator[AudioBlock]:
        """Take more samples and give out every block they complete."""
        self._held = np.concatenate([self._held, samples])
        early = min(max(0, self._first - self._position), self._held.size)
        self._held, self._position = self._held[early:], self._position + early
        while self._held.size >= (length := self._block - self._position % self._block):
            yield self._take(length)

    def rest(self) -> Iterator[AudioBlock]:
        """Give out what is held although it fills no block."""
        if self._held.size:
            yield self._take(self._held.size)

    def _take(self, length: int) -> AudioBlock:
        samples, self._held = self._held[:length], self._held[length:]
        time_s = self._position / self._rate_hz
        self._position += length
        clean = np.nan_to_num(samples, nan=0.0, posinf=1.0, neginf=-1.0)
        return AudioBlock(time_s, np.clip(clean, -1.0, 1.0).astype(np.float32))
