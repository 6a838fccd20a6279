"""A spoken conversation between scripted parts: who is answered, follow-ups, push-to-talk, barge-in, faults."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from drivers.media import AudioBlock, DriverError, Frame
from models.errors import ModelError
from models.speech import Transcript
from models.voices import Span
from runtime.address import Address
from runtime.answer import Answer
from runtime.answering import AnsweringService, Asked, TooManyQuestions
from runtime.channel import Channel
from runtime.config_talking import VoiceSettings
from runtime.conversing import ReplyService
from runtime.listening import EarService, Wake
from runtime.own_speech import OwnSpeech, SortedSpeech
from runtime.question_ear import QuestionEar, Spoken
from runtime.voice import Said, Voice
from runtime.workers import Worker
from tests.answers import plain_answer

RATE = 16000


class Answering:
    """Answers at once, or refuses; keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.full = self.broken = False
        self.waiting = self.held = 0

    @contextmanager
    def hold(self) -> Iterator[None]:
        self.held += 1
        yield
        self.held -= 1

    def submit(self, asked: Asked) -> asyncio.Future[Answer]:
        assert self.held == 1
        if self.broken:
            failed: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            failed.set_exception(ModelError("the language model was busy"))
            return failed
        if self.full:
            raise TooManyQuestions("8 other questions are waiting already: ask again in a moment.")
        self.asked.append(asked)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        answer.set_result(plain_answer(f"to {asked.text}"))
        return answer


@dataclass
class Mouth:
    """Says everything at once."""

    speaking: bool = False
    broken: bool = False
    stopped: int = 0
    first_sound_s: float = 0.0
    said: list[str] = field(default_factory=list)

    async def say(self, text: str, language: str) -> Said:
        if self.broken:
            raise DriverError("speaker default: cannot play")
        self.said.append(text)
        return Said(1, 1, self.first_sound_s)

    def stop(self) -> None:
        self.speaking = False
        self.stopped += 1


class Talk:
    """A reply service whose clock is the start of what was said last."""

    def __init__(
        self, looking: Callable[[Sequence[Frame]], Awaitable[int | None]] | None = None, **settings: Any
    ) -> None:
        self.answering, self.mouth = Answering(), Mouth()
        self.now_s = 0.0
        self.texts: list[str] = []
        self.recognised: list[float] = []
        self.speech: Channel[Spoken] = Channel("spoken", 4)
        self.worker = Worker("reply")
        self.reply = ReplyService(
            self.speech, self._transcribe, self._asker, cast(AnsweringService, self.answering),
            cast(Voice, self.mouth), VoiceSettings(enabled=True, **settings),
            address=Address(("Hearsight",), lambda texts: texts),
            named=lambda name: Address((name,), lambda texts: [text.casefold() for text in texts]),
            worker=self.worker, clock=lambda: self.now_s, looking=looking,
        )  # fmt: skip

    def _transcribe(self, samples: NDArray[np.float32]) -> Transcript:
        self.recognised.append(float(samples[0]))
        return Transcript(0.0, 1.0, self.texts[int(samples[0])], "en", 0.9)

    async def _asker(self, samples: NDArray[np.float32]) -> int | None:
        return 4

    def hear(self, *said: tuple[float, str] | Callable[[], None]) -> None:
        """(when, what) one after the other; a function is called between them."""

        async def scenario() -> None:
            running = asyncio.create_task(self.reply.run())
            for one in said:
                if callable(one):
                    one()
                    continue
                before = sum(self.reply.counts.values())
                self.now_s = one[0]
                self.texts.append(one[1])
                sound = np.full(RATE, len(self.texts) - 1, dtype=np.float32)
                await self.speech.put(Spoken(one[0], one[0] + 1, sound))
                await _settle(lambda: len(self.speech) == 0, before)
            await self.speech.close()
            await asyncio.wait_for(running, 10)

        async def _settle(done: Callable[[], bool], before: int) -> None:
            for _ in range(40):
                await asyncio.sleep(0.005)
            assert done()

        try:
            asyncio.run(scenario())
        finally:
            self.worker.close()

    @property
    def questions(self) -> list[str]:
        return [asked.text for asked in self.answering.asked]


