"""The memorize service: joins what one clip showed with what it let hear, and has it written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from runtime.channel import Channel, ChannelClosed
from runtime.memorize import MemorizedClip, Memorizer
from runtime.perceive import HeardClip, SeenClip
from runtime.stage_times import StageTimes
from runtime.workers import Worker


class MemorizeService:
    """Pairs of SeenClip and HeardClip in, one transaction each. A clip whose writing fails is written again."""

    def __init__(
        self,
        seen: Channel[SeenClip],
        heard: Channel[HeardClip],
        memorizer: Memorizer,
        worker: Worker,
        on_clip: Callable[[MemorizedClip], None],
    ) -> None:
        self._seen = seen
        self._heard = heard
        self._memorizer = memorizer
        self._worker = worker
        self._on_clip = on_clip
        self._pending_seen: SeenClip | None = None
        self._pending_heard: HeardClip | None = None
        self.times = StageTimes()
        self.memorized = 0
        self.already_known = 0
        self.media_s = 0.0
        self._written = asyncio.Condition()

    async def run(self) -> None:
        """Until both channels end."""
        while True:
            try:
                if self._pending_seen is None:
                    self._pending_seen = await self._seen.get()
                if self._pending_heard is None:
                    self._pending_heard = await self._heard.get()
            except ChannelClosed:
                return
            await self._write(self._pending_seen, self._pending_heard)
            self._pending_seen = self._pending_heard = None

    async def _write(self, seen: SeenClip, heard: HeardClip) -> None:
        with self.times.timed("identify_and_memorize"):
            clip = await self._worker.call(self._memorizer.memorize, seen.end, seen.sight, heard.hearing)
        self.times.add(seen.sight.stage_s)
        self.times.add(heard.hearing.stage_s)
        self.media_s += seen.end.clip.media_end_s - seen.end.clip.media_start_s
        if clip is None:
            self.already_known += 1
        else:
            self.memorized += 1
            self._on_clip(clip)
        async with self._written:
            self._written.notify_all()

    async def until_written(self, clips: int) -> None:
        """Wait until that many clips were written, or found to be written before."""
        async with self._written:
            await self._written.wait_for(lambda: self.memorized + self.already_known >= clips)
