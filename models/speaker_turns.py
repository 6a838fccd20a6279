"""Who speaks when within one clip: pyannote segmentation-3.0 in overlapping windows, stitched together.

Speakers are numbered within the clip only; which person one is, is left to the voice embedding.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError
from models.sessions import open_session
from models.waveform import SAMPLE_RATE_HZ, Samples, check_samples

MODEL_FILE = "segmentation-3.0.onnx"
_FRAME = 270  # samples between two frames
_FIRST_FRAME = 495  # sample on which the first frame is centred
_FRAME_S = _FRAME / SAMPLE_RATE_HZ
_WINDOW_S = 10.0
_WINDOW_FRAMES = round(_WINDOW_S / _FRAME_S)
_SHORTEST = SAMPLE_RATE_HZ // 10
_SAME_VOICE_S = 0.25
# which of three local speakers each class of the powerset contains (Plaquet & Bredin 2023)
_POWERSET = np.array(
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=np.float32
)
_LOCAL = 3

Activity = NDArray[np.float32]  # (frames, speakers), probability that each speaks


@dataclass(frozen=True)
class Turn:
    """A speaker's stretch of speech in seconds; overlapped where somebody else speaks throughout it too."""

    start_s: float
    end_s: float
    speaker: int
    overlapped: bool


class SpeakerTurns:
    """pyannote segmentation-3.0: 10 s windows every `step_s`, at most three speakers in each.

    Pauses of a speaker shorter than `min_pause_s` are filled, stretches shorter than `min_turn_s` dropped.
    """

    def __init__(
        self,
        directory: Path,
        *,
        step_s: float = 5.0,
        threshold: float = 0.5,
        min_turn_s: float = 0.15,
        min_pause_s: float = 0.2,
        threads: int = 1,
    ) -> None:
        if not 0 < step_s < _WINDOW_S:
            raise ModelError(
                f"step of speaker windows is {step_s} s; give more than 0 and less than {_WINDOW_S}"
            )
        self._session = open_session(directory / MODEL_FILE, threads=threads)
        self.provider = self._session.provider
        self._step = max(1, round(step_s / _FRAME_S))
        self._threshold = threshold
        self._min_turn = max(1, round(min_turn_s / _FRAME_S))
        self._min_pause = max(1, round(min_pause_s / _FRAME_S))

    def turns(self, samples: NDArray[Any]) -> list[Turn]:
        """Turns in order of their start, none where nobody speaks. samples: (n,), 16 kHz, [-1, 1].

        A turn ends where somebody joins in or falls silent, so that `overlapped` holds for all of it.
        Raises ModelError for audio that is not finite or not of that kind.
        """
        checked = check_samples(samples)
        activity = self._activity(checked)
        speaking = np.zeros(activity.shape, dtype=np.bool_)
        for speaker in range(activity.shape[1]):
            for start, end in self._runs(activity[:, speaker] >= self._threshold):
                speaking[start:end, speaker] = True
        return _turns(speaking, checked.size / SAMPLE_RATE_HZ)

    def _activity(self, samples: Samples) -> Activity:
        frames = max(1, -(-samples.size // _FRAME))
        stitched = _Stitched(frames)
        for first in _window_starts(frames, self._step):
            part = samples[first * _FRAME :][: _WINDOW_FRAMES * _FRAME]
            if part.size >= _SHORTEST and np.any(part):
                classes = self._session.run({"samples": part[np.newaxis, np.newaxis]})["classes"][0]
                stitched.add(first, (np.exp(classes) @ _POWERSET)[: frames - first])
        return stitched.mean()

    def _runs(self, speaking: NDArray[np.bool_]) -> list[tuple[int, int]]:
        joined: list[tuple[int, int]] = []
        for start, end in _true_runs(speaking):
            if joined and start - joined[-1][1] < self._min_pause:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
        return [(start, end) for start, end in joined if end - start >= self._min_turn]


class _Stitched:
    """Means of overlapping windows; a window's speaker is the one with whom most of its speech coincides."""

    def __init__(self, frames: int) -> None:
        self._sum = np.zeros((frames, 0), dtype=np.float32)
        self._windows = np.zeros(frames, dtype=np.float32)

    def mean(self) -> Activity:
        return _mean(self._sum, self._windows)

    def add(self, first: int, activity: Activity) -> None:
        """Add a window, shape (frames, 3), that starts at frame `first`."""
        last = first + len(activity)
        known = _mean(self._sum[first:last], self._windows[first:last])
        for local, speaker in _matched(known, activity):
            if speaker == self._sum.shape[1]:
                self._sum = np.pad(self._sum, ((0, 0), (0, 1)))
            self._sum[first:last, speaker] += activity[:, local]
        self._windows[first:last] += 1.0


def _mean(total: Activity, windows: Activity) -> Activity:
    means: Activity = (total / np.maximum(windows, 1.0)[:, np.newaxis]).astype(np.float32)
    return means


def _window_starts(frames: int, step: int) -> list[int]:
    """First frame of each window; the last window ends with the recording, so that none is filled with silence."""
    last = max(0, frames - _WINDOW_FRAMES)
    return [*range(0, last, step), last]


def _matched(known: Activity, activity: Activity) -> list[tuple[int, int]]:
    """Local speakers paired with known ones, best agreement first; one who agrees with none is a new speaker."""
    agreement = activity.T @ known * _FRAME_S
    pairs: list[tuple[int, int]] = []
    while agreement.size and np.max(agreement) >= _SAME_VOICE_S:
        local, speaker = (int(index) for index in np.unravel_index(np.argmax(agreement), agreement.shape))
        pairs.append((local, speaker))
        agreement[local, :] = agreement[:, speaker] = -1.0
    new = known.shape[1]
    for local in range(_LOCAL):
        if all(local != paired for paired, _ in pairs) and np.max(activity[:, local]) >= 0.5:
            pairs.append((local, new))
            new += 1
    return pairs


def _turns(speaking: NDArray[np.bool_], duration_s: float) -> list[Turn]:
    turns: list[Turn] = []
    crowd = speaking.sum(axis=1) > 1
    for speaker in range(speaking.shape[1]):
        for overlapped in (False, True):
            for start, end in _true_runs(speaking[:, speaker] & (crowd == overlapped)):
                turns.append(Turn(_time_s(start), min(duration_s, _time_s(end)), speaker, overlapped))
    return sorted(turns, key=lambda turn: (turn.start_s, turn.speaker))


def _time_s(frame: int) -> float:
    return max(0.0, (frame * _FRAME + _FIRST_FRAME - _FRAME / 2) / SAMPLE_RATE_HZ) if frame else 0.0


def _true_runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]
