"""Who was seen and who spoke in one clip: faces first, then voices, then what each says of the other.

Runs inside the transaction of the clip it belongs to. Which face and which voice are one person is left to
runtime/binding.py, what residents read to runtime/memorize.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from memory_store.store import MemoryStore
from runtime.active_speaker import watched
from runtime.binding import Binder, Meeting
from runtime.clips import ClipSpan
from runtime.config import IdentifySettings
from runtime.face_identity import FaceIdentifier, SeenFace
from runtime.hear import HeardSpeech, Hearing
from runtime.presence import Presence, ShownFace, recognised, with_source
from runtime.see import FaceTrack, Sight
from runtime.settling import Settler
from runtime.voice_identity import SpokenBy, VoiceIdentifier

BEFORE_S = 0.3  # a face that comes into view later than this before speech begins may not be the speaker's
MOSTLY = 0.8  # and it must be in view for this share of it
FRAME_S = 0.2  # when a face appeared is known to within a frame


@dataclass(frozen=True)
class Identified:
    """Everybody in one clip."""

    faces: tuple[SeenFace, ...]
    speech: tuple[SpokenBy, ...]
    shown: tuple[ShownFace, ...] = ()
    own_utterances: int = 0


class Identifier:
    """Decides all faces, then the voices, settles what is open by both, and only then enrols who is still new."""

    def __init__(
        self,
        store: MemoryStore,
        faces: FaceIdentifier,
        voices: VoiceIdentifier,
        settler: Settler,
        binder: Binder,
        settings: IdentifySettings,
        presence: Presence | None = None,
    ) -> None:
        self._presence = presence
        self._store = store
        self._faces = faces
        self._voices = voices
        self._settler = settler
        self._binder = binder
        self._settings = settings

    def identify(self, clip_id: int, span: ClipSpan, sight: Sight, hearing: Hearing) -> Identified:
        """Decide, settle, enrol, vote and bind, inside the caller's transaction."""
        present, elsewhere = (
            (sight.tracks, ()) if self._presence is None else self._presence.sort(clip_id, sight)
        )
        faces = self._faces.decide(clip_id, present)
        shown = recognised(elsewhere, self._faces.resembles)
        heard = with_source(watched(hearing.speech, sight.watched), faces, shown)
        speech = self._voices.identify(clip_id, span, heard, faces)
        faces, speech = self._settler.settle(faces, speech)
        numbers = self._faces.enroll(clip_id, span, faces)
        faces = tuple(replace(face, face_id=_number(face.face_id, numbers)) for face in faces)
        speech = tuple(replace(one, face_id=_number(one.face_id, numbers)) for one in speech)
        self._faces.remember_together(faces)
        self._confirm(clip_id, faces, speech)
        self._binder.vote(clip_id, span.start_utc_s, self._meetings(span, faces, speech))
        return Identified(faces, speech, shown, hearing.own_utterances)

    def _confirm(self, clip_id: int, faces: tuple[SeenFace, ...], speech: tuple[SpokenBy, ...]) -> None:
        """Whoever is met surely in a second clip is no longer tentative."""
        sure = {face.face_id for face in faces if face.verdict == "known" and not face.by_voice}
        sure |= {one.voice_id for one in speech if one.verdict == "known"}
        for node_id in sorted(node_id for node_id in sure if node_id is not None):
            self._store.confirm(node_id, clip_id)

    def _meetings(
        self, span: ClipSpan, faces: tuple[SeenFace, ...], speech: tuple[SpokenBy, ...]
    ) -> list[Meeting]:
        """Each face and voice that were met as one: a short utterance of one voice says the most."""
        meetings = []
        for one in speech:
            if one.face_id is None or one.voice_id is None or one.speech.overlapped:
                continue
            shown = [face for face in faces if face.face_id == one.face_id]
            if _was_there_before(one.speech, span, [face.track for face in shown]):
                meta = one.speech.duration_s <= self._settings.meta_speech_s
                sure = meta and not all(face.by_voice for face in shown)
                weight = self._settings.meta_vote if sure else 1.0
                meetings.append(Meeting(one.face_id, one.voice_id, weight))
        return meetings


def _number(face_id: int | None, numbers: Mapping[int, int]) -> int | None:
    return None if face_id is None else numbers.get(face_id, face_id)


def _was_there_before(speech: HeardSpeech, span: ClipSpan, tracks: list[FaceTrack]) -> bool:
    """Whether a face was in view already when the speech began, and for most of it.

    Sound comes late, by an echo or a slow microphone: speech that begins just as a face appears may still be of
    the one that left. What was in view before a clip began is not known, so a face there from its start counts.
    """
    if speech.start_s < span.media_start_s:  # carried over from the clip before, whose faces are not here
        return False
    since_s = max(speech.start_s - BEFORE_S, span.media_start_s + FRAME_S) + 1e-6
    there = any(track.start_s <= since_s and track.end_s > speech.start_s - BEFORE_S for track in tracks)
    seen_s = sum(track.overlaps(speech.start_s, speech.end_s) for track in tracks)
    through_s = speech.duration_s if speech.watched_s is None else speech.watched_s
    return there and seen_s >= MOSTLY * through_s
