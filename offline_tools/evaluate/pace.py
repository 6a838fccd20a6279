"""How long an evaluation goes on and how much of it at once: threads that an error or the end of the time stops."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field

from offline_tools.bench.kept_completions import TimeIsUp


@dataclass(frozen=True)
class Pace:
    """until_s: of time.monotonic, when to stop; at_once: how many memories or answers; tell: a line of progress."""

    until_s: float = float("inf")
    at_once: int = 1
    tell: Callable[[str], None] = lambda line: None
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be begun."""
        return self.ended.is_set() or time.monotonic() >= self.until_s

    def check(self) -> None:
        """Raises TimeIsUp when nothing more is to be begun."""
        if self.is_over:
            raise TimeIsUp


def in_threads(jobs: Sequence[Callable[[], None]], pace: Pace) -> None:
    """Run the jobs, `at_once` of them at a time; the first error ends the pace and is raised when all have stopped."""
    if pace.at_once == 1 or len(jobs) < 2:
        for job in jobs:
            job()
        return
    with ThreadPoolExecutor(pace.at_once, thread_name_prefix="evaluate") as pool:
        futures = [pool.submit(job) for job in jobs]
        with ExitStack() as undo:
            undo.callback(_give_up, pace, futures)
            for future in as_completed(futures):
                future.result()
            undo.pop_all()


def _give_up(pace: Pace, futures: Sequence[Future[None]]) -> None:
    pace.ended.set()
    for future in futures:
        future.cancel()
