"""The answering service: questions from everywhere, answered one after another; a few may wait, more are refused."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from memory_store.errors import MemoryStoreError
from models.errors import ModelError
from runtime.answer import Answer, Round
from runtime.errors import HearsightError
from runtime.workers import Worker

_ASKERS_ERRORS = (HearsightError, MemoryStoreError, ModelError)


class TooManyQuestions(HearsightError):
    """So many questions wait already that another one would wait too long."""


@dataclass(frozen=True)
class Asked:
    """A question as it came in.

    asker: id of the person who asks; on_round is called from another thread; spoken: whether a voice asked, so that
    an asker of None is somebody unknown; picture, sound: the bytes of a file that "this", "she" or "it" is in;
    before_clip: ask the memory as it was before this clip.
    """

    text: str
    asker: int | None = None
    conversation: str | None = None
    on_round: Callable[[Round], None] | None = None
    spoken: bool = False
    picture: bytes | None = field(default=None, repr=False)
    sound: bytes | None = field(default=None, repr=False)
    before_clip: int | None = None


class AnswerFailed(HearsightError):
    """The answer ended in a fault of the robot's own, which its log tells more about."""


class AnsweringService:
    """Answers in the order of asking, on the event loop's thread but for `answer`, which runs on the worker's.

    What `answer` raises about the question, the memory or the model is the asker's to hear; the rest is a fault.
    """

    def __init__(self, answer: Callable[[Asked], Answer], worker: Worker, *, most_waiting: int) -> None:
        self._answer = answer
        self._worker = worker
        self._most_waiting = most_waiting
        self._waiting: deque[tuple[Asked, asyncio.Future[Answer]]] = deque()
        self._answering = False
        self._stopped = False
        self._holds = 0
        self._wake = asyncio.Event()
        self._free = asyncio.Event()
        self._free.set()
        self.answered = 0
        self.refused = 0
        self.on_hold: Callable[[], None] = lambda: None  # what can wait is to give way at once

    @property
    def waiting(self) -> int:
        """How many questions wait, the one being answered included."""
        return len(self._waiting) + self._answering

    def submit(self, asked: Asked) -> asyncio.Future[Answer]:
        """The answer to be; whoever cancels it does not want it any more. Raises TooManyQuestions."""
        if self._stopped:
            raise TooManyQuestions("The robot is shutting down: ask again when it is back.")
        if self.waiting >= self._most_waiting:
            self.refused += 1
            raise TooManyQuestions(
                f"{self.waiting} other questions are waiting already: ask again in a moment."
            )
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, answer))
        self._free.clear()
        self._wake.set()
        return answer

    async def run(self) -> None:
        """Until `stop`; a question whose asker has gone is left out."""
        while not self._stopped:
            if not self._waiting:
                self._settle()
                self._wake.clear()
                await self._wake.wait()
                continue
            asked, answer = self._waiting.popleft()
            if not answer.done():
                await self._give(asked, answer)
        for _, answer in self._waiting:
            answer.set_exception(TooManyQuestions("The robot is shutting down: ask again when it is back."))
        self._waiting.clear()
        self._settle()

    def stop(self) -> None:
        """End `run` after the answer that is being given; whoever still waits is told."""
        self._stopped = True
        self._wake.set()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Let nothing that can wait begin: a question is being asked, or its answer told."""
        self._holds += 1
        self._free.clear()
        self.on_hold()
        try:
            yield
        finally:
            self._holds -= 1
            self._settle()

    def _settle(self) -> None:
        if not (self._holds or self._waiting or self._answering):
            self._free.set()

    async def until_free(self) -> None:
        """Wait until no question is asked, waits, is being answered, or is held."""
        await self._free.wait()

    async def _give(self, asked: Asked, answer: asyncio.Future[Answer]) -> None:
        self._answering = True
        try:
            given = await self._worker.call(self._answer, asked)
        except _ASKERS_ERRORS as error:
            if not answer.done():
                answer.set_exception(error)
        else:
            self.answered += 1
            if not answer.done():
                answer.set_result(given)
        finally:
            self._answering = False
            if not answer.done():
                answer.set_exception(
                    AnswerFailed("Answering failed: ask again, or look into the robot's log.")
                )
