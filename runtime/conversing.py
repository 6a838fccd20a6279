"""The service that answers aloud what was said to the robot; what is said at all comes from runtime/listening.py."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivers.media import DriverError, Frame
from memory_store.errors import MemoryStoreError
from models.errors import ModelError
from models.speech import Transcript
from runtime.address import Address, reads_as_question, wake_name
from runtime.answer import Answer
from runtime.answering import AnsweringService, Asked
from runtime.channel import Channel
from runtime.config_talking import VoiceSettings
from runtime.errors import HearsightError
from runtime.question_ear import LEAD_S, Spoken
from runtime.voice import Voice
from runtime.workers import Worker

log = logging.getLogger(__name__)
CONVERSATION = "voice"
WAKE_LAG_S = 1.0  # a detector may tell of a wake word so long after the speech with it has ended
ALONE_S = 0.9  # speech that ends sooner after a wake word, with the silence kept behind it, holds no question
_ONE_QUESTIONS_ERRORS = (HearsightError, ModelError, DriverError)


@dataclass(frozen=True)
class SpokenTurn:
    """A spoken question, what was said to it, and when each stage ended, by the blocks' clock.

    answer: None where it was refused; spoken_s: when the speech ended; heard_s: when that was noticed; recognised_s:
    when its words were known; asked_s: when it was known that the robot is asked, and by whom; first_sound_s: None
    where nothing was said.
    """

    question: str
    text: str
    answer: Answer | None
    spoken_s: float
    heard_s: float
    recognised_s: float
    asked_s: float
    answered_s: float
    first_sound_s: float | None


@dataclass(frozen=True)
class _Understood:
    """The words of a stretch of speech, what of them is asked by name, and, if something is, by whom."""

    text: str
    named: str | None
    asker: int | None


class ReplyService:
    """Speech in; what is said to the robot is answered aloud.

    It is spoken to by its name, after `listen` was called, with or after a wake word, right after it has answered, or
    by a question while a resident looks at it, if `looking` is there to find them. named: makes an Address of one
    name, for wake words.
    """

    def __init__(
        self,
        speech: Channel[Spoken],
        transcribe: Callable[[NDArray[np.float32]], Transcript],
        asker_of: Callable[[NDArray[np.float32]], Awaitable[int | None]],
        answering: AnsweringService,
        voice: Voice,
        settings: VoiceSettings,
        *,
        address: Address,
        named: Callable[[str], Address],
        worker: Worker,
        clock: Callable[[], float],
        looking: Callable[[Sequence[Frame]], Awaitable[int | None]] | None = None,
        on_turn: Callable[[SpokenTurn], None] = lambda turn: None,
    ) -> None:
        self._speech = speech
        self._transcribe = transcribe
        self._asker_of = asker_of
        self._answering = answering
        self._voice = voice
        self._settings = settings
        self._address = address
        self._worker = worker
        self._clock = clock
        self._open_from_s, self._open_until_s = -1.0, -1.0  # speech that begins between them is a question
        self._named = named
        self._looking = looking
        self._woken: tuple[str, float] | None = None  # by which phrase, and when
        self._on_turn = on_turn
        self._held = ExitStack()
        # What was understood of the speech that ends then, if it has ended.
        self._drafted: tuple[float, _Understood] | None = None
        self.counts: Counter[str] = Counter()

    def listen(self) -> None:
        """Take what is said next for a question (push-to-talk), also what has just begun."""
        self._open_from_s, self._open_until_s = -1.0, self._clock() + self._settings.listen_s

    def woken(self, phrase: str, time_s: float) -> None:
        """Take what is said with or after a wake word for a question; its end was heard at `time_s`."""
        self.counts["woken"] += 1
        self._woken = (phrase, time_s)
        self.listen()

    async def run(self) -> None:
        """Until the speech ends. What goes wrong with one question is said or logged, and the next one is heard."""
        async for spoken in self._speech:
            try:
                if spoken.draft:
                    await self._prepare(spoken)
                else:
                    await self._take(spoken)
            except _ONE_QUESTIONS_ERRORS as error:
                self.counts["failed"] += 1
                log.warning("a spoken question was not answered: %s", error)
            finally:
                if not spoken.draft:
                    self._held.close()

    async def _prepare(self, spoken: Spoken) -> None:
        """Understand what may have ended; if the robot is asked, what can wait waits from now on."""
        understood = await self._understand(spoken)
        self._drafted = (spoken.end_s, understood)
        if understood.named is not None:
            self._hold()

    def _hold(self) -> None:
        self._held.close()
        self._held.enter_context(self._answering.hold())

    async def _take(self, spoken: Spoken) -> None:
        drafted_s, understood = self._drafted or (-1.0, None)
        if understood is None or drafted_s != spoken.end_s:
            understood = await self._understand(spoken)
        self._drafted = None
        recognised_s = self._clock()
        text, question = understood.text, understood.named
        if question is None and text and self._open_from_s <= spoken.start_s <= self._open_until_s:
            question = await self._worker.call(self._after_wake_word, text, spoken)
        if question is None and await self._is_looked_at(text, spoken):
            self.counts["looked"] += 1
            question = text
        if question is None:
            self.counts["overheard"] += 1
            return
        if not question:
            self.listen()
            return
        self._open_until_s, self._woken = -1.0, None
        self.counts["asked"] += 1
        self._hold()
        asker = understood.asker if understood.named else await self._asker_of(spoken.samples)
        asked_s = self._clock()
        answer, text = await self._answer(question, asker)
        answered_s = self._clock()
        said = await self._voice.say(text, answer.language if answer is not None else "en")
        self._on_turn(
            SpokenTurn(
                question, text, answer, spoken.end_s - LEAD_S, spoken.heard_s, recognised_s, asked_s, answered_s,
                said.first_sound_s,
            )
        )  # fmt: skip
        # What is said while the robot still thinks is others' talk; what is said over its answer is meant for it.
        self._open_from_s = answered_s if said.first_sound_s is None else said.first_sound_s
        self._open_until_s = self._clock() + self._settings.follow_up_s

    async def _is_looked_at(self, text: str, spoken: Spoken) -> bool:
        """Whether a question is asked while a resident looks here, and not in somebody else's voice."""
        if self._looking is None or not reads_as_question(text):
            return False
        looks = await self._looking(spoken.frames)
        return looks is not None and await self._asker_of(spoken.samples) in (None, looks)

    async def _understand(self, spoken: Spoken) -> _Understood:
        text, named = await self._worker.call(self._words, spoken.samples)
        return _Understood(text, named, await self._asker_of(spoken.samples) if named else None)

    def _words(self, samples: NDArray[np.float32]) -> tuple[str, str | None]:
        """What is said, and what of it is said to the robot by its name: "" for the name alone, None for nothing."""
        text = self._transcribe(samples).text
        by_name = "name" in self._settings.addressed_by
        return text, self._address.question(text) if text and by_name else None

    def _after_wake_word(self, text: str, spoken: Spoken) -> str:
        """What is asked without the robot's name; "" for a wake word alone."""
        if self._woken is None or not spoken.start_s <= self._woken[1] <= spoken.end_s + WAKE_LAG_S:
            return text
        asked = self._named(wake_name(self._woken[0])).question(text)
        if asked is None and spoken.end_s - self._woken[1] < ALONE_S:
            return ""  # recognised as something else, but there was nothing besides it
        return text if asked is None else asked

    async def _answer(self, question: str, asker: int | None) -> tuple[Answer | None, str]:
        try:
            answer = await self._answering.submit(Asked(question, asker, CONVERSATION, spoken=True))
        except (HearsightError, ModelError, MemoryStoreError) as error:
            return None, str(error)
        return answer, answer.text
