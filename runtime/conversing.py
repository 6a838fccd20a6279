"""The services of a spoken conversation: one follows the microphone, one answers what was said to the robot."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from drivers.media import AudioBlock, DriverError, Frame
from models.errors import ModelError
from models.speech import Transcript
from models.voices import Span
from runtime.address import Address, reads_as_question, wake_name
from runtime.answering import AnsweringService, Asked
from runtime.channel import Channel
from runtime.config_talking import VoiceSettings
from runtime.errors import HearsightError
from runtime.gaze import AFTER_S, BEFORE_S, RecentFrames
from runtime.hear import SAMPLE_RATE_HZ
from runtime.own_speech import OwnSpeech
from runtime.question_ear import QuestionEar, Spoken
from runtime.voice import Voice
from runtime.workers import Worker

log = logging.getLogger(__name__)
CONVERSATION = "voice"
BARGE_IN_S = 0.4  # somebody else must speak for so long before the robot falls silent
BARGE_WINDOW_S = 1.5
WAKE_LAG_S = 1.0  # a detector may tell of a wake word so long after the speech with it has ended
ALONE_S = 0.9  # speech that ends sooner after a wake word, with the silence kept behind it, holds no question
_ONE_QUESTIONS_ERRORS = (HearsightError, ModelError, DriverError)


@dataclass(frozen=True)
class SpokenTurn:
    """When each stage of one spoken question ended, by the blocks' clock, and what was asked and answered."""

    question: str
    answer: str
    spoken_s: float
    heard_s: float
    understood_s: float
    answered_s: float
    first_sound_s: float | None


@dataclass(frozen=True)
class Wake:
    """What hears a wake word: `hear` is given all sound and names a phrase just said; `on_wake` is told it and when."""

    hear: Callable[[NDArray[np.float32]], str | None]
    on_wake: Callable[[str, float], None]


