"""Enrols somebody from photos and sound files, through the models and quality gates of the robot's own senses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drivers.media import AudioBlock
from drivers.photo import read_photo
from drivers.replay import Replay
from memory_store.records import NodeKind, Person
from memory_store.store import MemoryStore
from models.face_quality import FaceQuality, face_quality
from models.faces import FaceDetector, FaceEmbedder, align_face
from models.keyframes import encode_jpeg
from models.voices import VoiceActivity, VoiceEmbedder
from models.waveform import is_clipped
from runtime.errors import HearsightError
from runtime.face_identity import FaceRule
from runtime.gallery import MatchRule
from runtime.media_files import MediaFiles, portrait_name

SAMPLE_RATE_HZ = 16000
LONGEST_VOICE_S = 30.0  # speech beyond this says no more about a voice
HALVES_FROM_S = 6.0  # speech this long must sound like one person in its first and second half


class EnrollError(HearsightError):
    """Nobody can be enrolled from a file; the message names it and says why."""


@dataclass(frozen=True, eq=False)
class Sample:
    """One vector of a person: "face" (128,) or "voice" (192,); `crop`: the aligned face, to keep as portrait."""

    kind: NodeKind
    vector: NDArray[np.float32]
    quality: float
    path: Path
    crop: NDArray[np.uint8] | None = None


@dataclass(frozen=True)
class Enrolled:
    """Who was enrolled. `alike`: others whose face or voice the samples match as well."""

    person: Person
    samples: int
    alike: tuple[Person, ...]


class FacePhotos:
    """Finds the one face of a photo."""

    def __init__(self, detector: FaceDetector, embedder: FaceEmbedder, rule: FaceRule) -> None:
        self._detector = detector
        self._embedder = embedder
        self._rule = rule

    def samples(self, paths: Sequence[Path]) -> list[Sample]:
        """One sample a photo. Raises EnrollError for none, several, or too poor faces, and for two people."""
        samples = [self._sample(path) for path in paths]
        _refuse_strangers(samples, self._rule.match.unsure)
        return samples

    def _sample(self, path: Path) -> Sample:
        image = read_photo(path)
        boxes = self._detector.detect(image)
        if not boxes:
            raise EnrollError(
                f"{path} shows no face: give a photo with the face from the front, and in light"
            )
        if len(boxes) > 1:
            raise EnrollError(f"{path} shows {len(boxes)} faces: give a photo with one, or cut it out")
        crop = align_face(image, boxes[0].landmarks)
        quality = face_quality(crop, boxes[0])
        if not self._teaches(quality):
            raise EnrollError(
                f"the face in {path} is too small, blurred or turned away to learn from (width"
                f" {quality.width_px:.0f} px, sharpness {quality.sharpness:.0f}, roll {quality.roll_deg:.0f} degrees,"
                f" yaw {quality.yaw:.2f}): at least {self._rule.width_recognise_px:.0f} px and sharpness"
                f" {self._rule.sharpness_enroll:.0f} are needed, from the front"
            )
        return Sample("face", self._embedder.embed([crop])[0], quality.sharpness, path, crop)

    def _teaches(self, quality: FaceQuality) -> bool:
        """As sharp and as straight as the robot learns from; a photo chosen by hand may be smaller."""
        large = max(quality.width_px, self._rule.width_enroll_px)
        wide = quality.width_px >= self._rule.width_recognise_px
        return wide and self._rule.enrollable(replace(quality, width_px=large))


class VoiceFiles:
    """Finds the one voice of a sound file. match: the voice model's rule; min_speech_s: less is refused."""

    def __init__(
        self, activity: VoiceActivity, embedder: VoiceEmbedder, match: MatchRule, *, min_speech_s: float
    ) -> None:
        self._activity = activity
        self._embedder = embedder
        self._match = match
        self._min_speech_s = min_speech_s

    def samples(self, paths: Sequence[Path]) -> list[Sample]:
        """One sample a file. Raises EnrollError for too little or clipped speech, and for two people."""
        samples = [self._sample(path) for path in paths]
        _refuse_strangers(samples, self._match.unsure)
        return samples

    def _sample(self, path: Path) -> Sample:
        speech = self.speech(path)
        duration_s = len(speech) / SAMPLE_RATE_HZ
        if duration_s < self._min_speech_s:
            raise EnrollError(
                f"{path} holds {duration_s:.1f} s of speech, too short for a voice:"
                f" give at least {self._min_speech_s:g} s of one person speaking"
            )
        if is_clipped(speech):
            raise EnrollError(f"{path} is overdriven (clipped): record it with less gain")
        if duration_s >= HALVES_FROM_S:
            half = len(speech) // 2
            alike = float(self._embedder.embed(speech[:half]) @ self._embedder.embed(speech[half:]))
            if alike < self._match.unsure:
                raise EnrollError(f"{path} does not sound like one person throughout ({alike:.2f}): cut it")
        return Sample("voice", self._embedder.embed(speech), min(duration_s, LONGEST_VOICE_S), path)

    def speech(self, path: Path) -> NDArray[np.float32]:
        """What is spoken in the file, without its pauses, up to the longest that counts."""
        replay = Replay(path, sample_rate_hz=SAMPLE_RATE_HZ)
        if not replay.info.has_audio:
            raise EnrollError(f"{path} has no sound: give a sound file, or use --photo")
        blocks = []
        for item in replay.items():
            if isinstance(item, AudioBlock):
                blocks.append(item.samples)
                if item.time_s > 4 * LONGEST_VOICE_S:
                    break
        sound = np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.float32)
        spans = self._activity.spans(sound) if len(sound) else []
        spoken = [
            sound[round(span.start_s * SAMPLE_RATE_HZ) : round(span.end_s * SAMPLE_RATE_HZ)] for span in spans
        ]
        joined = np.concatenate(spoken) if spoken else np.zeros(0, dtype=np.float32)
        return joined[: round(LONGEST_VOICE_S * SAMPLE_RATE_HZ)]


