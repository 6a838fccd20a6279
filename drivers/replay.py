"""Replay of a recording as if it were camera and microphone; pacing at real speed is left to the caller."""

import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av.error
import numpy as np
from numpy.typing import NDArray

from drivers.container import (
    Container,
    check_readable,
    file_sha256,
    is_picture,
    not_media,
    open_container,
    pick_stream,
    prepare,
    recorded_utc_s,
)
from drivers.damage import Damage
from drivers.decode import StreamReader, decoded, frame_image
from drivers.media import AudioBlock, DriverError, Frame, MediaInfo

_PADDING_S = 0.1


class Replay:
    """A video, audio or picture file, sampled at `frame_rate_hz`, its sound as mono blocks of `block_s`.

    `warnings` names, after a pass, what could not be read; it is empty for a whole file.
    Raises DriverError when nothing in the file can be decoded.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        frame_rate_hz: float = 5.0,
        sample_rate_hz: int = 16000,
        block_s: float = 0.5,
    ) -> None:
        if frame_rate_hz <= 0.0 or sample_rate_hz <= 0 or block_s <= 0.0:
            raise DriverError(
                f"replay rates must be above zero: frame_rate_hz={frame_rate_hz}, "
                f"sample_rate_hz={sample_rate_hz}, block_s={block_s}"
            )
        self._path = Path(path)
        self.warnings: list[str] = []
        self._damages: dict[str, Damage] = {}
        check_readable(self._path)
        with open_container(self._path) as container:
            origin_s = (container.start_time or 0) / 1e6
            self.info = self._look(container, frame_rate_hz)
        self._reader = StreamReader(
            self._path, origin_s, self.info.duration_s, frame_rate_hz, sample_rate_hz, block_s
        )

    def items(self, start_s: float = 0.0) -> Iterator[Frame | AudioBlock]:
        """Yield frames and audio blocks from `start_s` on, in order of time, the same on every pass."""
        self.warnings.clear()
        damages = self._damages = {}
        streams: list[Iterator[Frame | AudioBlock]] = []
        if self.info.has_video:
            streams.append(self._reader.frames(start_s, damages.setdefault("picture", Damage())))
        if self.info.has_audio:
            streams.append(self._reader.blocks(start_s, damages.setdefault("sound", Damage())))
        for item in heapq.merge(*streams, key=lambda item: item.time_s):
            if isinstance(item, Frame) or not self._is_padding(item):
                yield item
        for name, damage in damages.items():
            self.warnings.extend(self._describe(name, damage))
        self._note_early_end(start_s, max(damage.ended_s for damage in damages.values()))

    @property
    def lost_frames(self) -> int:
        """How many frames the pass has left out so far because they are damaged or hang on damaged ones."""
        return self._damages["picture"].lost_ticks if "picture" in self._damages else 0

    def _look(self, container: Container, frame_rate_hz: float) -> MediaInfo:
        video, audio = pick_stream(container, "video"), pick_stream(container, "audio")
        picture = _first(self._path, "video") if video is not None else None
        sound = _first(self._path, "audio") if audio is not None else None
        image = _upright(picture) if picture is not None else None
        if image is None and sound is None:
            if video is None and audio is None:
                raise DriverError(not_media(self._path))
            raise DriverError(
                f"{self._path}: holds no picture and no sound that can be decoded; "
                "convert it to MP4 (H.264 and AAC) or copy it again"
            )
        rate = (video.average_rate or video.guessed_rate) if video is not None else None
        return MediaInfo(
            path=str(self._path),
            sha256=file_sha256(self._path),
            duration_s=1.0 / frame_rate_hz if is_picture(container) else self._duration_s(container),
            has_video=image is not None,
            has_audio=sound is not None,
            width=0 if image is None else image.shape[1],
            height=0 if image is None else image.shape[0],
            video_rate_hz=float(rate) if rate and image is not None else 0.0,
            recorded_utc_s=recorded_utc_s(self._path, container),
        )

    def _duration_s(self, container: Container) -> float:
        if container.duration:
            return float(container.duration) / 1e6
        end_s, origin_s = 0.0, (container.start_time or 0) / 1e6
        try:
            for packet in container.demux():  # no length in the header: read the time stamps
                if packet.pts is not None:
                    ticks = packet.pts + (packet.duration or 0)
                    end_s = max(end_s, float(ticks * packet.time_base) - origin_s)
        except (av.error.FFmpegError, OSError):
            return end_s  # a pass over the items names the damage
        return end_s

    def _is_padding(self, block: AudioBlock) -> bool:
        """Say whether the block is what a codec appended past the end to fill its last packet."""
        short = block.samples.size < _PADDING_S * self._reader.sample_rate_hz
        return short and block.time_s >= self.info.duration_s

    def _describe(self, name: str, damage: Damage) -> Iterator[str]:
        if damage.pieces:
            yield f"{self._path}: {damage.pieces} damaged pieces of {name} were left out; copy the file again"
        if damage.read_errors:
            yield (
                f"{self._path}: its {name} could not be read on at {damage.ended_s:.1f} s "
                f"({damage.read_errors[-1]}); what came before was used"
            )

    def _note_early_end(self, start_s: float, ended_s: float) -> None:
        missing_s = self.info.duration_s - max(start_s, ended_s)
        if missing_s > max(2.0, 0.02 * self.info.duration_s):
            self.warnings.append(
                f"{self._path}: ends at {ended_s:.1f} s although its header promises "
                f"{self.info.duration_s:.1f} s; the rest is missing, copy the file again"
            )


def _first(path: Path, kind: str) -> Any:
    """Return the first decodable item of the main stream of `kind`, None where there is none."""
    with open_container(path) as container:
        stream = pick_stream(container, kind)
        prepare(stream)
        return next(decoded(container, stream, Damage()), None)


def _upright(picture: Any) -> NDArray[np.uint8] | None:
    """Return the first picture as it will be delivered, None where its header is damaged."""
    try:
        return frame_image(picture)
    except (av.error.FFmpegError, ValueError):
        return None