def test_only_what_is_said_to_the_robot_is_answered() -> None:
    talk = Talk(follow_up_s=0.0)
    talk.hear(
        (1.0, "Where are my keys?"), (5.0, "Hearsight, where are my keys?"), (9.0, ""), (13.0, "I see.")
    )
    assert talk.questions == ["where are my keys?"] and talk.mouth.said == ["to where are my keys?"]
    assert talk.answering.asked[0].asker == 4 and talk.answering.asked[0].conversation == "voice"
    assert talk.reply.counts == {"asked": 1, "overheard": 3}


def test_right_after_an_answer_and_after_its_name_alone_it_listens_for_a_while() -> None:
    talk = Talk(follow_up_s=6.0, listen_s=8.0)
    talk.hear(
        (0.0, "Hearsight, who was here?"), (4.0, "And yesterday?"), (20.0, "And the day before?"),
        (40.0, "Hearsight!"), (47.0, "When was Anna here?"), (60.0, "Hearsight?"), (70.0, "Too late."),
    )  # fmt: skip
    assert talk.questions == ["who was here?", "And yesterday?", "When was Anna here?"]


def test_talk_of_others_while_it_thinks_is_no_follow_up() -> None:
    talk = Talk(follow_up_s=6.0)
    talk.mouth.first_sound_s = 3.0
    talk.hear((0.0, "Hearsight, who was here?"), (2.0, "I am hungry."), (3.5, "And yesterday?"))
    assert talk.questions == ["who was here?", "And yesterday?"]


def test_push_to_talk() -> None:
    talk = Talk(addressed_by=("push",), follow_up_s=0.0)
    talk.hear((0.0, "Hearsight, who was here?"), talk.reply.listen, (5.0, "Who was here?"), (6.0, "Thanks."))
    assert talk.questions == ["Who was here?"]


def test_a_draft_that_was_the_end_is_not_recognised_again() -> None:
    talk = Talk(follow_up_s=0.0)
    talk.texts = ["Hearsight, who was here?", "Hearsight, who", "Hearsight, who was here yesterday?"]

    async def scenario() -> None:
        for number, (start_s, end_s, draft) in enumerate(
            [(0, 2, True), (0, 2, False), (5, 6, True), (5, 8, False)]
        ):
            sound = np.full(RATE, max(0, number - 1), dtype=np.float32)
            await talk.speech.put(Spoken(start_s, end_s, sound, draft=draft))
            await asyncio.sleep(0)
        await talk.speech.close()
        await asyncio.wait_for(talk.reply.run(), 10)

    try:
        asyncio.run(scenario())
    finally:
        talk.worker.close()
    assert talk.questions == ["who was here?", "who was here yesterday?"]
    assert talk.recognised == [0.0, 1.0, 2.0] and talk.answering.held == 0


def test_a_wake_word_alone_with_a_question_and_misheard() -> None:
    talk = Talk(addressed_by=("wake",), wake="hey_jarvis", follow_up_s=0.0, listen_s=5.0)

    def woken(at_s: float) -> Callable[[], None]:
        def tell() -> None:
            talk.now_s = at_s
            talk.reply.woken("hey_jarvis_v0.1", at_s)

        return tell

    talk.hear(
        (0.0, "Hearsight, who was here?"), (5.0, "Hey Jarvis, who was here?"),
        woken(10.5), (10.0, "Hey Jarvis!"), (12.0, "Who was here?"), (14.0, "I see."),
        woken(20.1), (20.0, "Hey, Jarvis, and yesterday?"),
        woken(30.8), (30.0, "Hay, Java."), (32.0, "Where are my keys?"),
        woken(40.05), (40.0, "Hedge of this when was Anna here?"),
        woken(50.0), (58.0, "Too late."),
    )  # fmt: skip
    assert talk.questions == [
        "Who was here?", "and yesterday?", "Where are my keys?", "Hedge of this when was Anna here?"
    ]  # fmt: skip
    assert talk.reply.counts["woken"] == 5


