"""The supervisor: restarts within the budget, then fails whole; fatal errors end it at once."""

import asyncio

import pytest

from runtime.config import SupervisorSettings
from runtime.errors import HearsightError, ServiceFailed
from runtime.supervisor import Service, Supervisor
from tests.fake_clock import FakeClock

QUICK = SupervisorSettings(restarts=2, restart_window_s=60.0, backoff_s=0.0)


def _run(*services: Service, clock: FakeClock | None = None) -> Supervisor:
    supervisor = Supervisor(services, QUICK, clock or FakeClock())
    asyncio.run(asyncio.wait_for(supervisor.run(), 10))
    return supervisor


def test_it_returns_when_every_service_is_done() -> None:
    done: list[str] = []

    async def work() -> None:
        await asyncio.sleep(0)
        done.append("work")

    _run(Service("one", work), Service("two", work))
    assert done == ["work", "work"]


def test_a_failing_service_is_restarted_and_counted() -> None:
    attempts = 0

    async def flaky() -> None:
        nonlocal attempts
        attempts += 1
        if attempts <= 2:
            raise RuntimeError("sensor hiccup")

    supervisor = _run(Service("flaky", flaky))
    assert attempts == 3
    assert supervisor.restarts == {"flaky": 2}


def test_a_spent_budget_ends_everything_and_names_the_service() -> None:
    cancelled: list[bool] = []

    async def broken() -> None:
        raise RuntimeError("no such sensor")

    async def healthy() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    with pytest.raises(ServiceFailed, match=r"service broken failed 3 times.*no such sensor"):
        _run(Service("healthy", healthy), Service("broken", broken))
    assert cancelled == [True]


def test_old_failures_do_not_count_against_the_budget() -> None:
    clock = FakeClock()
    attempts = 0

    async def slow_flake() -> None:
        nonlocal attempts
        attempts += 1
        clock.advance(61.0)
        if attempts < 8:
            raise RuntimeError("once a minute")

    _run(Service("slow", slow_flake), clock=clock)
    assert attempts == 8


def test_a_fatal_error_is_not_retried() -> None:
    attempts = 0

    async def fatal() -> None:
        nonlocal attempts
        attempts += 1
        raise HearsightError("the disk is full")

    with pytest.raises(HearsightError, match="the disk is full"):
        _run(Service("memorize", fatal))
    assert attempts == 1
