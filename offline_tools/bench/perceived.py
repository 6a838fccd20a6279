"""A recording's clips as the runtime sees and hears them, without words and things: identities need neither."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from numpy.typing import NDArray

from drivers.media import Frame
from drivers.replay import Replay
from models.faces import FaceDetector, FaceEmbedder
from models.images import Image
from models.objects import ObjectBox, ObjectDetector
from models.speech import SpeechRecognizer, Transcript
from models.utterances import Utterance
from models.voices import SpeakerTurns, VoiceActivity, VoiceEmbedder
from runtime.clips import ClipSpan, Recording
from runtime.compose import Parts
from runtime.hear import Hearing, Listener
from runtime.see import Sight, Watcher


@dataclass(frozen=True, eq=False)
class PerceivedClip:
    """One clip before anybody in it is identified."""

    span: ClipSpan
    sight: Sight
    hearing: Hearing


class _Mute:
    """Stands in for speech recognition: no words."""

    provider = "none"

    def transcribe(self, samples: NDArray[Any], spans: Sequence[Utterance]) -> list[Transcript]:
        return [Transcript(span.start_s, span.end_s, "", "en", 0.0) for span in spans]


class _NoThings:
    """Stands in for object detection: nothing."""

    provider = "none"

    def detect(self, image: Image) -> list[ObjectBox]:
        return []


class Perception:
    """Eyes and ears with the shipped settings."""

    def __init__(self, parts: Parts) -> None:
        settings = parts.settings
        self._clip = settings.clip
        faces = parts.entry("face_embedding")
        self._watcher = Watcher(
            FaceDetector(
                parts.directory(parts.entry("face_detection")),
                input_side_px=settings.perceive.face_detector_side_px,
                score_threshold=settings.perceive.face_score,
            ),
            FaceEmbedder(parts.directory(faces)),
            cast(ObjectDetector, _NoThings()),
            settings.perceive,
            frame_rate_hz=settings.clip.frame_rate_hz,
            same_face=faces.thresholds["same_track"],
        )
        embedder = VoiceEmbedder(parts.directory(parts.entry("voice_embedding")))
        self._listener = Listener(
            VoiceActivity(parts.directory(parts.entry("voice_activity"))),
            SpeakerTurns(parts.directory(parts.entry("speaker_turns")), embedder),
            embedder,
            cast(SpeechRecognizer, _Mute()),
            carry_speech_s=settings.clip.carry_speech_s,
        )

    def clips(self, path: Path, start_utc_s: float) -> Iterator[PerceivedClip]:
        """The recording's clips in order, as if it had begun then."""
        source = Recording(Replay(path, frame_rate_hz=self._clip.frame_rate_hz), start_utc_s)
        index, ends_s = 0, 0.0
        span = source.span(0, self._clip.length_s)
        for item in source.items(0.0):
            if item.time_s >= span.media_end_s - 1e-6:
                yield self._finished(span, last=False)
                index += 1
                span = source.span(index, self._clip.length_s)
            if isinstance(item, Frame):
                self._watcher.add(item)
                ends_s = item.time_s
            else:
                self._listener.add(item)
                ends_s = item.time_s + len(item.samples) / 16000
        yield self._finished(source.span(index, self._clip.length_s, ends_s), last=True)

    def _finished(self, span: ClipSpan, *, last: bool) -> PerceivedClip:
        return PerceivedClip(span, self._watcher.finish(), self._listener.finish(last=last))