class EarService:
    """Sound in, stretches of others' speech out; stops the robot's voice when somebody speaks over it."""

    def __init__(
        self,
        sound: Channel[AudioBlock],
        speech: Channel[Spoken],
        ear: QuestionEar,
        own: OwnSpeech,
        voice: Voice,
        worker: Worker,
        clock: Callable[[], float],
        wake: Wake | None = None,
        frames: RecentFrames | None = None,
    ) -> None:
        self._sound = sound
        self._speech = speech
        self._ear = ear
        self._own = own
        self._voice = voice
        self._worker = worker
        self._clock = clock
        self._wake = wake
        self._frames = frames
        self._glimpsed: tuple[float, tuple[Frame, ...]] = (
            -1.0,
            (),
        )  # when speech began, and what was seen then
        self.interrupted = 0

    async def run(self) -> None:
        """Until the sound ends."""
        async for block in self._sound:
            await self._listen_for_wake_word(block)
            spoken = await self._worker.call(self._others_speech, block)
            self._glimpse(self._ear.began_s, self._ear.speaking_s)
            if spoken is not None:
                await self._speech.put(replace(spoken, heard_s=self._clock(), frames=self._seen(spoken)))
            elif self._voice.speaking and self._ear.speaking_s >= BARGE_IN_S:
                latest = self._ear.latest(BARGE_WINDOW_S)
                if await self._worker.call(self._others_s, latest) >= BARGE_IN_S and self._voice.speaking:
                    self._voice.stop()
                    self.interrupted += 1
        await self._speech.close()

    def _glimpse(self, began_s: float | None, speaking_s: float) -> None:
        """Take what is seen around the beginning of speech, before the frames of then are gone."""
        if self._frames is not None and began_s not in (None, self._glimpsed[0]) and speaking_s >= AFTER_S:
            self._glimpsed = (began_s, self._frames.between(began_s - BEFORE_S, began_s + AFTER_S))

    def _seen(self, spoken: Spoken) -> tuple[Frame, ...]:
        if self._frames is None:
            return ()
        began_s, frames = self._glimpsed
        self._glimpsed = (-1.0, ())
        if frames and spoken.start_s <= began_s <= spoken.end_s:
            return frames
        return self._frames.between(spoken.start_s - BEFORE_S, spoken.start_s + AFTER_S)

    async def _listen_for_wake_word(self, block: AudioBlock) -> None:
        """What the robot itself says wakes nobody."""
        if self._wake is None:
            return
        phrase = await self._worker.call(self._wake.hear, block.samples)
        if phrase is not None and not self._voice.speaking:
            self._wake.on_wake(phrase, block.time_s + block.samples.size / SAMPLE_RATE_HZ)

    def _others_speech(self, block: AudioBlock) -> Spoken | None:
        """The speech that has now ended, without what the robot itself said."""
        spoken = self._ear.hear(block)
        if spoken is None:
            return None
        parts = self._sorted(spoken)
        if not parts:
            return None
        first, last = parts[0].start_s, parts[-1].end_s
        samples = spoken.samples[round(first * SAMPLE_RATE_HZ) : round(last * SAMPLE_RATE_HZ)]
        return Spoken(spoken.start_s + first, spoken.start_s + last, samples)

    def _sorted(self, spoken: Spoken) -> tuple[Span, ...]:
        whole = Span(0.0, spoken.samples.size / SAMPLE_RATE_HZ)
        return self._own.sort(spoken.samples, spoken.start_s, [whole]).others

    def _others_s(self, spoken: Spoken) -> float:
        return sum(part.end_s - part.start_s for part in self._sorted(spoken))


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
        self._open_until_s = -1.0
        self._named = named
        self._looking = looking
        self._woken: tuple[str, float] | None = None  # by which phrase, and when
        self.turns: deque[SpokenTurn] = deque(maxlen=100)
        self.counts: Counter[str] = Counter()

    def listen(self) -> None:
        """Take what is said next for a question (push-to-talk)."""
        self._open_until_s = self._clock() + self._settings.listen_s

    def woken(self, phrase: str, time_s: float) -> None:
        """Take what is said with or after a wake word for a question; its end was heard at `time_s`."""
        self.counts["woken"] += 1
        self._woken = (phrase, time_s)
        self.listen()

    async def run(self) -> None:
        """Until the speech ends. What goes wrong with one question is said or logged, and the next one is heard."""
        async for spoken in self._speech:
            try:
                await self._take(spoken)
            except _ONE_QUESTIONS_ERRORS as error:
                self.counts["failed"] += 1
                log.warning("a spoken question was not answered: %s", error)

    async def _take(self, spoken: Spoken) -> None:
        transcript = await self._worker.call(self._transcribe, spoken.samples)
        understood_s = self._clock()
        question = await self._worker.call(self._question, transcript.text, spoken)
        if question is None and await self._is_looked_at(transcript.text, spoken):
            self.counts["looked"] += 1
            question = transcript.text
        if question is None:
            self.counts["overheard"] += 1
            return
        if not question:
            self.listen()
            return
        self._open_until_s, self._woken = -1.0, None
        self.counts["asked"] += 1
        asker = await self._asker_of(spoken.samples)
        text, language = await self._answer(question, asker)
        answered_s = self._clock()
        said = await self._voice.say(text, language)
        self.turns.append(
            SpokenTurn(
                question, text, spoken.end_s, spoken.heard_s, understood_s, answered_s, said.first_sound_s
            )
        )
        self._open_until_s = self._clock() + self._settings.follow_up_s

    async def _is_looked_at(self, text: str, spoken: Spoken) -> bool:
        """Whether a question is asked while a resident looks here, and not in somebody else's voice."""
        if self._looking is None or not reads_as_question(text):
            return False
        looks = await self._looking(spoken.frames)
        return looks is not None and await self._asker_of(spoken.samples) in (None, looks)

    def _question(self, text: str, spoken: Spoken) -> str | None:
        """What is asked; "" for the robot's name or a wake word alone; None where it is not spoken to."""
        if not text:
            return None
        question = self._address.question(text) if "name" in self._settings.addressed_by else None
        if question is None and spoken.start_s <= self._open_until_s:
            return self._after_wake_word(text, spoken)
        return question

    def _after_wake_word(self, text: str, spoken: Spoken) -> str:
        if self._woken is None or not spoken.start_s <= self._woken[1] <= spoken.end_s + WAKE_LAG_S:
            return text
        asked = self._named(wake_name(self._woken[0])).question(text)
        if asked is None and spoken.end_s - self._woken[1] < ALONE_S:
            return ""  # recognised as something else, but there was nothing besides it
        return text if asked is None else asked

    async def _answer(self, question: str, asker: int | None) -> tuple[str, str]:
        try:
            answer = await self._answering.submit(Asked(question, asker, CONVERSATION, spoken=True))
        except HearsightError as error:
            return str(error), "en"
        return answer.text, answer.language
