"""Cuts one source's frames and sound into clips, and says which clip is which, for ever."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Protocol

from drivers.live import LiveSource
from drivers.media import AudioBlock, Frame
from drivers.replay import Replay
from memory_store.records import Clip
from runtime.clock import Clock, is_believable

MediaItem = Frame | AudioBlock
_LIVE_KEY = re.compile(r"live:[^:]*:(\d+\.\d+)/")
CUT_MARK = "!"  # in a clip's key: what follows is the media time at which a stopped run ended the clip
SHORTEST_TAIL_S = (
    2.0  # what is left of a recording after its last whole clip and shorter belongs to that clip
)


@dataclass(frozen=True)
class ClipSpan:
    """One clip before it is remembered. Media times count from the source's start; `key` names it for ever.

    `goes_on`: the source was stopped here, and the next run goes on from here.
    """

    index: int
    key: str
    source_name: str
    media_start_s: float
    media_end_s: float
    start_utc_s: float
    time_known: bool
    goes_on: bool = False

    @property
    def end_utc_s(self) -> float:
        return self.start_utc_s + (self.media_end_s - self.media_start_s)

    def utc_s(self, media_s: float) -> float:
        """When, on the wall clock, the source's moment `media_s` was."""
        return self.start_utc_s + (media_s - self.media_start_s)


@dataclass(frozen=True)
class ClipEnd:
    """Stands between two clips in the streams of frames and of sound; `last` ends the stream."""

    clip: ClipSpan
    had_video: bool
    had_audio: bool
    dropped_frames: int
    last: bool


@dataclass(frozen=True)
class PreRoll:
    """Sound of a clip that is remembered already: only its unfinished last sentence matters."""

    block: AudioBlock


class Source(Protocol):
    """Where frames and sound come from, in time order, and how its clips are called."""

    @property
    def name(self) -> str: ...
    @property
    def duration_s(self) -> float | None:
        """Length, where the source has an end."""
        ...

    def clip_count(self, length_s: float) -> int | None:
        """How many clips there will be, where the source has an end."""
        ...

    def items(self, start_s: float) -> Iterator[MediaItem]: ...
    def span(self, index: int, length_s: float, media_end_s: float | None = None) -> ClipSpan: ...
    def stop(self) -> None:
        """End `items` soon; may be called from another thread."""
        ...

    @property
    def warnings(self) -> list[str]:
        """What went wrong without ending the source, one sentence each."""
        ...

    @property
    def lost_frames(self) -> int:
        """How many frames the source could not deliver so far."""
        ...


class Recording:
    """A file. The same file from the same start always gives the same clips, under the same keys.

    A clip that `stop` cut short has a key of its own, which says where; `cut` names those of earlier runs
    (see `cut_clips`): the rest of such a clip is what is left of it.
    """

    def __init__(self, replay: Replay, start_utc_s: float, cut: Mapping[str, float] | None = None) -> None:
        self._replay = replay
        self._start_utc_s = start_utc_s
        self._cut = cut or {}
        self._stopped = Event()
        self._stopped_at_s: float | None = None
        self.name = os.fsencode(Path(replay.info.path).name).decode(errors="replace")

    @property
    def duration_s(self) -> float | None:
        return self._replay.info.duration_s

    def items(self, start_s: float) -> Iterator[MediaItem]:
        for item in self._replay.items(start_s):
            if self._stopped.is_set():
                self._stopped_at_s = item.time_s
                return
            yield item

    def clip_count(self, length_s: float) -> int | None:
        return max(1, math.ceil((self._replay.info.duration_s - SHORTEST_TAIL_S) / length_s))

    def span(self, index: int, length_s: float, media_end_s: float | None = None) -> ClipSpan:
        key = clip_key(self._replay.info.sha256, self._start_utc_s, length_s, index)
        start_s = self._cut.get(key, index * length_s)
        whole_s = math.inf if index + 1 == self.clip_count(length_s) else (index + 1) * length_s
        goes_on = media_end_s is not None and self._stopped_at_s is not None
        if self._stopped_at_s is not None and goes_on:
            media_end_s = min(self._stopped_at_s, whole_s)
            if media_end_s < whole_s:
                key = f"{key}{CUT_MARK}{media_end_s:.5f}"
        return ClipSpan(
            index=index,
            key=key,
            source_name=self.name,
            media_start_s=start_s,
            media_end_s=whole_s if media_end_s is None else media_end_s,
            start_utc_s=self._start_utc_s + start_s,
            time_known=True,
            goes_on=goes_on,
        )

    def stop(self) -> None:
        self._stopped.set()

    @property
    def warnings(self) -> list[str]:
        return list(self._replay.warnings)

    @property
    def lost_frames(self) -> int:
        return self._replay.lost_frames


