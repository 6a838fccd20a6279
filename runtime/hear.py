"""What the microphone heard within one clip: who spoke when (by voice vector), and the words.

Whose voice it is, and what is remembered, is left to runtime/identify.py and runtime/memorize.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from drivers.media import AudioBlock
from models.speech import SpeechRecognizer
from models.speech_noise import Loudness, loudness, speech_snr_db
from models.utterances import alone
from models.voices import Span, SpeakerTurns, Turn, Utterance, VoiceActivity, VoiceEmbedder, utterances
from models.waveform import cut, is_clipped
from runtime.own_speech import OwnSpeech
from runtime.stage_times import StageTimes

SAMPLE_RATE_HZ = 16000
GAP_S = 0.05  # blocks further apart than this have lost sound between them
CUT_OFF_S = 0.25  # speech that reaches this close to a clip's end has not ended
LEAD_S = 0.2  # sound kept before carried speech, so that its first consonant stays whole
SHORTEST_VOICE_S = 0.5
SHORTEST_ALONE_S = 1.0

SpeechSource = Literal["room", "screen", "open"]


@dataclass(frozen=True, eq=False)
class HeardSpeech:
    """One utterance. Times are media times; `vector` (192,) is None where the speech is too short for one.

    `snr_db`: how far it stands above the noise around it; `loudness`: of the whole clip, to be held against mouths;
    `source`: where it came from as far as faces tell, set once they are known; `watched_s`: for how long of it who is
    in view could be seen, None for all of it; `speaker`: number within the clip, None where nobody tells; `clipped`:
    it is overdriven, so that its voice is not like itself.
    """

    start_s: float
    end_s: float
    text: str
    language: str
    confidence: float
    overlapped: bool
    vector: NDArray[np.float32] | None
    snr_db: float | None = None
    loudness: Loudness | None = None
    source: SpeechSource = "room"
    speaker: int | None = None
    clipped: bool = False
    watched_s: float | None = None

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True, eq=False)
class Hearing:
    """All that one clip let hear. `samples` (n,) is its sound; `stage_s`: seconds spent in each stage.

    own_utterances: how many stretches of the robot's own speech were heard and left out.
    """

    speech: tuple[HeardSpeech, ...] = ()
    samples: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    gap_s: float = 0.0
    carried_s: float = 0.0
    stage_s: dict[str, float] = field(default_factory=dict)
    own_utterances: int = 0


class Listener:
    """Takes the sound of a clip block by block, and gives the clip's Hearing at its end. Used from one thread.

    Speech that the clip's end cuts off is carried over and belongs, whole, to the next clip. The robot's own speech,
    as far as `own` knows it, is left out.
    """

    def __init__(
        self,
        activity: VoiceActivity,
        turns: SpeakerTurns,
        embedder: VoiceEmbedder,
        recognizer: SpeechRecognizer,
        *,
        carry_speech_s: float,
        own: OwnSpeech | None = None,
    ) -> None:
        self._own = own
        self._activity = activity
        self._turns = turns
        self._embedder = embedder
        self._recognizer = recognizer
        self._carry_speech_s = carry_speech_s
        self._blocks: list[NDArray[np.float32]] = []
        self._start_s = 0.0
        self._length = 0
        self._gap_s = 0.0
        self._times = StageTimes()

    @property
    def providers(self) -> dict[str, str]:
        """Which execution provider each stage really runs on."""
        return {
            "voice_activity": self._activity.provider,
            "speaker_turns": self._turns.provider,
            "voice_embedding": self._embedder.provider,
            "speech_recognition": self._recognizer.provider,
        }

    def add(self, block: AudioBlock) -> None:
        """Append the next block; lost sound before it becomes silence and is counted, and so do damaged samples."""
        if not self._blocks:
            self._start_s = block.time_s
        missing = round((block.time_s - self._start_s) * SAMPLE_RATE_HZ) - self._length
        if missing > GAP_S * SAMPLE_RATE_HZ:
            self._append(np.zeros(missing, dtype=np.float32))
            self._gap_s += missing / SAMPLE_RATE_HZ
        damaged = ~np.isfinite(block.samples)
        self._gap_s += int(damaged.sum()) / SAMPLE_RATE_HZ
        self._append(np.where(damaged, np.float32(0), block.samples))

    def skip(self) -> None:
        """Forget what was added but for the unfinished speech at its end: it was remembered before."""
        samples = self._taken()
        with self._times.timed("voice_activity"):
            spans = self._activity.spans(samples) if len(samples) else []
        self._carry(samples, spans)

    def finish(self, *, last: bool) -> Hearing:
        """End the clip. `last`: nothing follows, so nothing is carried over."""
        samples, start_s, gap_s = self._taken(), self._start_s, self._gap_s
        self._gap_s = 0.0
        if not len(samples):
            return Hearing()
        with self._times.timed("voice_activity"):
            spans = self._activity.spans(samples)
        carried = 0 if last else self._carry(samples, spans)
        spans, over, own = self._others(samples, spans, start_s)
        speech = self._understood(samples, spans, over, start_s) if spans else ()
        stage_s, self._times = self._times.as_dict(), StageTimes()
        return Hearing(speech, samples, gap_s, carried / SAMPLE_RATE_HZ, stage_s, own)

    def _others(
        self, samples: NDArray[np.float32], spans: list[Span], start_s: float
    ) -> tuple[list[Span], list[Span], int]:
        """The speech that is not the robot's own, those stretches of it that the robot spoke over, and how many were
        its own.
        """
        if self._own is None:
            return spans, [], 0
        with self._times.timed("own_speech"):
            sorted_speech = self._own.sort(samples, start_s, spans)
        others = list(sorted_speech.others)
        over = [span for span, mixed in zip(others, sorted_speech.over, strict=True) if mixed]
        return others, over, len(sorted_speech.own)

    def _carry(self, samples: NDArray[np.float32], spans: list[Span]) -> int:
        """Take speech cut off by the end out of `spans` and into the next clip; how many samples went."""
        length_s = len(samples) / SAMPLE_RATE_HZ
        if not spans or length_s - spans[-1].end_s > CUT_OFF_S:
            return 0
        if length_s - spans[-1].start_s > self._carry_speech_s:
            return 0
        first = max(0, round((spans.pop().start_s - LEAD_S) * SAMPLE_RATE_HZ))
        self._start_s += first / SAMPLE_RATE_HZ
        self._append(samples[first:].copy())
        return len(samples) - first

    def _understood(
        self, samples: NDArray[np.float32], spans: list[Span], over: list[Span], start_s: float
    ) -> tuple[HeardSpeech, ...]:
        with self._times.timed("speaker_turns"):
            turns = self._turns.turns(samples)
            found = utterances(spans, turns)
        with self._times.timed("speech_recognition"):
            words = self._recognizer.transcribe(samples, found)
        sound = loudness(samples, start_s)
        spoken = [(start_s + span.start_s, start_s + span.end_s) for span in spans]
        heard = []
        for utterance, said in zip(found, words, strict=True):
            heard.append(
                HeardSpeech(
                    start_s + utterance.start_s,
                    start_s + utterance.end_s,
                    said.text,
                    said.language,
                    said.confidence,
                    utterance.overlapped or _touches(utterance, over),
                    self._voice(samples, utterance, turns),
                    speech_snr_db(sound, start_s + utterance.start_s, start_s + utterance.end_s, spoken),
                    sound,
                    speaker=utterance.speaker,
                    clipped=is_clipped(cut(samples, utterance.start_s, utterance.end_s)),
                )
            )
        return tuple(heard)

    def _voice(
        self, samples: NDArray[np.float32], utterance: Utterance, turns: list[Turn]
    ) -> NDArray[np.float32] | None:
        """The voice of what nobody else spoke over, or of all of it where that is too little."""
        if utterance.end_s - utterance.start_s < SHORTEST_VOICE_S:
            return None
        parts = alone(utterance, turns)
        if sum(part.end_s - part.start_s for part in parts) < SHORTEST_ALONE_S:
            parts = [Span(utterance.start_s, utterance.end_s)]
        sound = np.concatenate([cut(samples, part.start_s, part.end_s) for part in parts])
        with self._times.timed("voice_embedding"):
            return self._embedder.embed(sound)

    def _append(self, samples: NDArray[np.float32]) -> None:
        self._blocks.append(samples)
        self._length += len(samples)

    def _taken(self) -> NDArray[np.float32]:
        samples = np.concatenate(self._blocks) if self._blocks else np.zeros(0, dtype=np.float32)
        self._blocks, self._length = [], 0
        return samples


def _touches(utterance: Utterance, spans: list[Span]) -> bool:
    return any(span.start_s < utterance.end_s and utterance.start_s < span.end_s for span in spans)
