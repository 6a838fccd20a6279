"""Two identity rules side by side over the same tracks and utterances: the runtime's on a memory, the reference's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np

from offline_tools.bench.attribution import Claim
from offline_tools.bench.reference_rule import (
    FACE_CAP,
    FACE_THRESHOLD,
    VOICE_CAP,
    VOICE_THRESHOLD,
    ReferenceIdentities,
)
from runtime import compose
from runtime.clips import ClipSpan
from runtime.face_identity import SHORTEST_TRACK_S
from runtime.hear import HeardSpeech, Hearing
from runtime.identify import Identified
from runtime.see import FaceTrack, Sight

DAY_S = 86400.0


@dataclass(frozen=True)
class Told:
    """A stretch of time and the face or voice id that was given for it; None where nobody was named."""

    start_s: float
    end_s: float
    node_id: int | None


@dataclass(frozen=True)
class ClipTold:
    """What one rule said of one clip: each track, each utterance with a voice vector."""

    seen: tuple[Told, ...]
    heard: tuple[Told, ...]


class OurRule:
    """The runtime's identifier over a memory in a directory of its own."""

    def __init__(self, parts: compose.Parts, directory: Path) -> None:
        settings = parts.settings.model_copy(update={"data_dir": directory})
        own = compose.Parts(settings, parts.manifest)
        self._settings = settings.identify
        self._store = compose.open_store(own)
        self._identifier = compose.identifier(own, self._store)

    def __enter__(self) -> OurRule:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()

    def clip(self, span: ClipSpan, sight: Sight, hearing: Hearing) -> ClipTold:
        """Identify one clip in one transaction, as the memorizer does."""
        with self._store.transaction():
            clip_id = self._store.add_clip(
                source_key=span.key,
                source_name=span.source_name,
                start_utc_s=span.start_utc_s,
                end_utc_s=span.end_utc_s,
            )
            who: Identified = self._identifier.identify(clip_id, span, sight, hearing)
        return ClipTold(
            tuple(Told(face.track.start_s, face.track.end_s, face.face_id) for face in who.faces),
            tuple(Told(one.speech.start_s, one.speech.end_s, one.actor_id) for one in who.speech),
        )

    def expire(self, now_utc_s: float) -> int:
        """Forget who was met once only and long ago, as the daemon does; how many went."""
        with self._store.transaction():
            gone = self._store.expire_tentative(
                now_utc_s - self._settings.tentative_days * DAY_S, self._settings.tentative_limit
            )
        return len(gone)

    @property
    def people(self) -> int:
        """How many people there are, those met only once among them."""
        return len(self._store.people())

    @property
    def tentative(self) -> int:
        """How many of them were met in one clip only."""
        return sum(person.tentative for person in self._store.people())

    def person_of(self, node_id: int | None) -> int | None:
        """The person whom an id belongs to now; None for no id, and for one that was forgotten."""
        if node_id is None:
            return None
        person = self._store.person_of(node_id)
        return None if person is None else person.id


class ReferenceRule:
    """The reference's rule for faces and for voices; every track and every utterance gets an id."""

    def __init__(self) -> None:
        self.faces = ReferenceIdentities(FACE_THRESHOLD, cap=FACE_CAP)
        self.voices = ReferenceIdentities(VOICE_THRESHOLD, cap=VOICE_CAP)

    def clip(self, sight: Sight, hearing: Hearing) -> ClipTold:
        """Identify and learn one clip."""
        return ClipTold(
            tuple(self._seen(track) for track in sight.tracks),
            tuple(self._heard(one) for one in hearing.speech),
        )

    def _seen(self, track: FaceTrack) -> Told:
        if track.end_s - track.start_s < SHORTEST_TRACK_S - 1e-6:
            return Told(track.start_s, track.end_s, None)
        views = np.stack([view.vector for view in track.views])
        return Told(track.start_s, track.end_s, self.faces.meet(views))

    def _heard(self, one: HeardSpeech) -> Told:
        voice = None if one.vector is None else self.voices.meet(one.vector[np.newaxis])
        return Told(one.start_s, one.end_s, voice)


def claims(told: tuple[Told, ...], shift_s: float = 0.0) -> list[Claim]:
    """What was told as claims, moved by some seconds; nothing for what nobody was named for."""
    return [
        Claim(one.start_s + shift_s, one.end_s + shift_s, one.node_id)
        for one in told
        if one.node_id is not None
    ]
