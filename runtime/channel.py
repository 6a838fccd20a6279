"""Bounded channels between services: each states its size and its loss policy, and counts its drops."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ChannelClosed(Exception):
    """Nothing more comes out of this channel, or nothing more may go in."""


class Channel(Generic[T]):
    """First in, first out, at most `size` items.

    With `droppable` a full channel drops its oldest item for which that holds (live capture never waits);
    without it, or when nothing can be dropped, `put` waits (a replay loses nothing).
    """

    def __init__(self, name: str, size: int, droppable: Callable[[T], bool] | None = None) -> None:
        if size < 1:
            raise ValueError(f"channel {name}: size must be at least 1, not {size}")
        self.name = name
        self.size = size
        self.dropped = 0
        self._droppable = droppable
        self._items: deque[T] = deque()
        self._closed = False
        self._changed = asyncio.Condition()

    def __len__(self) -> int:
        return len(self._items)

    async def put(self, item: T) -> None:
        """Append `item`, dropping or waiting as the policy says. Raises ChannelClosed after `close`."""
        async with self._changed:
            if len(self._items) >= self.size and not self._drop_oldest():
                await self._changed.wait_for(lambda: self._closed or len(self._items) < self.size)
            if self._closed:
                raise ChannelClosed(self.name)
            self._items.append(item)
            self._changed.notify_all()

    def _drop_oldest(self) -> bool:
        if self._droppable is None:
            return False
        for index, item in enumerate(self._items):
            if self._droppable(item):
                del self._items[index]
                self.dropped += 1
                return True
        return False

    async def get(self) -> T:
        """The oldest item; waits for one. Raises ChannelClosed when closed and empty."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or bool(self._items))
            if not self._items:
                raise ChannelClosed(self.name)
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    async def close(self) -> None:
        """No more items go in; those inside still come out."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()

    async def __aiter__(self) -> AsyncIterator[T]:
        while True:
            try:
                item = await self.get()
            except ChannelClosed:
                return
            yield item