def test_a_refusal_is_said_and_a_broken_loudspeaker_costs_one_answer() -> None:
    talk = Talk(follow_up_s=0.0)
    talk.answering.full = True

    def recover() -> None:
        talk.answering.full, talk.mouth.broken = False, True

    def mend() -> None:
        talk.mouth.broken = False

    talk.hear((0.0, "Hearsight, one?"), recover, (20.0, "Hearsight, two?"), mend, (40.0, "Hearsight, three?"))
    assert talk.mouth.said == ["8 other questions are waiting already: ask again in a moment.", "to three?"]
    assert talk.reply.counts["failed"] == 1 and talk.questions == ["two?", "three?"]


def test_an_answer_that_fails_is_told_aloud() -> None:
    talk = Talk(follow_up_s=0.0)
    talk.answering.broken = True
    talk.hear((0.0, "Hearsight, who was here?"))
    assert talk.mouth.said == ["the language model was busy"] and talk.reply.counts["failed"] == 0


class ScriptedEar:
    """Ends a stretch of speech at each block whose first sample is 1; speaks all the time."""

    speaking_s, began_s = 2.0, None

    def hear(self, block: AudioBlock) -> Spoken | None:
        self.block = block
        return Spoken(block.time_s, block.time_s + 1.0, block.samples) if block.samples[0] == 1 else None

    def pause(self) -> Spoken | None:
        return None

    def latest(self, length_s: float) -> Spoken:
        return Spoken(self.block.time_s, self.block.time_s + 1.0, self.block.samples)


class ScriptedOwn:
    """Takes the second half of a sound for others' speech where its last sample is 1, and none of it elsewhere."""

    def sort(self, samples: NDArray[np.float32], start_s: float, spans: list[Span]) -> SortedSpeech:
        (whole,) = spans
        half_s = whole.end_s / 2
        others = (Span(half_s, whole.end_s),) if samples[-1] == 1 else ()
        return SortedSpeech((Span(0.0, half_s),), others, tuple(True for _ in others))


def _listen(
    mouth: Mouth, *ends: tuple[float, float], wake: Wake | None = None
) -> tuple[list[Spoken], EarService]:
    sound: Channel[AudioBlock] = Channel("overheard", 100, lambda block: True)
    speech: Channel[Spoken] = Channel("spoken", 20)
    worker = Worker("ear")
    service = EarService(
        sound, speech, cast(QuestionEar, ScriptedEar()), cast(OwnSpeech, ScriptedOwn()), cast(Voice, mouth),
        worker, lambda: 77.0, wake,
    )  # fmt: skip

    async def scenario() -> list[Spoken]:
        for number, (first, last) in enumerate(ends):
            samples = np.zeros(RATE, dtype=np.float32)
            samples[0], samples[-1] = first, last
            await sound.put(AudioBlock(float(number), samples))
        await sound.close()
        await asyncio.wait_for(service.run(), 10)
        return [spoken async for spoken in speech]

    try:
        return asyncio.run(scenario()), service
    finally:
        worker.close()


def test_the_robot_does_not_hear_itself_and_cuts_itself_out_of_what_others_say() -> None:
    found, _ = _listen(Mouth(), (1, 0), (1, 1), (0, 1))
    (one,) = found
    assert one.start_s == 1.5 and one.end_s == 2.0 and len(one.samples) == RATE / 2 and one.heard_s == 77.0


@pytest.mark.parametrize(("ends", "stopped"), [([(0, 0), (0, 0)], 0), ([(0, 0), (0, 1), (0, 1)], 1)])
def test_it_falls_silent_when_somebody_else_speaks_over_it(
    ends: list[tuple[float, float]], stopped: int
) -> None:
    mouth = Mouth(speaking=True)
    _, service = _listen(mouth, *ends)
    assert mouth.stopped == service.interrupted == stopped


@pytest.mark.parametrize(("speaking", "told"), [(False, [("hey", 2.0)]), (True, [])])
def test_a_wake_word_is_told_with_its_time_unless_the_robot_says_it_itself(
    speaking: bool, told: list[tuple[str, float]]
) -> None:
    woken: list[tuple[str, float]] = []

    def hear(samples: NDArray[np.float32]) -> str | None:
        return "hey" if samples[0] == 1 else None

    wake = Wake(hear, lambda phrase, time_s: woken.append((phrase, time_s)))
    _listen(Mouth(speaking=speaking), (0, 0), (1, 0), (0, 0), wake=wake)
    assert woken == told
