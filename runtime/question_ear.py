"""The ear for questions: follows the sound as it comes in and gives each stretch of speech as soon as it has ended.

What is remembered of the same sound is left to runtime/hear.py, which hears it clip by clip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivers.media import AudioBlock, Frame
from models.voice_activity import ActivityStream
from runtime.hear import SAMPLE_RATE_HZ

CHUNK_S = 0.032
SPEECH, RELEASE = 0.5, 0.35  # probabilities at which speech begins and under which it ends
SHORTEST_S = 0.25
LEAD_S = 0.3  # sound kept before speech, so that its first consonant stays whole
PAUSE_S = LEAD_S + CHUNK_S  # silence after which speech may have ended: as much of it as is kept behind it
LONGEST_DRAFT_S = 6.0  # speech that is longer is no hurried question
GAP_S = 0.05  # blocks further apart than this do not belong to one stretch


@dataclass(frozen=True, eq=False)
class Spoken:
    """One stretch of speech and the sound around it; times are the blocks'.

    heard_s: when its end was known; frames: what was seen while it began, where somebody wants to know; draft: it may
    go on, but if it does not, it is given again, the same but for this.
    """

    start_s: float
    end_s: float
    samples: NDArray[np.float32]
    heard_s: float = 0.0
    frames: tuple[Frame, ...] = ()
    draft: bool = False


class QuestionEar:
    """Cuts speech out of blocks of sound. Used from one thread at a time."""

    def __init__(self, activity: ActivityStream, *, end_silence_s: float, longest_s: float) -> None:
        self._activity = activity
        self._end_silence_s = end_silence_s
        self._longest_s = longest_s
        self._sound: list[NDArray[np.float32]] = []
        self._start_s = self._next_s = 0.0  # of what is kept; of the next block, if it follows
        self._judged_s = 0.0  # up to where the activity is known
        self._speech_s: float | None = None
        self._last_voice_s = self._drafted_s = 0.0

    @property
    def began_s(self) -> float | None:
        """When the speech that goes on now began; None in silence."""
        return self._speech_s

    @property
    def speaking_s(self) -> float:
        """For how long somebody has been speaking now, the pauses included; 0 in silence."""
        return 0.0 if self._speech_s is None else self._judged_s - self._speech_s

    def latest(self, length_s: float) -> Spoken:
        """The newest sound, at most so long, whatever it is."""
        samples = self._kept()[-round(length_s * SAMPLE_RATE_HZ) :]
        return Spoken(self._next_s - samples.size / SAMPLE_RATE_HZ, self._next_s, samples)

    def hear(self, block: AudioBlock) -> Spoken | None:
        """Take the next block; a stretch of speech where one has now ended."""
        if abs(block.time_s - self._next_s) > GAP_S:
            self._forget(block.time_s)
        self._sound.append(block.samples)
        self._next_s = block.time_s + block.samples.size / SAMPLE_RATE_HZ
        ended = None
        for probability in self._activity.feed(block.samples):
            ended = self._judge(float(probability)) or ended
        if self._speech_s is None:
            self._keep_from(self._judged_s - max(LEAD_S, 2.0))
        return ended

    def pause(self) -> Spoken | None:
        """What was said until now where a pause has begun that may become the end; once for each pause.

        If nothing more is said, `hear` gives the same stretch again when it has ended.
        """
        if self._speech_s is None or self._last_voice_s == self._drafted_s:
            return None
        said_s = self._last_voice_s - self._speech_s
        if self._judged_s - self._last_voice_s < PAUSE_S or not SHORTEST_S <= said_s <= LONGEST_DRAFT_S:
            return None
        self._drafted_s = self._last_voice_s
        return self._cut(self._speech_s, self._last_voice_s)

    def _judge(self, probability: float) -> Spoken | None:
        begin_s, self._judged_s = self._judged_s, self._judged_s + CHUNK_S
        if probability >= SPEECH or (self._speech_s is not None and probability >= RELEASE):
            self._speech_s = begin_s if self._speech_s is None else self._speech_s
            self._last_voice_s = self._judged_s
        if self._speech_s is None:
            return None
        silent_s = self._judged_s - self._last_voice_s
        if silent_s < self._end_silence_s and self.speaking_s < self._longest_s:
            return None
        start_s, end_s, self._speech_s = self._speech_s, self._last_voice_s, None
        return self._cut(start_s, end_s) if end_s - start_s >= SHORTEST_S else None

    def _cut(self, start_s: float, end_s: float) -> Spoken:
        first = max(0, round((start_s - LEAD_S - self._start_s) * SAMPLE_RATE_HZ))
        last = round((end_s + LEAD_S - self._start_s) * SAMPLE_RATE_HZ)
        begin_s = self._start_s + first / SAMPLE_RATE_HZ
        return Spoken(begin_s, begin_s + (last - first) / SAMPLE_RATE_HZ, self._kept()[first:last].copy())

    def _forget(self, time_s: float) -> None:
        self._activity.reset()
        self._sound, self._speech_s = [], None
        self._start_s = self._judged_s = time_s

    def _kept(self) -> NDArray[np.float32]:
        if len(self._sound) != 1:
            self._sound = [np.concatenate(self._sound)] if self._sound else [np.zeros(0, dtype=np.float32)]
        return self._sound[0]

    def _keep_from(self, time_s: float) -> None:
        gone = round((time_s - self._start_s) * SAMPLE_RATE_HZ)
        if gone > 0:
            self._sound = [self._kept()[gone:]]
            self._start_s += gone / SAMPLE_RATE_HZ
