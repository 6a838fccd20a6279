"""Who speaks when within one clip: pyannote segmentation-3.0 says when one or more speak, the voices say who.

The segmentation's own speakers are not trusted over a window: it takes people whose voices are merely similar for one.
Speakers are numbered within the clip only; which person one is, is left to the runtime.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError
from models.sessions import open_session
from models.speaker_clusters import speakers_of
from models.waveform import SAMPLE_RATE_HZ, Samples, check_samples

MODEL_FILE = "segmentation-3.0.onnx"
_FRAME = 270  # samples between two frames
_FIRST_FRAME = 495  # sample on which the first frame is centred
_FRAME_S = _FRAME / SAMPLE_RATE_HZ
_WINDOW_S = 10.0
_WINDOW_FRAMES = round(_WINDOW_S / _FRAME_S)
_SHORTEST = SAMPLE_RATE_HZ // 10
# which of three local speakers each class of the powerset contains (Plaquet & Bredin 2023)
_POWERSET = np.array(
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=np.float32
)
_FIRST_PAIR = 4  # the classes from here on hold two speakers
_SPEAKS = 0.3  # probability from which on a window's local speaker is held to speak
_CHANGE = 0.5  # share of windows that must see another speaker begin
_NEIGHBOURHOOD = 5  # frames on either side within which only the strongest change counts
_OVERLAP_WEIGHT = 0.3  # of speech that two share, when voices are compared

Flags = NDArray[np.bool_]
Probabilities = NDArray[np.float32]  # (frames,)


class VoiceOf(Protocol):
    """What the turns need of a voice model: a vector of length 1 for (n,) samples."""

    def embed(self, samples: NDArray[Any]) -> NDArray[np.float32]: ...


@dataclass(frozen=True)
class Turn:
    """A speaker's stretch of speech in seconds; overlapped where somebody else speaks throughout it too."""

    start_s: float
    end_s: float
    speaker: int
    overlapped: bool


@dataclass(frozen=True)
class TurnRule:
    """How turns are made. Tuned on two AMI excerpts and composed conversations of one half of the speakers.

    speech, overlap: probability from which on somebody, or more than one, speaks. Pauses under `min_pause_s` are
    filled, stretches under `min_turn_s` dropped. Speech is compared in pieces of at most `piece_s`, no shorter than
    `shortest_piece_s`; pieces whose voices have a mean cosine of `same_voice` are one speaker, and nobody is a speaker
    for less than `least_speaker_s`.
    """

    step_s: float = 5.0
    speech: float = 0.5
    overlap: float = 0.5
    min_turn_s: float = 0.15
    min_pause_s: float = 0.2
    min_overlap_s: float = 0.1
    piece_s: float = 1.5
    shortest_piece_s: float = 0.5
    same_voice: float = 0.3
    least_speaker_s: float = 1.5


