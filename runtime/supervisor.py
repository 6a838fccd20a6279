"""Runs the table of services: restarts with back-off within a budget, then fails whole.

The only place that creates tasks, and the only one that catches every exception.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from runtime.clock import Clock
from runtime.config import SupervisorSettings
from runtime.errors import HearsightError, ServiceFailed

log = logging.getLogger("hearsight.supervisor")


@dataclass(frozen=True)
class Service:
    """One row of the table: its name in code, log, metrics and robot.yaml, and what it runs.

    `run` returns when its work is done; `fatal` errors end the daemon at once, since no restart mends them.
    """

    name: str
    run: Callable[[], Awaitable[None]]
    fatal: tuple[type[Exception], ...] = (HearsightError,)


class Supervisor:
    """Runs services until all are done, one is out of restarts, or `stop` is called."""

    def __init__(self, services: Sequence[Service], settings: SupervisorSettings, clock: Clock) -> None:
        self._services = services
        self._settings = settings
        self._clock = clock
        self.restarts: dict[str, int] = {service.name: 0 for service in services}

    async def run(self) -> None:
        """Run every service to its end.

        Raises:
            ServiceFailed: a service spent its restart budget.
            HearsightError: a service met something that no restart mends.
        """
        gc.collect()
        gc.freeze()  # else full collections look at all that was imported, 25 ms in the middle of a question
        tasks = [asyncio.create_task(self._watch(service), name=service.name) for service in self._services]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _watch(self, service: Service) -> None:
        failures: deque[float] = deque()
        while True:
            try:
                return await service.run()
            except service.fatal:
                raise
            except Exception as error:
                now = self._clock.monotonic_s()
                failures.append(now)
                while failures and now - failures[0] > self._settings.restart_window_s:
                    failures.popleft()
                if len(failures) > self._settings.restarts:
                    raise ServiceFailed(
                        f"service {service.name} failed {len(failures)} times within "
                        f"{self._settings.restart_window_s:g} s, the last time with: {error}"
                    ) from error
                self.restarts[service.name] += 1
                log.exception("service %s failed and is restarted", service.name)
            await asyncio.sleep(self._settings.backoff_s * 2 ** (len(failures) - 1))