def clip_key(sha256: str, start_utc_s: float, length_s: float, index: int) -> str:
    """The name of a recording's clip: which bytes, when they are said to have happened, which piece."""
    return f"{sha256}@{start_utc_s:.3f}/{length_s:g}s#{index}"


def cut_clips(clips: Iterable[Clip]) -> dict[str, float]:
    """By the key of each clip that a stopped run cut short: the media time up to which it is remembered."""
    cut: dict[str, float] = {}
    for clip in clips:
        key, mark, end_s = clip.source_key.rpartition(CUT_MARK)
        if mark:
            cut[key] = max(cut.get(key, 0.0), float(end_s))
    return cut


def recording_start_utc_s(clips: Iterable[Clip], sha256: str) -> float | None:
    """When a recording that was remembered before is said to have begun, by its first clip; else None."""
    for clip in clips:
        if clip.source_key.startswith(f"{sha256}@"):
            return clip.start_utc_s - clip.media_start_s
    return None


class Live:
    """Camera and microphone. Wall time is read when a clip begins; order within it is the monotonic clock's."""

    def __init__(self, source: LiveSource, boot_id: str, clock: Clock) -> None:
        self._source = source
        self._boot_id = boot_id
        self._clock = clock
        self._started_monotonic_s = clock.monotonic_s()
        self._stopped = Event()
        self.name = "live"
        self.duration_s: float | None = None

    def overhear(self, take: Callable[[AudioBlock], None]) -> None:
        """Have sound given to `take` as soon as it is heard; called from the thread that pulls `items`."""
        self._source.overhear(take)

    def oversee(self, take: Callable[[Frame], None]) -> None:
        """Have frames given to `take` as soon as they are seen; called from the same thread."""
        self._source.oversee(take)

    def media_s(self) -> float:
        """The time that sound of this moment has."""
        return self._source.media_s()

    def clip_count(self, length_s: float) -> int | None:
        return None

    def items(self, start_s: float) -> Iterator[MediaItem]:
        self._started_monotonic_s = self._clock.monotonic_s() - start_s
        return self._source.items(self._stopped)

    def span(self, index: int, length_s: float, media_end_s: float | None = None) -> ClipSpan:
        start_s = index * length_s
        behind_s = self._clock.monotonic_s() - self._started_monotonic_s - start_s
        start_utc_s = self._clock.utc_s() - behind_s
        return ClipSpan(
            index=index,
            key=f"{live_prefix(self._boot_id)}{self._started_monotonic_s:.3f}/{length_s:g}s#{index}",
            source_name=self.name,
            media_start_s=start_s,
            media_end_s=start_s + length_s if media_end_s is None else media_end_s,
            start_utc_s=start_utc_s,
            time_known=is_believable(start_utc_s),
        )

    def stop(self) -> None:
        self._stopped.set()

    @property
    def warnings(self) -> list[str]:
        return []

    @property
    def lost_frames(self) -> int:
        return self._source.late_items


def live_prefix(boot: str) -> str:
    """What the keys of a boot's live clips begin with."""
    return f"live:{boot}:"


def monotonic_start_s(key: str, media_start_s: float) -> float | None:
    """When a live clip began by its boot's monotonic clock, from its key; None for a clip of a recording."""
    match = _LIVE_KEY.match(key)
    return None if match is None else float(match[1]) + media_start_s


def boot_id() -> str:
    """The kernel's name for this boot; monotonic times compare only within one."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"