class SpeakerTurns:
    """pyannote segmentation-3.0 in 10 s windows, at most two speakers at a time, and `voices` to tell them apart."""

    def __init__(
        self, directory: Path, voices: VoiceOf, *, rule: TurnRule = TurnRule(), threads: int = 1
    ) -> None:
        if not 0 < rule.step_s < _WINDOW_S:
            raise ModelError(
                f"step of speaker windows is {rule.step_s} s; give more than 0 and less than {_WINDOW_S}"
            )
        self._session = open_session(directory / MODEL_FILE, threads=threads)
        self.provider = self._session.provider
        self._voices = voices
        self._rule = rule

    def turns(self, samples: NDArray[Any]) -> list[Turn]:
        """Turns in order of their start, none where nobody speaks. samples: (n,), 16 kHz, [-1, 1].

        A turn ends where somebody joins in or falls silent, so that `overlapped` holds for all of it.
        Raises ModelError for audio that is not finite or not of that kind.
        """
        checked = check_samples(samples)
        rule = self._rule
        heard = self._heard(checked)
        speaking = _bridged(heard.speech >= rule.speech, rule.min_pause_s, rule.min_turn_s)
        crowd = _bridged(speaking & (heard.overlap >= rule.overlap), rule.min_overlap_s, rule.min_overlap_s)
        pieces = _pieces(speaking, heard.changes, rule)
        speakers = self._speakers(checked, pieces, crowd)
        return _turns(_second_speakers(pieces, speakers, crowd), crowd, checked.size / SAMPLE_RATE_HZ)

    def _heard(self, samples: Samples) -> "_Heard":
        frames = max(1, -(-samples.size // _FRAME))
        heard = _Heard(frames)
        for first in _window_starts(frames, round(self._rule.step_s / _FRAME_S)):
            part = samples[first * _FRAME :][: _WINDOW_FRAMES * _FRAME]
            if part.size >= _SHORTEST and np.any(part):
                classes = self._session.run({"samples": part[np.newaxis, np.newaxis]})["classes"][0]
                heard.add(first, np.exp(classes)[: frames - first])
        heard.finish()
        return heard

    def _speakers(self, samples: Samples, pieces: list[tuple[int, int]], crowd: Flags) -> list[int]:
        """The speaker of each piece; one too short to be compared has that of the piece nearest in time."""
        rows, vectors, weights = [], [], []
        for row, (start, end) in enumerate(pieces):
            cut = samples[round(_time_s(start) * SAMPLE_RATE_HZ) : round(_time_s(end) * SAMPLE_RATE_HZ)]
            if cut.size >= self._rule.shortest_piece_s * SAMPLE_RATE_HZ and np.any(cut):
                rows.append(row)
                vectors.append(self._voices.embed(cut))
                share = float(crowd[start:end].mean())
                weights.append((end - start) * _FRAME_S * (1 - (1 - _OVERLAP_WEIGHT) * share))
        if not rows:
            return [0] * len(pieces)
        known = speakers_of(
            np.stack(vectors),
            np.array(weights, dtype=np.float32),
            same_voice=self._rule.same_voice,
            least_s=self._rule.least_speaker_s,
        )
        by_row = dict(zip(rows, known, strict=True))
        return [by_row[min(rows, key=lambda one: _apart(pieces[one], piece))] for piece in pieces]


class _Heard:
    """Means over overlapping windows, (frames,): somebody speaks, more than one speaks, another one begins."""

    def __init__(self, frames: int) -> None:
        self.speech: Probabilities = np.zeros(frames, dtype=np.float32)
        self.overlap: Probabilities = np.zeros(frames, dtype=np.float32)
        self.changes: Probabilities = np.zeros(frames, dtype=np.float32)
        self._windows = np.zeros(frames, dtype=np.float32)

    def add(self, first: int, classes: NDArray[np.float32]) -> None:
        """Add a window of probabilities (n, 7) that starts at frame `first`."""
        at = slice(first, first + len(classes))
        self.speech[at] += 1 - classes[:, 0]
        self.overlap[at] += classes[:, _FIRST_PAIR:].sum(axis=1)
        self._windows[at] += 1
        local = classes @ _POWERSET
        frames = np.flatnonzero(local.max(axis=1) > _SPEAKS)
        loudest = local[frames].argmax(axis=1)
        self.changes[first + frames[1:][np.diff(loudest) != 0]] += 1

    def finish(self) -> None:
        """Make sums into means."""
        for total in (self.speech, self.overlap, self.changes):
            total /= np.maximum(self._windows, 1)


def _window_starts(frames: int, step: int) -> list[int]:
    """First frame of each window; the last window ends with the recording, so that none is filled with silence."""
    last = max(0, frames - _WINDOW_FRAMES)
    return [*range(0, last, max(1, step)), last]


def _bridged(flags: Flags, gap_s: float, shortest_s: float) -> Flags:
    """The flags with gaps shorter than `gap_s` filled and what then lasts less than `shortest_s` taken out."""
    joined: list[tuple[int, int]] = []
    for start, end in _true_runs(flags):
        if joined and (start - joined[-1][1]) * _FRAME_S < gap_s:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    bridged = np.zeros(len(flags), dtype=np.bool_)
    for start, end in joined:
        bridged[start:end] = (end - start) * _FRAME_S >= shortest_s
    return bridged


def _pieces(speaking: Flags, changes: Probabilities, rule: TurnRule) -> list[tuple[int, int]]:
    """Runs of speech, cut where another speaker may begin and into equal parts no longer than a piece."""
    shortest = round(0.6 * rule.shortest_piece_s / _FRAME_S)
    longest = 1.5 * rule.piece_s / _FRAME_S
    pieces: list[tuple[int, int]] = []
    for start, end in _true_runs(speaking):
        edges = [start]
        for frame in range(start + shortest, end - shortest + 1):
            around = changes[max(0, frame - _NEIGHBOURHOOD) : frame + _NEIGHBOURHOOD + 1]
            strongest = changes[frame] >= _CHANGE and changes[frame] >= around.max()
            if strongest and frame - edges[-1] >= shortest:
                edges.append(frame)
        edges.append(end)
        for first, last in pairwise(edges):
            parts = 1 if last - first <= longest else round((last - first) * _FRAME_S / rule.piece_s)
            cuts = np.linspace(first, last, parts + 1).round().astype(int)
            pieces += [(int(one), int(other)) for one, other in pairwise(cuts)]
    return pieces


def _second_speakers(pieces: list[tuple[int, int]], speakers: list[int], crowd: Flags) -> Flags:
    """Who speaks in each frame, (frames, speakers). Where two speak, the other is whoever else speaks nearest by."""
    active = np.zeros((len(crowd), max(speakers, default=-1) + 1), dtype=np.bool_)
    for (start, end), speaker in zip(pieces, speakers, strict=True):
        active[start:end, speaker] = True
    for start, end in _true_runs(crowd):
        around = [
            (_apart(piece, (start, end)), speaker) for piece, speaker in zip(pieces, speakers, strict=True)
        ]
        here = {speaker for apart, speaker in around if apart < 0}
        first = active[start:end].sum(axis=0).argmax()
        others = [(apart, speaker) for apart, speaker in around if speaker != first]
        if len(here) < 2 and others:
            active[start:end, min(others)[1]] = True
        elif others:
            active[start:end, sorted(here)] = True
    return active


def _apart(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Frames between two stretches, negative where they share some."""
    return max(one[0], other[0]) - min(one[1], other[1])


def _turns(active: Flags, crowd: Flags, duration_s: float) -> list[Turn]:
    turns: list[Turn] = []
    for speaker in range(active.shape[1]):
        for overlapped in (False, True):
            for start, end in _true_runs(active[:, speaker] & (crowd == overlapped)):
                turns.append(Turn(_time_s(start), min(duration_s, _time_s(end)), speaker, overlapped))
    return sorted(turns, key=lambda turn: (turn.start_s, turn.speaker))


def _time_s(frame: int) -> float:
    return max(0.0, (frame * _FRAME + _FIRST_FRAME - _FRAME / 2) / SAMPLE_RATE_HZ) if frame else 0.0


def _true_runs(flags: Flags) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]
