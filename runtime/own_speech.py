"""The robot's own voice in what it hears: what the speaker plays, looked for again in the microphone's sound.

The room changes and delays it; what it cannot explain is somebody else's and is left alone.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from models.log_mel import HOP_S, mel_power
from models.voices import Span

SAMPLE_RATE_HZ = 16000
KEEP_S = 120.0
EARLIEST_S, LATEST_S = -0.1, 0.7  # the sound may arrive a little before it is reported, or half a second late
REVERB = 0.75  # share of a room's sound that is left 10 ms later
ACTIVE_DB = 30.0  # below the loudest of what was played: pauses say nothing
ALIKE = 0.5  # correlation of the log mel bands, over what was played, from which on it is the robot's own
LEAST_ACTIVE_S = 0.15
EXPLAINED_DB = 4.0  # a moment that stands out of what was expected by more than this holds somebody else
OWN_EXCESS_DB = 2.2  # mean over the bands and SMOOTH_FRAMES from which on somebody else speaks
SMOOTH_FRAMES = 41
BETWEEN_S = 1.0
BESIDE_S = 0.2  # next to speech nothing is taken for noise
LEAST_NOISE_S = 0.5
NOISE_SHARE = 0.7
PAUSE_S = 0.6
AFTERWARDS = 10  # frames for which the robot's speech may ring on
SHORTEST_REST_S = 0.4  # what is left of a stretch of speech, if shorter, is not worth hearing

_Bands = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class _Played:
    start_s: float
    samples: NDArray[np.float32]

    @property
    def end_s(self) -> float:
        return self.start_s + len(self.samples) / SAMPLE_RATE_HZ


@dataclass(frozen=True)
class SortedSpeech:
    """Stretches of speech, in seconds from the sound's start, sorted into the robot's own and the others'.

    over: whether each of the others was spoken while the robot was speaking, and so may hold its voice.
    """

    own: tuple[Span, ...]
    others: tuple[Span, ...]
    over: tuple[bool, ...]


class OwnSpeech:
    """Keeps what was played for two minutes. `played` may be called from another thread than `sort`."""

    def __init__(self) -> None:
        self._played: list[_Played] = []
        self._lock = threading.Lock()

    def played(self, samples: NDArray[np.float32], sample_rate_hz: int, start_s: float) -> None:
        """Say that `samples` (n,) began to play at `start_s`, a time of the sound that `sort` will be given."""
        count = round(len(samples) * SAMPLE_RATE_HZ / sample_rate_hz)
        if not count:
            return
        at = np.arange(count) * (sample_rate_hz / SAMPLE_RATE_HZ)
        sound = np.interp(at, np.arange(len(samples)), samples).astype(np.float32)
        with self._lock:
            self._played.append(_Played(start_s, sound))
            newest_s = max(one.end_s for one in self._played)
            self._played = [one for one in self._played if newest_s - one.end_s <= KEEP_S]

    def sort(self, samples: NDArray[np.float32], start_s: float, spans: list[Span]) -> SortedSpeech:
        """Tell the robot's own speech in `samples` (n,), which begin at `start_s`, from all other speech."""
        if self._is_silent(start_s, len(samples) / SAMPLE_RATE_HZ):
            return SortedSpeech((), tuple(spans), (False,) * len(spans))
        noise = _noise(samples, spans)
        own: list[Span] = []
        others: list[Span] = []
        over: list[bool] = []
        for span in spans:
            mine, rest, while_speaking = self._split(samples, start_s, span, noise)
            own += mine
            others += rest
            over += while_speaking
        return SortedSpeech(tuple(own), tuple(others), tuple(over))

    def _is_silent(self, start_s: float, duration_s: float) -> bool:
        with self._lock:
            return not any(
                one.end_s + LATEST_S >= start_s and one.start_s + EARLIEST_S <= start_s + duration_s
                for one in self._played
            )

    def _split(
        self, samples: NDArray[np.float32], start_s: float, span: Span, noise: _Bands | None
    ) -> tuple[list[Span], list[Span], list[bool]]:
        heard = mel_power(_piece(samples, span.start_s, span.end_s))
        begin_s = start_s + span.start_s
        expected = self._expected(begin_s, len(heard))
        if expected is None:
            return [], [span], [False]
        mine, active = own_frames(heard, expected, noise)
        own, others = _runs(_without_quiet(mine, active), span)
        if not own:
            others = [span]
        over = [bool(active[_frames(one, span)].mean() > 0.2) for one in others]
        return own, others, over

    def _expected(self, begin_s: float, frames: int) -> _Bands | None:
        """The bands of what was played from LATEST_S before `begin_s`; None where nothing was."""
        first_s, last_s = begin_s - LATEST_S, begin_s + frames * HOP_S - EARLIEST_S
        sound = np.zeros(round((last_s - first_s + 0.025) * SAMPLE_RATE_HZ), dtype=np.float32)
        with self._lock:
            played = list(self._played)
        for one in played:
            at = round((one.start_s - first_s) * SAMPLE_RATE_HZ)
            low, high = max(0, at), min(len(sound), at + len(one.samples))
            if low < high:
                sound[low:high] += one.samples[low - at : high - at]
        return _reverberant(mel_power(sound)) if np.any(sound) else None


