"""Whose face each track of a clip is: matched against the known faces, or somebody new, to be enrolled at the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from memory_store.store import MemoryStore
from models.face_quality import FaceQuality
from runtime.clips import ClipSpan
from runtime.exemplars import Profiles, gallery_of
from runtime.gallery import Example, Gallery, MatchRule, Verdict, usable
from runtime.see import FaceTrack, FaceView

BEST_VIEWS = 5  # a track is matched by its sharpest views
SHORTEST_TRACK_S = 0.4  # two frames at 5 fps: a face seen in one frame may be none
TOGETHER_S = 0.4  # two faces in view at once for this long are two people for ever
_FIRST_PROVISIONAL = -1_000_000  # ids of new faces while a clip is decided; no node has a negative id


@dataclass(frozen=True)
class FaceRule:
    """The face model's thresholds: matching, and the quality that recognising and enrolling ask for.

    `middle`: what share the middle of somebody's exemplars has in how like them a face is (runtime/gallery.py).
    """

    match: MatchRule
    sharpness_recognise: float
    sharpness_enroll: float
    width_recognise_px: float
    width_enroll_px: float
    roll_max_deg: float
    yaw_max: float
    middle: float = 0.0

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
    """One track and whose it is; `face_id` is None when nobody could be told, `candidate_id` whom it is most like.

    A new face has a negative id until the clip is settled (`is_provisional`); `by_voice`: a voice settled it.
    """

    track: FaceTrack
    face_id: int | None
    verdict: Verdict
    similarity: float
    candidate_id: int | None = None
    by_voice: bool = False

    @property
    def is_provisional(self) -> bool:
        return self.face_id is not None and self.face_id < 0


class FaceIdentifier:
    """Decides the faces of one clip at a time, and enrols those still new, inside the caller's transaction."""

    def __init__(self, store: MemoryStore, rule: FaceRule, profiles: Profiles, *, model: str) -> None:
        self._store = store
        self._rule = rule
        self._profiles = profiles
        self._model = model
        self._known = Gallery(())
        self._provisional = 0

    def decide(self, clip_id: int, tracks: tuple[FaceTrack, ...]) -> tuple[SeenFace, ...]:
        """Each track's identity, in the tracks' order. Tracks seen at the same time are different people.

        New faces get provisional ids, by which the same face is known again within the clip.
        """
        self._known = gallery_of(self._store, "face", self._rule.middle)
        self._provisional = _FIRST_PROVISIONAL
        seen: dict[int, SeenFace] = {}
        for index, track in enumerate(tracks):
            seen[index] = self._decide(clip_id, track, seen.values())
        for index, face in list(seen.items()):  # later tracks may have taught what an earlier one lacked
            if face.verdict == "unsure":
                others = [other for number, other in seen.items() if number != index]
                seen[index] = self._decide(clip_id, face.track, others)
        return tuple(seen[index] for index in range(len(tracks)))

    def resembles(self, track: FaceTrack) -> int | None:
        """The known face that a picture or a screen shows; nothing is learned from it. To be asked after `decide`."""
        views = self._views(track)
        if not views:
            return None
        scores = self._known.scores(np.stack([view.vector for view in views]))
        match = self._known.decide(
            {node: score for node, score in scores.items() if node > 0}, self._rule.match
        )
        return match.node_id if match.verdict == "known" else None

    def enroll(self, clip_id: int, span: ClipSpan, faces: tuple[SeenFace, ...]) -> dict[int, int]:
        """Give each provisional id that is still there a face node; the node's id for each."""
        tracks: dict[int, list[FaceTrack]] = {}
        for face in faces:
            if face.is_provisional and face.face_id is not None:
                tracks.setdefault(face.face_id, []).append(face.track)
        return {
            number: self._enroll(clip_id, span, number, tracks[number]) for number in sorted(tracks)[::-1]
        }

    def remember_together(self, faces: tuple[SeenFace, ...]) -> None:
        """Two faces really in view at once are two people: no later merge or vote may make them one."""
        pairs = {
            (min(one.face_id, other.face_id), max(one.face_id, other.face_id))
            for one, other in combinations(faces, 2)
            if one.face_id is not None
            and other.face_id is not None
            and not (one.by_voice or other.by_voice)
            and one.face_id != other.face_id
            and one.track.overlaps(other.track.start_s, other.track.end_s) >= TOGETHER_S - 1e-6
        }
        for one_id, other_id in sorted(pairs):
            if self._store.owner_of(one_id) != self._store.owner_of(other_id):
                self._store.add_edge(one_id, other_id, "cannot_link", detail="seen together")

    def _decide(self, clip_id: int, track: FaceTrack, others: Iterable[SeenFace]) -> SeenFace:
        views = self._views(track)
        if not views or track.end_s - track.start_s < SHORTEST_TRACK_S - 1e-6:
            return SeenFace(track, None, "unsure", 0.0)
        known, rule = self._known, self._rule
        present = {
            other.face_id
            for other in others
            if other.face_id is not None and other.track.overlaps(track.start_s, track.end_s) > 0
        }
        scores = known.scores(np.stack([view.vector for view in views]), barred=known.same_person(present))
        match = known.decide(scores, rule.match)
        candidate = match.node_id
        good = [view for view in views if rule.enrollable(view.quality)]
        if match.verdict == "known" and candidate is not None:
            for view in good:
                self._learn(clip_id, candidate, view)
            verdict: Verdict = "known" if candidate > 0 else "new"
            return SeenFace(track, candidate, verdict, match.similarity)
        if match.verdict == "new" and good:
            self._provisional -= 1
            known.hold(self._provisional, None, self._profiles.begin([_example(view) for view in good]))
            return SeenFace(track, self._provisional, "new", match.similarity, candidate)
        return SeenFace(track, None, "unsure", match.similarity, candidate)

    def _views(self, track: FaceTrack) -> list[FaceView]:
        views = [
            view for view in track.views if self._rule.recognisable(view.quality) and usable(view.vector)
        ]
        return sorted(views, key=lambda view: -view.quality.sharpness)[:BEST_VIEWS]

    def _learn(self, clip_id: int, face_id: int, view: FaceView) -> None:
        if face_id < 0:
            if self._profiles.may_learn(face_id, view.vector, self._known):
                held = self._profiles.begin([*self._known.examples(face_id), _example(view)])
                self._known.hold(face_id, None, held)
            return
        owner = self._store.owner_of(face_id)
        self._profiles.learn(face_id, owner, _example(view), clip_id, self._known)

    def _enroll(self, clip_id: int, span: ClipSpan, number: int, tracks: list[FaceTrack]) -> int:
        face_id = self._store.add_node(
            "face",
            "",
            clip_id=clip_id,
            start_utc_s=span.utc_s(min(track.start_s for track in tracks)),
            end_utc_s=span.utc_s(max(track.end_s for track in tracks)),
            provenance={"source": "identified", "model": self._model},
        )
        person_id = self._store.create_person(tentative=True)
        self._store.bind(person_id, face_id)
        self._profiles.store(face_id, person_id, self._known.examples(number), clip_id, self._known)
        return face_id


def _example(view: FaceView) -> Example:
    return Example(None, view.vector, view.quality.sharpness)
