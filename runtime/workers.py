"""One thread for each blocking resource, so that the event loop never blocks and nothing is used twice at once."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

NICER = 5
P = ParamSpec("P")
R = TypeVar("R")


class Worker:
    """A named thread; calls run on it one after another. background: others' work goes before its own."""

    def __init__(self, name: str, *, background: bool = False) -> None:
        self.name = name
        self._pool = ThreadPoolExecutor(
            max_workers=1, thread_name_prefix=name, initializer=_step_back if background else None
        )

    async def call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run `function` on the thread; its exception is raised here."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: function(*args, **kwargs))

    def close(self) -> None:
        """Let the running call end, drop those that wait, and end the thread."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _step_back() -> None:
    """Give this thread a lower priority; on Linux every thread has its own."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + NICER)
