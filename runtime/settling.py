"""Settles whose face an open one is by the voice that speaks with it: two weak signs that agree are enough.

Open is an unsure face, and a new one that is somewhat like somebody already. What is settled so is never learned
from, and says nothing of who was seen together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memory_store.store import MemoryStore
from runtime.active_speaker import speaking_face
from runtime.face_identity import SeenFace
from runtime.voice_identity import SpokenBy


@dataclass(frozen=True)
class Settler:
    """`assist`: how like somebody a face must be, at least, to be theirs when the voice says so too."""

    store: MemoryStore
    assist: float

    def settle(
        self, faces: tuple[SeenFace, ...], speech: tuple[SpokenBy, ...]
    ) -> tuple[tuple[SeenFace, ...], tuple[SpokenBy, ...]]:
        """The faces and the speech of a clip, with the open faces that a voice settles given to whom they belong."""
        numbers: dict[int, int] = {}
        settled = list(faces)
        for index, face in enumerate(faces):
            if face.verdict == "known" or (face.face_id is not None and face.candidate_id is None):
                continue
            owner = self._owner(face, faces, speech)
            if owner is None:
                continue
            if face.face_id is None:
                settled[index] = replace(face, face_id=owner, verdict="known", by_voice=True)
            else:
                numbers[face.face_id] = owner
        for index, face in enumerate(settled):
            if face.face_id in numbers:
                settled[index] = replace(
                    face, face_id=_last(face.face_id, numbers), verdict="known", by_voice=True
                )
            elif face.face_id is not None:
                settled[index] = replace(face, face_id=_last(face.face_id, numbers))
        renumbered = tuple(
            one if one.face_id is None else replace(one, face_id=_last(one.face_id, numbers))
            for one in speech
        )
        return tuple(settled), renumbered

    def _owner(self, face: SeenFace, faces: tuple[SeenFace, ...], speech: tuple[SpokenBy, ...]) -> int | None:
        """The face id that an open face is settled to; None where it stays open."""
        candidate_id = face.candidate_id
        if candidate_id is None or face.similarity < self.assist:
            return None
        spoken = [
            one
            for one in speech
            if one.speech.vector is not None and _is_of(face, speaking_face(one.speech, faces))
        ]
        if not spoken or self._is_elsewhere(candidate_id, face, faces):
            return None
        heard_with = {one.voice_id for one in speech if one.face_id == candidate_id}
        agree = all(
            one.verdict == "known"
            and one.voice_id is not None
            and (one.voice_id in heard_with or self._is_voice_of(one.voice_id, candidate_id))
            for one in spoken
        )
        return candidate_id if agree else None

    def _is_voice_of(self, voice_id: int, face_id: int) -> bool:
        """Whether a voice is bound to a face's person; or to no face yet, and was never met more with another."""
        if face_id < 0:
            return False
        speaker, owner = self.store.person_of(voice_id), self.store.owner_of(face_id)
        if speaker is None or owner is None or speaker.id == owner:
            return speaker is not None and owner is not None
        if speaker.face_ids or face_id in self.store.cannot_links(voice_id):
            return False
        votes = {face: weight for (face, voice), weight in self.store.votes().items() if voice == voice_id}
        return votes.get(face_id, 0.0) > 0.0 and votes[face_id] >= max(votes.values())

    def _is_elsewhere(self, candidate_id: int, face: SeenFace, faces: tuple[SeenFace, ...]) -> bool:
        """Whether the candidate is in view at the same time as the open face, and so is somebody else."""
        owner = self._person(candidate_id)
        tracks = [other.track for other in faces if _is_of(face, other)]
        return any(
            other.track.overlaps(track.start_s, track.end_s) > 0
            for other in faces
            if other.face_id is not None and self._person(other.face_id) == owner
            for track in tracks
        )

    def _person(self, face_id: int) -> int | None:
        """The person of a face; a new face is a person of its own."""
        return face_id if face_id < 0 else self.store.owner_of(face_id)


def _is_of(face: SeenFace, other: SeenFace | None) -> bool:
    """Whether two are held to be one face: the same track, or the same new face."""
    return other is face or (other is not None and face.is_provisional and other.face_id == face.face_id)


def _last(face_id: int, numbers: dict[int, int]) -> int:
    """Whom a number leads to in the end: a new face is settled only to one that was there before it."""
    while face_id in numbers:
        face_id = numbers[face_id]
    return face_id
