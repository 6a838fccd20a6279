"""The capture service: one source's frames and sound, cut into clips, into two bounded channels."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from drivers.media import AudioBlock, Frame
from runtime.channel import Channel
from runtime.clips import ClipEnd, ClipSpan, MediaItem, PreRoll, Source
from runtime.clock import Clock
from runtime.workers import Worker

FrameItem = Frame | ClipEnd
SoundItem = AudioBlock | PreRoll | ClipEnd


@dataclass(frozen=True)
class Pace:
    """How fast a source is read: `speed` 1 is as it happened, None as fast as it can be taken in."""

    speed: float | None


@dataclass(eq=False)
class _OpenClip:
    span: ClipSpan
    had_video: bool = False
    had_audio: bool = False
    ends_s: float = 0.0
    dropped_before: int = 0


class Capture:
    """Reads the source to its end, or until it is stopped.

    `known` says whether a clip is remembered already: a recording's remembered beginning is not read again,
    but for the sound that a sentence may have carried over from it. `ready` is awaited before each clip.
    """

    def __init__(
        self,
        source: Source,
        frames: Channel[FrameItem],
        sound: Channel[SoundItem],
        *,
        clip_s: float,
        carry_s: float,
        pace: Pace,
        clock: Clock,
        worker: Worker,
        known: Callable[[str], Awaitable[bool]],
        ready: Callable[[int], Awaitable[None]],
        progress: Callable[[float], None],
    ) -> None:
        self._source = source
        self._frames = frames
        self._sound = sound
        self._clip_s = clip_s
        self._carry_s = carry_s
        self._pace = pace
        self._clock = clock
        self._worker = worker
        self._known = known
        self._ready = ready
        self._progress = progress
        self._next_index: int | None = None
        self.skipped_clips = 0

    async def run(self) -> None:
        """Deliver everything, then close both channels. A restart goes on with the clip that was open."""
        if self._next_index is None:
            self._next_index = self.skipped_clips = await self._first_unknown()
        await self._read(self._next_index)
        await self._frames.close()
        await self._sound.close()

    async def _first_unknown(self) -> int:
        """The first clip of a recording that is not remembered; their number where all are."""
        count = self._source.clip_count(self._clip_s) or 0
        for index in range(count):
            if not await self._known(self._source.span(index, self._clip_s).key):
                return index
        return count

    async def _read(self, index: int) -> None:
        if index == self._source.clip_count(self._clip_s):
            return
        start_s = self._source.span(index, self._clip_s).media_start_s
        began_s = self._clock.monotonic_s()
        iterator = self._source.items(max(0.0, start_s - self._carry_s))
        clip: _OpenClip | None = None
        while (item := await self._worker.call(next, iterator, None)) is not None:
            if item.time_s < start_s:
                if isinstance(item, AudioBlock):
                    await self._sound.put(PreRoll(item))
                continue
            await self._keep_pace(began_s, item.time_s - start_s)
            clip = await self._clip_for(item, clip, index)
            await self._deliver(item, clip)
        if clip is not None:
            span = self._source.span(clip.span.index, self._clip_s, max(clip.ends_s, clip.span.media_start_s))
            await self._end(
                clip, span, last=not span.goes_on
            )  # the next run hears an unfinished sentence whole

    async def _clip_for(self, item: MediaItem, clip: _OpenClip | None, index: int) -> _OpenClip:
        """The clip that `item` belongs to, after ending those before it."""
        if clip is None:
            clip = await self._begin(index)
        while item.time_s >= clip.span.media_end_s - 1e-6:
            await self._end(clip, clip.span, last=False)
            clip = await self._begin(clip.span.index + 1)
        return clip

    async def _begin(self, index: int) -> _OpenClip:
        await self._ready(index)
        self._next_index = index
        return _OpenClip(self._source.span(index, self._clip_s), dropped_before=self._dropped)

    async def _deliver(self, item: MediaItem, clip: _OpenClip) -> None:
        if isinstance(item, Frame):
            clip.had_video = True
            clip.ends_s = max(clip.ends_s, item.time_s)
            await self._frames.put(item)
        else:
            clip.had_audio = True
            clip.ends_s = max(clip.ends_s, item.time_s + len(item.samples) / 16000)
            await self._sound.put(item)
        self._progress(item.time_s)

    async def _end(self, clip: _OpenClip, span: ClipSpan, *, last: bool) -> None:
        dropped = self._dropped - clip.dropped_before
        end = ClipEnd(span, clip.had_video, clip.had_audio, dropped, last)
        await self._frames.put(end)
        await self._sound.put(end)

    @property
    def _dropped(self) -> int:
        return self._frames.dropped + self._sound.dropped + self._source.lost_frames

    async def _keep_pace(self, began_s: float, media_s: float) -> None:
        if self._pace.speed is None:
            return
        ahead_s = media_s / self._pace.speed - (self._clock.monotonic_s() - began_s)
        if ahead_s > 0:
            await asyncio.sleep(ahead_s)
