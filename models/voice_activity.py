"""When somebody speaks: Silero voice activity detection over a whole clip.

Who speaks is left to models/speaker_turns.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError
from models.sessions import Session, open_session
from models.waveform import SAMPLE_RATE_HZ, check_samples

MODEL_FILE = "silero_vad_16k_op15.onnx"
_CHUNK = 512
_CONTEXT = 64
_CHUNK_S = _CHUNK / SAMPLE_RATE_HZ


@dataclass(frozen=True)
class Span:
    """A stretch of audio, in seconds from its start."""

    start_s: float
    end_s: float


class ActivityStream:
    """The probabilities of `VoiceActivity.probabilities`, chunk by chunk as the sound comes in."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.reset()

    def reset(self) -> None:
        """Forget what was heard: what follows does not follow on it."""
        self._state = np.zeros((2, 1, 128), dtype=np.float32)
        self._heard = np.zeros(_CONTEXT, dtype=np.float32)

    def feed(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probability of speech for each 32 ms that is now complete, shape (chunks,); the rest waits."""
        self._heard = np.concatenate([self._heard, samples])
        chunks = (self._heard.size - _CONTEXT) // _CHUNK
        rate = np.array(SAMPLE_RATE_HZ, dtype=np.int64)
        found = np.zeros(chunks, dtype=np.float32)
        for chunk in range(chunks):
            window = self._heard[chunk * _CHUNK : (chunk + 1) * _CHUNK + _CONTEXT][np.newaxis]
            outputs = self._session.run({"input": window, "state": self._state, "sr": rate})
            found[chunk] = outputs["output"][0, 0]
            self._state = outputs["stateN"]
        self._heard = self._heard[chunks * _CHUNK :]
        return found


class VoiceActivity:
    """Silero VAD, 16 kHz: a probability of speech every 32 ms, made into spans with hysteresis.

    Speech begins at `threshold` and ends when the probability stays under `release` for `min_silence_s`. Spans
    shorter than `min_speech_s` are dropped; what stays is padded by `padding_s`, never into a neighbour.
    """

    def __init__(
        self,
        directory: Path,
        *,
        threshold: float = 0.5,
        release: float = 0.35,
        min_speech_s: float = 0.25,
        min_silence_s: float = 0.3,
        padding_s: float = 0.1,
        threads: int = 1,
    ) -> None:
        if not 0 < release <= threshold < 1:
            raise ModelError(
                f"voice activity release {release} and threshold {threshold}: "
                "both lie between 0 and 1, the release not above the threshold"
            )
        self._session = open_session(directory / MODEL_FILE, threads=threads)
        self.provider = self._session.provider
        self._threshold = threshold
        self._release = release
        self._min_speech_s = min_speech_s
        self._min_silence_s = min_silence_s
        self._padding_s = padding_s

    def probabilities(self, samples: NDArray[Any]) -> NDArray[np.float32]:
        """Probability of speech for each 32 ms, shape (chunks,); the last chunk is filled up with silence.

        Raises ModelError for audio that is not finite or not (n,) floats in [-1, 1].
        """
        checked = check_samples(samples)
        return self.stream().feed(np.pad(checked, (0, -checked.size % _CHUNK)))

    def stream(self) -> ActivityStream:
        """For sound that is still coming in; streams do not disturb one another."""
        return ActivityStream(self._session)

    def spans(self, samples: NDArray[Any]) -> list[Span]:
        """Spans of speech in order, none for silence or for no audio at all. Raises ModelError as above."""
        duration_s = samples.size / SAMPLE_RATE_HZ
        raw = self._raw_spans(self.probabilities(samples))
        return _padded(
            [span for span in raw if span.end_s - span.start_s >= self._min_speech_s],
            self._padding_s,
            duration_s,
        )

    def _raw_spans(self, probabilities: NDArray[np.float32]) -> list[Span]:
        spans: list[Span] = []
        start: int | None = None
        quiet_from: int | None = None
        min_silence = max(1, round(self._min_silence_s / _CHUNK_S))
        for chunk, probability in enumerate(probabilities):
            if probability >= self._threshold:
                start = chunk if start is None else start
                quiet_from = None
            elif start is not None and probability < self._release:
                quiet_from = chunk if quiet_from is None else quiet_from
                if chunk + 1 - quiet_from >= min_silence:
                    spans.append(Span(start * _CHUNK_S, quiet_from * _CHUNK_S))
                    start = quiet_from = None
        if start is not None:
            end = len(probabilities) if quiet_from is None else quiet_from
            spans.append(Span(start * _CHUNK_S, end * _CHUNK_S))
        return spans


def _padded(spans: list[Span], padding_s: float, duration_s: float) -> list[Span]:
    padded: list[Span] = []
    for number, span in enumerate(spans):
        before = spans[number - 1].end_s if number else -padding_s
        after = spans[number + 1].start_s if number + 1 < len(spans) else duration_s + padding_s
        start_s = max(0.0, span.start_s - min(padding_s, (span.start_s - before) / 2))
        end_s = min(duration_s, span.end_s + min(padding_s, (after - span.end_s) / 2))
        padded.append(Span(start_s, end_s))
    return padded
