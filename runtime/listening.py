"""The service that follows the microphone: speech for the reply, wake words, and whoever speaks over the robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from drivers.media import AudioBlock, Frame
from models.voices import Span
from runtime.channel import Channel
from runtime.gaze import AFTER_S, BEFORE_S, RecentFrames
from runtime.hear import SAMPLE_RATE_HZ
from runtime.own_speech import OwnSpeech
from runtime.question_ear import QuestionEar, Spoken
from runtime.voice import Voice
from runtime.workers import Worker

BARGE_IN_S = 0.4  # somebody else must speak for so long before the robot falls silent
BARGE_WINDOW_S = 1.5


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
        # When speech began, and what was seen then.
        self._glimpsed: tuple[float, tuple[Frame, ...]] = (-1.0, ())
        self.interrupted = 0

    async def run(self) -> None:
        """Until the sound ends."""
        async for block in self._sound:
            await self._listen_for_wake_word(block)
            spoken = await self._worker.call(self._others_speech, block)
            self._glimpse(self._ear.began_s, self._ear.speaking_s)
            if spoken is not None:
                await self._speech.put(replace(spoken, heard_s=self._clock(), frames=self._seen(spoken)))
            elif not self._voice.speaking:
                await self._offer_draft()
            elif self._ear.speaking_s >= BARGE_IN_S:
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

    async def _offer_draft(self) -> None:
        """Give what was said before a pause to be recognised already, while it shows whether it has ended."""
        paused = self._ear.pause()
        if paused is not None and (spoken := await self._worker.call(self._without_own, paused)) is not None:
            await self._speech.put(replace(spoken, draft=True))

    def _others_speech(self, block: AudioBlock) -> Spoken | None:
        spoken = self._ear.hear(block)
        return None if spoken is None else self._without_own(spoken)

    def _without_own(self, spoken: Spoken) -> Spoken | None:
        """A stretch of speech without what the robot itself said in it; None where nothing is left."""
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
