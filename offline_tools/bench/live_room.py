"""A room for the live daemon: the demo scene seen and heard as it happens, questions spoken into it, and a loudspeaker.

Stands in for camera, microphone and loudspeaker; everything behind them is the daemon's own.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drivers.media import AudioBlock, Frame
from drivers.replay import Replay
from runtime.hear import SAMPLE_RATE_HZ
from runtime.own_speech import OwnSpeech

BLOCK = 1600
BLOCK_S = BLOCK / SAMPLE_RATE_HZ
QUIET_S = 1.5  # before a question and after its answer
SCENE_S = 10.0  # of the scene between two questions


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked, and its sound (n,), 16 kHz, without silence at its end."""

    text: str
    sound: NDArray[np.float32]


class LiveRoom:
    """The source of a `Live`, in real time. Between questions the scene goes on; in one its sound waits."""

    def __init__(
        self, scene: Path, questions: Sequence[Question], *, patience_s: float, on_end: Callable[[], None]
    ) -> None:
        """on_end: called from another thread when the last question has had its answer, or nobody listens any more."""
        items = list(Replay(scene, frame_rate_hz=5.0).items())
        self._pictures = [item.image for item in items if isinstance(item, Frame)]
        self._sound = np.concatenate([item.samples for item in items if isinstance(item, AudioBlock)])
        self._questions = questions
        self._patience_s = patience_s
        self._answered = threading.Event()
        self._answered.set()
        self._on_end = on_end
        self._origin_s: float | None = None
        self._overhear: Callable[[AudioBlock], None] = lambda block: None
        self.late_items = 0
        self.ends_s: list[float] = []  # when the last sound of each question was heard

    def overhear(self, take: Callable[[AudioBlock], None]) -> None:
        self._overhear = take

    def oversee(self, take: Callable[[Frame], None]) -> None:
        """Nobody looks."""

    def media_s(self) -> float:
        return 0.0 if self._origin_s is None else time.monotonic() - self._origin_s

    def answered(self) -> bool:
        """Go on with the scene: the question has had its answer. False where none was waiting for one."""
        waited = not self._answered.is_set()
        self._answered.set()
        return waited

    def items(self, stop: threading.Event) -> Iterator[Frame | AudioBlock]:
        self._origin_s = time.monotonic()
        try:
            yield from self._timed(stop)
        finally:
            self._on_end()

    def _timed(self, stop: threading.Event) -> Iterator[Frame | AudioBlock]:
        for number, samples in enumerate(self._blocks()):
            if stop.wait(max(0.0, (number + 1) * BLOCK_S - self.media_s())):
                return
            block = AudioBlock(number * BLOCK_S, samples)
            self._overhear(block)
            yield block
            if number % 2 == 0:
                yield Frame(number * BLOCK_S, self._pictures[number // 2 % len(self._pictures)])

    def _blocks(self) -> Iterator[NDArray[np.float32]]:
        silence = np.zeros(BLOCK, dtype=np.float32)
        scene = itertools.cycle(_cut(self._sound))
        quiet = round(QUIET_S / BLOCK_S)
        for question in self._questions:
            yield from itertools.islice(scene, round(SCENE_S / BLOCK_S))
            yield from itertools.repeat(silence, quiet)
            pieces = _cut(question.sound)
            yield from pieces
            padding_s = (len(pieces) * BLOCK - len(question.sound)) / SAMPLE_RATE_HZ
            self.ends_s.append(self.media_s() - padding_s)
            self._answered.clear()
            for _ in range(round(self._patience_s / BLOCK_S)):
                if self._answered.is_set():
                    break
                yield silence
            self._answered.set()
            yield from itertools.repeat(silence, quiet)


def _cut(sound: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    whole = np.pad(sound, (0, -len(sound) % BLOCK))
    return list(whole.reshape(-1, BLOCK))


class RoomLoudspeaker:
    """Plays into nothing, for as long as it takes, and tells the robot what it says."""

    def __init__(self, own: OwnSpeech, clock: Callable[[], float]) -> None:
        self._own = own
        self._clock = clock
        self._stopped = threading.Event()

    def play(self, samples: NDArray[np.float32], sample_rate_hz: int) -> None:
        self._stopped.clear()
        self._own.played(samples, sample_rate_hz, self._clock())
        self._stopped.wait(len(samples) / sample_rate_hz)

    def stop(self) -> None:
        self._stopped.set()