def enroll(
    store: MemoryStore,
    files: MediaFiles,
    samples: Sequence[Sample],
    *,
    name: str,
    person: Person | None,
    rules: dict[NodeKind, MatchRule],
    now_utc_s: float,
) -> Enrolled:
    """Give the samples to a person, or to a new one of that name; one change in the history. Writes the portrait."""
    with store.transaction():
        alike = _alike(store, samples, person, rules)
        with store.recorded("enroll", person.id if person else 0, "resident") as entry:
            person_id = person.id if person else store.create_person(tentative=False)
            entry.person_id = person_id
            if person is None:
                store.name_person(person_id, name, source="resident")
                entry.detail["new_person_id"] = person_id
            if store.person(person_id).consent == "unknown":
                store.set_consent(person_id, "resident")
            nodes = {kind: _node(store, person_id, kind, now_utc_s) for kind in {s.kind for s in samples}}
            entry.detail["node_ids"] = sorted(nodes.values())
            for sample in samples:
                node_id = nodes[sample.kind]
                store.add_exemplar(node_id, sample.kind, sample.vector, quality=sample.quality, clip_id=None)
                if sample.crop is not None and files.find(portrait_name(node_id)) is None:
                    files.write(portrait_name(node_id), encode_jpeg(sample.crop))
    return Enrolled(store.person(person_id), len(samples), alike)


def _node(store: MemoryStore, person_id: int, kind: NodeKind, now_utc_s: float) -> int:
    """The person's first face or voice, pinned, or a new one."""
    person = store.person(person_id)
    known = person.face_ids if kind == "face" else person.voice_ids
    node_id = (
        known[0]
        if known
        else store.add_node(
            kind,
            "",
            clip_id=None,
            start_utc_s=now_utc_s,
            end_utc_s=now_utc_s,
            provenance={"source": "enrolled"},
        )
    )
    store.bind(person_id, node_id, source="resident")
    return node_id


def _alike(
    store: MemoryStore, samples: Sequence[Sample], person: Person | None, rules: dict[NodeKind, MatchRule]
) -> tuple[Person, ...]:
    found = set()
    for sample in samples:
        for exemplar in store.exemplars(sample.kind):
            if float(exemplar.vector @ sample.vector) >= rules[sample.kind].match:
                found.add(exemplar.person_id)
    own = person.id if person else None
    return tuple(store.person(other) for other in sorted(found - {None, own}, key=lambda p: p or 0) if other)


def _refuse_strangers(samples: Sequence[Sample], unsure: float) -> None:
    """All samples must be of one person."""
    for sample in samples[1:]:
        alike = float(sample.vector @ samples[0].vector)
        if alike < unsure:
            raise EnrollError(
                f"{samples[0].path} and {sample.path} do not seem to be the same person ({alike:.2f}):"
                " enrol one person at a time"
            )
