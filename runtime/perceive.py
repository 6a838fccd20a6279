"""The see and hear services: each takes one channel of a clip's media to one record a clip, on its own thread."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.capture import FrameItem, SoundItem
from runtime.channel import Channel
from runtime.clips import ClipEnd, PreRoll
from runtime.hear import Hearing, Listener
from runtime.see import Sight, Watcher
from runtime.workers import Worker


@dataclass(frozen=True)
class SeenClip:
    """A clip's end and all that it showed."""

    end: ClipEnd
    sight: Sight


@dataclass(frozen=True)
class HeardClip:
    """A clip's end and all that it let hear."""

    end: ClipEnd
    hearing: Hearing


class SeeService:
    """Frames in, one SeenClip for each clip out. A clip whose end fails is passed on empty, never lost."""

    def __init__(
        self, frames: Channel[FrameItem], seen: Channel[SeenClip], watcher: Watcher, worker: Worker
    ) -> None:
        self._frames = frames
        self._seen = seen
        self._watcher = watcher
        self._worker = worker
        self._ending: ClipEnd | None = None

    async def run(self) -> None:
        """Until the frames end."""
        if self._ending is not None:
            await self._pass_on(self._ending, Sight())
        async for item in self._frames:
            if isinstance(item, ClipEnd):
                self._ending = item
                await self._pass_on(item, await self._worker.call(self._watcher.finish))
            else:
                await self._worker.call(self._watcher.add, item)
        await self._seen.close()

    async def _pass_on(self, end: ClipEnd, sight: Sight) -> None:
        await self._seen.put(SeenClip(end, sight))
        self._ending = None


class HearService:
    """Sound in, one HeardClip for each clip out. A clip whose end fails is passed on empty, never lost."""

    def __init__(
        self, sound: Channel[SoundItem], heard: Channel[HeardClip], listener: Listener, worker: Worker
    ) -> None:
        self._sound = sound
        self._heard = heard
        self._listener = listener
        self._worker = worker
        self._ending: ClipEnd | None = None
        self._preroll = False

    async def run(self) -> None:
        """Until the sound ends."""
        if self._ending is not None:
            await self._pass_on(self._ending, Hearing())
        async for item in self._sound:
            if isinstance(item, PreRoll):
                self._preroll = True
                await self._worker.call(self._listener.add, item.block)
                continue
            if self._preroll:
                self._preroll = False
                await self._worker.call(self._listener.skip)
            if isinstance(item, ClipEnd):
                self._ending = item
                await self._pass_on(item, await self._worker.call(self._listener.finish, last=item.last))
            else:
                await self._worker.call(self._listener.add, item)
        await self._heard.close()

    async def _pass_on(self, end: ClipEnd, hearing: Hearing) -> None:
        await self._heard.put(HeardClip(end, hearing))
        self._ending = None
