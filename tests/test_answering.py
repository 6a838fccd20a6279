"""The answering service: order, the bound, askers who go, faults, and its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator

import pytest

from runtime.answer import Answer
from runtime.answering import AnswerFailed, AnsweringService, Asked, TooManyQuestions
from runtime.errors import HearsightError
from runtime.workers import Worker
from tests.answers import plain_answer


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker("answer")
    yield worker
    worker.close()


class Oracle:
    """Answers with the question's text, when it is let to."""

    def __init__(self) -> None:
        self.let = threading.Event()
        self.let.set()
        self.asked: list[str] = []

    def __call__(self, asked: Asked) -> Answer:
        assert self.let.wait(10)
        self.asked.append(asked.text)
        if asked.text == "bad":
            raise HearsightError("no such question")
        if asked.text == "fault":
            raise KeyError("a fault of the code")
        return plain_answer(asked.text)


def _run(worker: Worker, scenario: Callable[[AnsweringService, Oracle], Awaitable[None]]) -> Oracle:
    oracle = Oracle()

    async def all_of_it() -> None:
        service = AnsweringService(oracle, worker, most_waiting=3)
        running = asyncio.create_task(service.run())
        try:
            await asyncio.wait_for(scenario(service, oracle), 20)
        finally:
            oracle.let.set()
            service.stop()
            await asyncio.wait_for(asyncio.gather(running, return_exceptions=True), 10)

    asyncio.run(all_of_it())
    return oracle


def test_questions_are_answered_in_the_order_of_asking(worker: Worker) -> None:
    async def scenario(service: AnsweringService, _: Oracle) -> None:
        answers = [service.submit(Asked(text)) for text in ("one", "two", "three")]
        assert [(await answer).text for answer in answers] == ["one", "two", "three"]
        assert service.answered == 3 and service.waiting == 0

    assert _run(worker, scenario).asked == ["one", "two", "three"]


def test_one_too_many_is_refused_in_one_sentence_and_counted(worker: Worker) -> None:
    async def scenario(service: AnsweringService, oracle: Oracle) -> None:
        oracle.let.clear()
        answers = [service.submit(Asked(str(number))) for number in range(3)]
        for _ in range(47):
            with pytest.raises(TooManyQuestions, match="3 other questions are waiting"):
                service.submit(Asked("too many"))
        assert service.refused == 47
        oracle.let.set()
        assert [(await answer).text for answer in answers] == ["0", "1", "2"]
        assert (await service.submit(Asked("now"))).text == "now"

    _run(worker, scenario)


def test_an_asker_who_went_away_is_not_answered(worker: Worker) -> None:
    async def scenario(service: AnsweringService, oracle: Oracle) -> None:
        oracle.let.clear()
        first, gone, last = (service.submit(Asked(text)) for text in ("first", "gone", "last"))
        gone.cancel()
        oracle.let.set()
        assert (await first).text == "first" and (await last).text == "last"

    assert _run(worker, scenario).asked == ["first", "last"]


def test_what_is_wrong_with_a_question_is_its_askers_to_hear(worker: Worker) -> None:
    async def scenario(service: AnsweringService, _: Oracle) -> None:
        bad, good = service.submit(Asked("bad")), service.submit(Asked("good"))
        with pytest.raises(HearsightError, match="no such question"):
            await bad
        assert (await good).text == "good"

    _run(worker, scenario)


def test_a_fault_of_the_code_reaches_the_supervisor_and_the_asker_is_not_left_waiting(worker: Worker) -> None:
    oracle = Oracle()

    async def scenario() -> None:
        service = AnsweringService(oracle, worker, most_waiting=3)
        answer = service.submit(Asked("fault"))
        with pytest.raises(KeyError):
            await asyncio.wait_for(service.run(), 10)
        assert service.waiting == 0
        with pytest.raises(AnswerFailed, match="ask again"):
            await answer

    asyncio.run(scenario())


def test_free_only_when_nobody_waits(worker: Worker) -> None:
    async def scenario(service: AnsweringService, oracle: Oracle) -> None:
        await service.until_free()
        oracle.let.clear()
        answer = service.submit(Asked("one"))
        waits = asyncio.create_task(service.until_free())
        await asyncio.sleep(0.05)
        assert not waits.done()
        oracle.let.set()
        await asyncio.gather(answer, waits)

    _run(worker, scenario)


def test_who_waits_when_it_stops_is_told(worker: Worker) -> None:
    async def scenario(service: AnsweringService, oracle: Oracle) -> None:
        oracle.let.clear()
        first, second = service.submit(Asked("first")), service.submit(Asked("second"))
        await asyncio.sleep(0.05)
        service.stop()
        oracle.let.set()
        assert (await first).text == "first"
        with pytest.raises(TooManyQuestions, match="shutting down"):
            await second
        with pytest.raises(TooManyQuestions, match="shutting down"):
            service.submit(Asked("late"))

    _run(worker, scenario)


def test_free_only_when_nobody_asks_aloud_or_is_told(worker: Worker) -> None:
    async def scenario(service: AnsweringService, oracle: Oracle) -> None:
        held: list[int] = []
        service.on_hold = lambda: held.append(1)
        with service.hold():
            waits = asyncio.create_task(service.until_free())
            await service.submit(Asked("one"))
            with service.hold():
                pass
            await asyncio.sleep(0.05)
            assert not waits.done() and held == [1, 1]
        await waits

    _run(worker, scenario)