def own_frames(
    heard: _Bands, expected: _Bands, noise: _Bands | None = None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which frames of `heard` (n, bands) `expected` explains, and in which of them the robot was speaking.

    `expected` (n + lags, bands) starts LATEST_S earlier; the lag and the gain of each band are found here. `noise`:
    decibels (bands,) of what is heard where nobody speaks.
    """
    sound, played = _decibels(heard), _decibels(expected)
    level = played.mean(axis=1)
    loud = level > level.max() - ACTIVE_DB
    best, lag = -1.0, 0
    for offset in range(len(played) - len(sound) + 1):
        part = slice(offset, offset + len(sound))
        likeness = _likeness(sound, played[part], loud[part])
        if likeness > best:
            best, lag = likeness, offset
    nothing = np.zeros(len(sound), dtype=np.bool_)
    if best < ALIKE:
        return nothing, nothing if best < 0 else loud[lag : lag + len(sound)]
    played, active = played[lag : lag + len(sound)], loud[lag : lag + len(sound)]
    gain = np.median(sound[active] - played[active], axis=0)
    quiet = np.quantile(sound, 0.1, axis=0)
    predicted = np.maximum(played + gain, quiet if noise is None else np.maximum(quiet, noise))
    excess = np.clip(sound - predicted - EXPLAINED_DB, 0, None).mean(axis=1)
    smooth = np.convolve(
        np.pad(excess, SMOOTH_FRAMES // 2, mode="edge"), np.ones(SMOOTH_FRAMES) / SMOOTH_FRAMES, "valid"
    )
    return smooth < OWN_EXCESS_DB, active


def _noise(samples: NDArray[np.float32], spans: list[Span]) -> _Bands | None:
    """Decibels (bands,) that the loudest moments without speech reach; None where there is too little of them."""
    power = mel_power(samples)
    quiet = np.ones(len(power), dtype=np.bool_)
    for span in spans:
        quiet[max(0, round((span.start_s - BESIDE_S) / HOP_S)) : round((span.end_s + BESIDE_S) / HOP_S)] = (
            False
        )
    if quiet.sum() * HOP_S < LEAST_NOISE_S:
        return None
    level: _Bands = np.quantile(_decibels(power)[quiet], NOISE_SHARE, axis=0).astype(np.float32)
    return level


def _without_quiet(mine: NDArray[np.bool_], active: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Own frames less the runs in which the robot said nothing, if they are long or somebody else speaks beside them.

    All frames are speech, so what goes on for longer than a pause while the robot says nothing is somebody's.
    """
    spoke = np.convolve(active, np.ones(2 * AFTERWARDS + 1), "same") > 0
    kept = mine & spoke
    for first, last in _between(kept | ~mine):
        if kept[first] or not mine[first]:
            continue
        beside = [at for at in (first - 1, last) if 0 <= at < len(mine)]
        kept[first:last] = all(mine[at] for at in beside) and (last - first) * HOP_S < PAUSE_S
    return kept


def _likeness(sound: _Bands, played: _Bands, loud: NDArray[np.bool_]) -> float:
    """Correlation of two band pictures where one is loud, after taking each band's mean out; -1 where it is short."""
    if loud.sum() * HOP_S < LEAST_ACTIVE_S:
        return -1.0
    one = sound[loud] - sound[loud].mean(axis=0)
    other = played[loud] - played[loud].mean(axis=0)
    scale = float(np.sqrt((one**2).sum() * (other**2).sum()))
    return float((one * other).sum()) / scale if scale > 0 else -1.0


def _decibels(power: _Bands) -> _Bands:
    return np.asarray(10 * np.log10(np.maximum(power, power.max() * 1e-7 + 1e-12)), dtype=np.float32)


def _reverberant(power: _Bands) -> _Bands:
    """Let every frame ring on in those after it."""
    ringing = power.copy()
    for frame in range(1, len(ringing)):
        ringing[frame] += REVERB * ringing[frame - 1]
    return ringing


def _piece(samples: NDArray[np.float32], start_s: float, end_s: float) -> NDArray[np.float32]:
    return samples[max(0, round(start_s * SAMPLE_RATE_HZ)) : round(end_s * SAMPLE_RATE_HZ)]


def _frames(part: Span, whole: Span) -> slice:
    first = round((part.start_s - whole.start_s) / HOP_S)
    return slice(first, max(first + 1, round((part.end_s - whole.start_s) / HOP_S)))


def _runs(mine: NDArray[np.bool_], span: Span) -> tuple[list[Span], list[Span]]:
    """The runs of own frames, and those of all others that are long enough, as parts of the span.

    Own runs shorter than BETWEEN_S between two others' are taken for theirs: people pause.
    """
    runs = _between(mine)
    filled = mine.copy()
    for first, last in runs[1:-1]:
        if mine[first] and (last - first) * HOP_S < BETWEEN_S:
            filled[first:last] = False
    own, others = [], []
    for first, last in _between(filled):
        end_s = span.end_s if last == len(mine) else span.start_s + last * HOP_S
        part = Span(span.start_s + first * HOP_S, end_s)
        if filled[first]:
            own.append(part)
        elif part.end_s - part.start_s >= SHORTEST_REST_S:
            others.append(part)
    return own, others


def _between(mine: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last frame + 1 of each run of equal values."""
    if not len(mine):
        return []
    edges = [0, *(int(at) + 1 for at in np.flatnonzero(np.diff(mine))), len(mine)]
    return list(pairwise(edges))
