"""Diarization error: speech that was missed, made up, or given to the wrong speaker (NIST, pyannote.metrics)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FRAME_S = 0.01
COLLAR_S = 0.25


@dataclass(frozen=True)
class Speaking:
    """Somebody speaks from `start_s` to `end_s`; `who` None: nobody was named."""

    start_s: float
    end_s: float
    who: Hashable


@dataclass(frozen=True)
class DiarizationError:
    """Seconds of error and of reference speech, speech of two at once counted twice."""

    missed_s: float = 0.0
    made_up_s: float = 0.0
    confused_s: float = 0.0
    speech_s: float = 0.0

    def __add__(self, other: DiarizationError) -> DiarizationError:
        return DiarizationError(
            self.missed_s + other.missed_s,
            self.made_up_s + other.made_up_s,
            self.confused_s + other.confused_s,
            self.speech_s + other.speech_s,
        )

    @property
    def rate(self) -> float:
        """All errors for each second of reference speech."""
        wrong_s = self.missed_s + self.made_up_s + self.confused_s
        return wrong_s / self.speech_s if self.speech_s else 0.0


def read_rttm(path: Path) -> list[Speaking]:
    """The SPEAKER lines of an RTTM file."""
    rows = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return [
        Speaking(float(row[3]), float(row[3]) + float(row[4]), row[7])
        for row in rows
        if row[:1] == ["SPEAKER"]
    ]


def diarization_error(
    truth: Sequence[Speaking], guess: Sequence[Speaking], duration_s: float, *, collar_s: float = 0.0
) -> DiarizationError:
    """Compare frame by frame under the best pairing of guessed with true speakers; overlap counts.

    collar_s: as in pyannote.metrics and NIST, this many seconds on either side of each true boundary do not count.
    """
    frames = round(duration_s / FRAME_S)
    counted = np.ones(frames, dtype=np.bool_)
    if collar_s > 0:
        for one in truth:
            for edge_s in (one.start_s, one.end_s):
                counted[_frame(edge_s - collar_s, frames) : _frame(edge_s + collar_s, frames)] = False
    real, _ = _activity(truth, frames)
    told, names = _activity(guess, frames)
    real, told = real[counted], told[counted]
    real_count, told_count = real.sum(axis=1), told.sum(axis=1)
    shared = np.array([[int((real[:, r] & told[:, t]).sum()) for t in range(told.shape[1])]
                       for r in range(real.shape[1])]).reshape(real.shape[1], told.shape[1])  # fmt: skip
    shared[:, [index for index, name in enumerate(names) if name is None]] = 0
    return DiarizationError(
        float(np.maximum(0, real_count - told_count).sum()) * FRAME_S,
        float(np.maximum(0, told_count - real_count).sum()) * FRAME_S,
        float(np.minimum(real_count, told_count).sum() - best_pairing(shared)) * FRAME_S,
        float(real_count.sum()) * FRAME_S,
    )


def best_pairing(shared: NDArray[np.int64]) -> int:
    """The most that pairs of one row with one column can sum to; few rows, each column used once."""
    rows, columns = shared.shape

    @cache
    def best(row: int, used: int) -> int:
        if row == rows:
            return 0
        free = (column for column in range(columns) if not used >> column & 1 and shared[row, column])
        taken = (int(shared[row, column]) + best(row + 1, used | 1 << column) for column in free)
        return max(best(row + 1, used), max(taken, default=0))

    return best(0, 0)


def _activity(speaking: Sequence[Speaking], frames: int) -> tuple[NDArray[np.bool_], list[Hashable]]:
    names = list(dict.fromkeys(one.who for one in speaking))
    active = np.zeros((frames, len(names)), dtype=np.bool_)
    for one in speaking:
        active[_frame(one.start_s, frames) : _frame(one.end_s, frames), names.index(one.who)] = True
    return active, names


def _frame(time_s: float, frames: int) -> int:
    return min(frames, max(0, round(time_s / FRAME_S)))
