"""Whose voice each utterance of a clip is: by its sound, helped by who alone is in view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from memory_store.store import MemoryStore
from runtime.clips import ClipSpan
from runtime.face_identity import SeenFace
from runtime.gallery import Gallery, Match, MatchRule, Verdict
from runtime.hear import HeardSpeech

IN_VIEW = 0.6  # a face belongs to an utterance when it is in view for this share of it
PASSING = 0.2  # and it is not alone when another is in view for this share

Attribution = Literal["voice", "voice and sight", "sight", "nothing"]


@dataclass(frozen=True)
class VoiceRule:
    """The voice model's thresholds.

    `sight_bonus` is added to the voices of the only person in view; a voice that is somebody else's must be that
    much surer before it overrules a face whose voice is not known yet.
    """

    match: MatchRule
    sight_bonus: float
    new_exemplar: float
    min_enroll_s: float
    min_enroll_in_view_s: float


@dataclass(frozen=True, eq=False)
class SpokenBy:
    """One utterance, whose voice it is, the face that was alone in view meanwhile, and what says so."""

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


def track_alone(speech: HeardSpeech, faces: tuple[SeenFace, ...]) -> SeenFace | None:
    """The one face in view while somebody spoke, known or not; None when there were several or none.

    Of several tracks of the same known face the first is returned.
    """
    shares: dict[int, float] = {}
    first: dict[int, SeenFace] = {}
    for number, face in enumerate(faces):
        owner = face.face_id if face.face_id is not None else -1 - number
        seen_s = face.track.overlaps(speech.start_s, speech.end_s)
        shares[owner] = shares.get(owner, 0.0) + seen_s / max(speech.duration_s, 1e-6)
        first.setdefault(owner, face)
    passing = [owner for owner, share in shares.items() if share > PASSING]
    if len(passing) != 1 or shares[passing[0]] < IN_VIEW:
        return None
    return first[passing[0]]


class VoiceIdentifier:
    """Decides and enrols the voices of one clip at a time, inside the caller's transaction."""

    def __init__(self, store: MemoryStore, rule: VoiceRule, *, exemplars: int, model: str) -> None:
        self._store = store
        self._rule = rule
        self._exemplars = exemplars
        self._model = model

    def identify(
        self, clip_id: int, span: ClipSpan, speech: tuple[HeardSpeech, ...], faces: tuple[SeenFace, ...]
    ) -> tuple[SpokenBy, ...]:
        """Each utterance's speaker, in the order of the utterances."""
        known = Gallery(self._store.exemplars("voice"))
        company: dict[int, int] = {}  # voices of this clip that were heard with one face alone
        spoken = []
        for one in speech:
            alone = track_alone(one, faces)
            face_id = alone.face_id if alone is not None else None
            decided = self._decide(clip_id, span, one, face_id, known, company)
            if decided.voice_id is not None and decided.face_id is not None:
                company.setdefault(decided.voice_id, decided.face_id)
            spoken.append(decided)
        return tuple(spoken)

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
        if speech.vector is None:
            return SpokenBy(speech, None, face_id, by_sight, "unsure", 0.0)
        scores = known.scores(speech.vector[np.newaxis])
        match = self._match(scores, face_id, known, company)
        if match.verdict == "known" and match.node_id is not None:
            self._learn(clip_id, match.node_id, speech, face_id, known)
            by: Attribution = "voice and sight" if self._agree(match.node_id, face_id, company) else "voice"
            return SpokenBy(speech, match.node_id, face_id, by, "known", match.similarity)
        if match.verdict == "new" and self._teaches(speech, face_id):
            voice_id = self._enroll(clip_id, span, speech, face_id, known)
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
        face, voice = self._store.person_of(face_id), self._store.person_of(voice_id)
        return face is not None and voice is not None and face.id == voice.id

    def _teaches(self, speech: HeardSpeech, face_id: int | None) -> bool:
        least_s = self._rule.min_enroll_s if face_id is None else self._rule.min_enroll_in_view_s
        return speech.duration_s >= least_s and not speech.overlapped

    def _enroll(
        self, clip_id: int, span: ClipSpan, speech: HeardSpeech, face_id: int | None, known: Gallery
    ) -> int:
        voice_id = self._store.add_node(
            "voice",
            "",
            clip_id=clip_id,
            start_utc_s=span.utc_s(speech.start_s),
            end_utc_s=span.utc_s(speech.end_s),
            provenance={"source": "identified", "model": self._model},
        )
        self._store.bind(self._store.create_person(tentative=True), voice_id)
        self._learn(clip_id, voice_id, speech, face_id, known)
        return voice_id

    def _learn(
        self, clip_id: int, voice_id: int, speech: HeardSpeech, face_id: int | None, known: Gallery
    ) -> None:
        """Keep the utterance's vector where it adds something, up to the cap."""
        held = known.vectors(voice_id)
        if speech.vector is None or len(held) >= self._exemplars or not self._teaches(speech, face_id):
            return
        if held and float((np.stack(held) @ speech.vector).max()) > self._rule.new_exemplar:
            return
        self._store.add_exemplar(voice_id, "voice", speech.vector, quality=speech.duration_s, clip_id=clip_id)
        person = self._store.person_of(voice_id)
        known.add(voice_id, person.id if person else None, speech.vector)
