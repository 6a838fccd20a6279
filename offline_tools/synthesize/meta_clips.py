"""Meta-clips: pieces of at most 5 s in which exactly one face is in view and exactly one voice speaks.

M3-Agent (arXiv 2508.09736), appendix on identity equivalence: in such a short monologue the voice is most likely the
face's. The paper cuts a video into 5 s clips; here a piece also ends where somebody comes or goes, so that a camera
that watches people one after another yields any at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memory_store.tags import Tag
from offline_tools.remembered import RememberedClip, Stretch

LONGEST_S = 5.0
LEAST_SPEECH_S = 0.5  # less is a breath, or the end of what somebody else said


@dataclass(frozen=True)
class MetaClip:
    """One face and one voice alone together, in media seconds of their clip's source."""

    face: Tag
    voice: Tag
    start_s: float
    end_s: float


def meta_clips(clip: RememberedClip) -> Iterator[MetaClip]:
    """The meta-clips of one clip, in order."""
    for start_s, end_s in _pieces(clip):
        faces = {_who(one) for one in clip.seen if one.shared_s(start_s, end_s) > 0}
        voices = {_who(one) for one in clip.heard if one.shared_s(start_s, end_s) >= LEAST_SPEECH_S}
        face, voice = _only(faces), _only(voices)
        if face is not None and voice is not None and (face.kind, voice.kind) == ("face", "voice"):
            yield MetaClip(face, voice, start_s, end_s)


def _who(stretch: Stretch) -> Tag | None:
    """None for whoever is not known: such a one is nobody's voice, and makes a second all the same."""
    return None if stretch.on_screen else stretch.tag


def _only(tags: set[Tag | None]) -> Tag | None:
    return next(iter(tags)) if len(tags) == 1 else None


def _pieces(clip: RememberedClip) -> Iterator[tuple[float, float]]:
    """The clip cut wherever somebody comes or goes, and what is still too long into equal parts."""
    ends = _changes(clip.seen, clip.clip.media_start_s, clip.clip.media_end_s)
    for start_s, end_s in pairwise(ends):
        parts = max(1, math.ceil((end_s - start_s) / LONGEST_S - 1e-9))
        step_s = (end_s - start_s) / parts
        for number in range(parts):
            yield start_s + number * step_s, start_s + (number + 1) * step_s


def _changes(seen: Sequence[Stretch], start_s: float, end_s: float) -> list[float]:
    moments = {moment for one in seen for moment in (one.start_s, one.end_s)}
    return [start_s, *sorted(moment for moment in moments if start_s < moment < end_s), end_s]
