"""Who was seen and who spoke in one clip, and which face and which voice are one person.

Runs inside the transaction of the clip it belongs to. What residents read is left to runtime/memorize.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memory_store.store import MemoryStore
from runtime.clips import ClipSpan
from runtime.config import IdentifySettings
from runtime.face_identity import FaceIdentifier, SeenFace
from runtime.hear import Hearing
from runtime.see import Sight
from runtime.voice_identity import SpokenBy, VoiceIdentifier, track_alone


@dataclass(frozen=True)
class Identified:
    """Everybody in one clip."""

    faces: tuple[SeenFace, ...]
    speech: tuple[SpokenBy, ...]


class Identifier:
    """Faces first, then voices, then one vote per face and voice that were met alone together."""

    def __init__(
        self, store: MemoryStore, faces: FaceIdentifier, voices: VoiceIdentifier, settings: IdentifySettings
    ) -> None:
        self._store = store
        self._faces = faces
        self._voices = voices
        self._settings = settings

    def identify(self, clip_id: int, span: ClipSpan, sight: Sight, hearing: Hearing) -> Identified:
        """Decide, enrol, vote and bind, inside the caller's transaction."""
        faces = self._faces.identify(clip_id, span, sight.tracks)
        speech = self._voices.identify(clip_id, span, hearing.speech, faces)
        faces = tuple(self._settled(face, faces, speech) for face in faces)
        pairs = {
            (one.face_id, one.voice_id)
            for one in speech
            if one.face_id is not None and one.voice_id is not None and not one.speech.overlapped
        }
        for face_id, voice_id in sorted(pairs):
            self._store.add_vote(face_id, voice_id, clip_id, 1.0)
        for voice_id in sorted({voice_id for _, voice_id in pairs}):
            self._bind(voice_id)
        return Identified(faces, speech)

    def _settled(self, face: SeenFace, faces: tuple[SeenFace, ...], speech: tuple[SpokenBy, ...]) -> SeenFace:
        """An unsure face that is most like somebody whose voice is heard while no other face is in view is theirs.

        Two weak signs that agree are enough to say who it is; the face is still not learned from.
        """
        if face.verdict != "unsure" or face.candidate_id is None:
            return face
        candidate = self._store.person_of(face.candidate_id)
        for one in speech:
            if one.verdict != "known" or one.voice_id is None or track_alone(one.speech, faces) is not face:
                continue
            speaker = self._store.person_of(one.voice_id)
            if candidate is not None and speaker is not None and speaker.id == candidate.id:
                return replace(face, face_id=face.candidate_id, verdict="known")
        return face

    def _bind(self, voice_id: int) -> None:
        """Give a voice to the face it was met with most often, when that face leads by the margin.

        Ties have no leader, so they bind nobody (paper section 4.1 lets the best vote win; two people who are
        always met together would then share a voice).
        """
        votes = sorted(
            (
                (weight, -face_id)
                for (face_id, voice), weight in self._store.votes().items()
                if voice == voice_id
            ),
            reverse=True,
        )
        best, runner_up = votes[0], votes[1][0] if len(votes) > 1 else 0.0
        if best[0] < self._settings.min_votes or best[0] < self._settings.vote_margin * runner_up:
            return
        owner, speaker = self._store.person_of(-best[1]), self._store.person_of(voice_id)
        if owner is None or speaker is None or owner.id == speaker.id:
            return
        if speaker.face_ids or speaker.name or len(speaker.voice_ids) > 1:
            self._store.bind(owner.id, voice_id)
        else:
            self._store.merge_people(owner.id, speaker.id)
