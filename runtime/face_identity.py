"""Whose face each track of a clip is: matched against the known faces, or enrolled as somebody new."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from memory_store.store import MemoryStore
from models.face_quality import FaceQuality
from runtime.clips import ClipSpan
from runtime.gallery import Gallery, MatchRule, Verdict
from runtime.see import FaceTrack, FaceView

BEST_VIEWS = 5  # a track is matched by its sharpest views
SHORTEST_TRACK_S = 0.4  # two frames at 5 fps: a face seen in one frame may be none


@dataclass(frozen=True)
class FaceRule:
    """The face model's thresholds: matching, and the quality that recognising and enrolling ask for."""

    match: MatchRule
    sharpness_recognise: float
    sharpness_enroll: float
    width_recognise_px: float
    width_enroll_px: float
    roll_max_deg: float
    yaw_max: float
    new_exemplar: float

    def recognisable(self, quality: FaceQuality) -> bool:
        """Good enough to be compared."""
        return quality.sharpness >= self.sharpness_recognise and quality.width_px >= self.width_recognise_px

    def enrollable(self, quality: FaceQuality) -> bool:
        """Good enough to be learned from."""
        return (
            quality.sharpness >= self.sharpness_enroll
            and quality.width_px >= self.width_enroll_px
            and abs(quality.roll_deg) <= self.roll_max_deg
            and abs(quality.yaw) <= self.yaw_max
        )


@dataclass(frozen=True, eq=False)
class SeenFace:
    """One track and whose it is; `face_id` is None when nobody could be told, `candidate_id` whom it is most like."""

    track: FaceTrack
    face_id: int | None
    verdict: Verdict
    similarity: float
    candidate_id: int | None = None


class FaceIdentifier:
    """Decides and enrols the faces of one clip at a time, inside the caller's transaction."""

    def __init__(self, store: MemoryStore, rule: FaceRule, *, exemplars: int, model: str) -> None:
        self._store = store
        self._rule = rule
        self._exemplars = exemplars
        self._model = model

    def identify(self, clip_id: int, span: ClipSpan, tracks: tuple[FaceTrack, ...]) -> tuple[SeenFace, ...]:
        """Each track's identity, in the tracks' order. Tracks seen at the same time are different people."""
        known = Gallery(self._store.exemplars("face"))
        seen: dict[int, SeenFace] = {}
        for index, track in enumerate(tracks):
            seen[index] = self._decide(clip_id, span, track, known, seen.values())
        for index, face in list(seen.items()):  # later tracks may have taught what an earlier one lacked
            if face.verdict == "unsure":
                others = [other for number, other in seen.items() if number != index]
                seen[index] = self._decide(clip_id, span, face.track, known, others)
        return tuple(seen[index] for index in range(len(tracks)))

    def _decide(
        self, clip_id: int, span: ClipSpan, track: FaceTrack, known: Gallery, others: Iterable[SeenFace]
    ) -> SeenFace:
        views = sorted(
            (view for view in track.views if self._rule.recognisable(view.quality)),
            key=lambda view: -view.quality.sharpness,
        )[:BEST_VIEWS]
        if not views or track.end_s - track.start_s < SHORTEST_TRACK_S - 1e-6:
            return SeenFace(track, None, "unsure", 0.0)
        present = {
            other.face_id
            for other in others
            if other.face_id is not None and other.track.overlaps(track.start_s, track.end_s) > 0
        }
        scores = known.scores(np.stack([view.vector for view in views]), barred=present)
        match = known.decide(scores, self._rule.match)
        if match.verdict == "known" and match.node_id is not None:
            self._learn(clip_id, match.node_id, views, known)
            return SeenFace(track, match.node_id, "known", match.similarity)
        good = [view for view in views if self._rule.enrollable(view.quality)]
        if match.verdict == "new" and good:
            return SeenFace(track, self._enroll(clip_id, span, track, good, known), "new", match.similarity)
        return SeenFace(track, None, "unsure", match.similarity, match.node_id)

    def _enroll(
        self, clip_id: int, span: ClipSpan, track: FaceTrack, views: list[FaceView], known: Gallery
    ) -> int:
        face_id = self._store.add_node(
            "face",
            "",
            clip_id=clip_id,
            start_utc_s=span.utc_s(track.start_s),
            end_utc_s=span.utc_s(track.end_s),
            provenance={"source": "identified", "model": self._model},
        )
        self._store.bind(self._store.create_person(tentative=True), face_id)
        self._learn(clip_id, face_id, views, known)
        return face_id

    def _learn(self, clip_id: int, face_id: int, views: list[FaceView], known: Gallery) -> None:
        """Keep the views that show something new, up to the cap; sharpest first."""
        person = self._store.person_of(face_id)
        for view in views:
            held = known.vectors(face_id)
            if len(held) >= self._exemplars or not self._rule.enrollable(view.quality):
                continue
            if held and float((np.stack(held) @ view.vector).max()) > self._rule.new_exemplar:
                continue
            self._store.add_exemplar(
                face_id, "face", view.vector, quality=view.quality.sharpness, clip_id=clip_id
            )
            known.add(face_id, person.id if person else None, view.vector)
