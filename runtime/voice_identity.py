"""Whose voice each utterance of a clip is: by its sound, helped by who is seen to speak."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memory_store.store import MemoryStore
from runtime.active_speaker import speaking_face
from runtime.clips import ClipSpan
from runtime.exemplars import Profiles, gallery_of
from runtime.face_identity import SeenFace
from runtime.gallery import Example, Gallery, Match, MatchRule, Verdict, usable
from runtime.hear import HeardSpeech

Attribution = Literal["voice", "voice and sight", "sight", "conversation", "nothing"]


@dataclass(frozen=True)
class VoiceRule:
    """The voice model's thresholds.

    `sight_bonus` is added to the voices of the only person in view; a voice that is somebody else's must be that
    much surer before it overrules a face whose voice is not known yet. Speech that is clipped, overlapped or stands
    less than `min_enroll_snr_db` out of the noise is never learned from. An utterance whose voice alone says too
    little is given to the voice that the same speaker of the clip was recognised by, if it is like no known voice more
    and at least `conversation` alike.
    """

    match: MatchRule
    sight_bonus: float
    min_enroll_s: float
    min_enroll_in_view_s: float
    min_enroll_snr_db: float = -100.0
    conversation: float = 1.0


@dataclass(frozen=True, eq=False)
class SpokenBy:
    """One utterance, whose voice it is, the face that spoke it, and what says so."""

    speech: HeardSpeech
    voice_id: int | None
    face_id: int | None
    by: Attribution
    verdict: Verdict
    similarity: float

    @property
    def actor_id(self) -> int | None:
        """The face or voice that the spoken line names."""
        return self.voice_id if self.voice_id is not None else self.face_id


class VoiceIdentifier:
    """Decides and enrols the voices of one clip at a time, inside the caller's transaction."""

    def __init__(self, store: MemoryStore, rule: VoiceRule, profiles: Profiles, *, model: str) -> None:
        self._store = store
        self._rule = rule
        self._profiles = profiles
        self._model = model

    def identify(
        self, clip_id: int, span: ClipSpan, speech: tuple[HeardSpeech, ...], faces: tuple[SeenFace, ...]
    ) -> tuple[SpokenBy, ...]:
        """Each utterance's speaker, in the order of the utterances."""
        known = gallery_of(self._store, "voice")
        company: dict[int, int] = {}  # voices of this clip that were heard with the face that spoke
        spoken = []
        for one in speech:
            if one.source == "screen":
                spoken.append(SpokenBy(one, None, None, "nothing", "unsure", 0.0))
                continue
            speaker = speaking_face(one, faces)
            face_id = speaker.face_id if speaker is not None else None
            decided = self._decide(clip_id, span, one, face_id, known, company)
            if decided.voice_id is not None and decided.face_id is not None:
                company.setdefault(decided.voice_id, decided.face_id)
            spoken.append(decided)
        return tuple(self._in_conversation(one, spoken, known, company) for one in spoken)

    def _in_conversation(
        self, one: SpokenBy, spoken: list[SpokenBy], known: Gallery, company: dict[int, int]
    ) -> SpokenBy:
        """An utterance that its own voice left open, with the voice of the clip's same speaker. Nothing is learned."""
        speaker, vector = one.speech.speaker, one.speech.vector
        if one.voice_id is not None or speaker is None or vector is None or not usable(vector):
            return one
        voices = {other.voice_id for other in spoken if other.speech.speaker == speaker} - {None}
        if one.speech.source != "room" or len(voices) != 1:
            return one
        (voice_id,) = voices
        scores = known.scores(vector[np.newaxis])
        if voice_id is None or max(scores, key=lambda node: scores[node], default=None) != voice_id:
            return one
        if scores[voice_id] < self._rule.conversation:
            return one
        if one.face_id is not None and not self._agree(voice_id, one.face_id, company):
            return one
        return replace(one, voice_id=voice_id, by="conversation", similarity=scores[voice_id])

    def _decide(
        self,
        clip_id: int,
        span: ClipSpan,
        speech: HeardSpeech,
        face_id: int | None,
        known: Gallery,
        company: dict[int, int],
    ) -> SpokenBy:
        by_sight: Attribution = "sight" if face_id is not None else "nothing"
        if speech.vector is None or not usable(speech.vector):
            return SpokenBy(speech, None, face_id, by_sight, "unsure", 0.0)
        scores = known.scores(speech.vector[np.newaxis])
        match = self._match(scores, face_id, known, company)
        if match.verdict == "known" and match.node_id is not None:
            if self._teaches(speech, face_id):
                self._learn(clip_id, match.node_id, speech.vector, speech.duration_s, known)
            if self._is_known_not_to_be(match.node_id, face_id):
                return SpokenBy(speech, match.node_id, None, "voice", "known", match.similarity)
            by: Attribution = "voice and sight" if self._agree(match.node_id, face_id, company) else "voice"
            return SpokenBy(speech, match.node_id, face_id, by, "known", match.similarity)
        if match.verdict == "new" and self._teaches(speech, face_id):
            voice_id = self._enroll(clip_id, span, speech, speech.vector, known)
            by = "voice and sight" if face_id is not None else "voice"
            return SpokenBy(speech, voice_id, face_id, by, "new", match.similarity)
        return SpokenBy(speech, None, face_id, by_sight, "unsure", match.similarity)

    def _match(
        self, scores: dict[int, float], face_id: int | None, known: Gallery, company: dict[int, int]
    ) -> Match:
        rule = self._rule.match
        if face_id is None:
            return known.decide(scores, rule)
        home = [node for node in scores if self._agree(node, face_id, company)]
        if not home:  # this face's voice is not known yet: another's must be very sure to overrule that
            strict = MatchRule(rule.match + self._rule.sight_bonus, rule.match, rule.margin)
            return known.decide(scores, strict)
        bonus = self._rule.sight_bonus
        return known.decide({n: s + bonus if n in home else s for n, s in scores.items()}, rule)

    def _agree(self, voice_id: int, face_id: int | None, company: dict[int, int]) -> bool:
        """Whether a voice is already held to be the face's."""
        if face_id is None:
            return False
        if company.get(voice_id) == face_id:
            return True
        if face_id < 0:  # a face met for the first time in this clip
            return False
        owner = self._store.owner_of(face_id)
        return owner is not None and owner == self._store.owner_of(voice_id)

    def _is_known_not_to_be(self, voice_id: int, face_id: int | None) -> bool:
        """Whether a resident said that a voice is not a face's person's: then it was heard from off-screen."""
        apart = self._store.cannot_links(voice_id)
        if not apart or face_id is None or face_id < 0:
            return False
        owner = self._store.owner_of(face_id)
        theirs = {one.node_id for one in self._store.bindings(owner)} if owner is not None else set()
        return not apart.isdisjoint(theirs | {face_id})

    def _teaches(self, speech: HeardSpeech, face_id: int | None) -> bool:
        least_s = self._rule.min_enroll_s if face_id is None else self._rule.min_enroll_in_view_s
        clear = speech.snr_db is None or speech.snr_db >= self._rule.min_enroll_snr_db
        whole = not speech.overlapped and not speech.clipped
        return speech.duration_s >= least_s and whole and clear and speech.source == "room"

    def _enroll(
        self, clip_id: int, span: ClipSpan, speech: HeardSpeech, vector: NDArray[np.float32], known: Gallery
    ) -> int:
        voice_id = self._store.add_node(
            "voice",
            "",
            clip_id=clip_id,
            start_utc_s=span.utc_s(speech.start_s),
            end_utc_s=span.utc_s(speech.end_s),
            provenance={"source": "identified", "model": self._model},
        )
        person_id = self._store.create_person(tentative=True)
        self._store.bind(person_id, voice_id)
        view = Example(None, vector, speech.duration_s)
        self._profiles.store(voice_id, person_id, [view], clip_id, known)
        return voice_id

    def _learn(
        self, clip_id: int, voice_id: int, vector: NDArray[np.float32], duration_s: float, known: Gallery
    ) -> None:
        view = Example(None, vector, duration_s)
        self._profiles.learn(voice_id, self._store.owner_of(voice_id), view, clip_id, known)
