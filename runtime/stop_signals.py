"""SIGINT and SIGTERM as a wish to stop: the first one is granted in good order, a second one kills."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on the event loop at the first signal; to be entered while the loop runs."""
    loop = asyncio.get_running_loop()

    def told(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        stop()

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, told, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
