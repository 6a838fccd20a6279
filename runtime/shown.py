"""Whom or which thing a picture or a sound shows that comes with a question: by the gates of what is seen live.

Nothing of it is kept or learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memory_store.records import Person
from memory_store.store import MemoryStore
from runtime.exemplars import gallery_of
from runtime.gallery import Gallery, Match, MatchRule, Verdict
from runtime.object_kinds import alike

Medium = Literal["picture", "sound"]
Poor = Literal["", "faint", "short", "mixed"]


@dataclass(frozen=True)
class ShownOne:
    """A face, a voice or a thing in it.

    person: whose face or voice it is or, where unsure, may be; object_id, label: the thing alike, and its class; poor:
    why it cannot be compared: a face too small or blurred, too little speech, or the voices of several.
    """

    verdict: Verdict
    person: Person | None = None
    object_id: int | None = None
    label: str = ""
    similarity: float = 0.0
    runner_up: float = 0.0
    poor: Poor = ""


@dataclass(frozen=True)
class Shown:
    """All that was looked for in it, from the picture's left to its right; others: classes of things seen besides."""

    medium: Medium
    ones: tuple[ShownOne, ...]
    others: tuple[str, ...] = ()

    @property
    def person(self) -> Person | None:
        """The one person it shows for certain."""
        return self.ones[0].person if len(self.ones) == 1 and self.ones[0].verdict == "known" else None


def face_in(store: MemoryStore, vector: NDArray[np.float32], rule: MatchRule, middle: float) -> ShownOne:
    """Whose face a vector (128,) is of."""
    return _person_in(store, gallery_of(store, "face", middle), vector, rule)


def voice_in(store: MemoryStore, vector: NDArray[np.float32], rule: MatchRule) -> ShownOne:
    """Whose voice a vector (192,) is of."""
    return _person_in(store, gallery_of(store, "voice"), vector, rule)


def thing_in(store: MemoryStore, vector: NDArray[np.float32], label: str, rule: MatchRule) -> ShownOne:
    """Which of the household's things of a class, or of one that is taken for it, a look (2624,) is of."""
    match = _match(Gallery(store.objects.exemplars(alike(label))), vector, rule)
    known = None if match.verdict == "new" else match.node_id
    return ShownOne(match.verdict, None, known, label, match.similarity, match.runner_up)


def _person_in(store: MemoryStore, known: Gallery, vector: NDArray[np.float32], rule: MatchRule) -> ShownOne:
    match = _match(known, vector, rule)
    person = None
    if match.verdict != "new" and match.node_id is not None:
        person = store.person_of(match.node_id)
    verdict: Verdict = "new" if person is None else match.verdict
    return ShownOne(verdict, person, similarity=match.similarity, runner_up=match.runner_up)


def _match(known: Gallery, vector: NDArray[np.float32], rule: MatchRule) -> Match:
    return known.decide(known.scores(vector[np.newaxis]), rule)


def in_words(shown: Shown) -> list[str]:
    """What was found in it, as notes for the trace: a sentence each."""
    if not shown.ones:
        return [f"In the {shown.medium} nothing was found that could be compared."]
    return [_told(shown.medium, one) for one in shown.ones]


def _told(medium: Medium, one: ShownOne) -> str:
    if one.poor:
        reasons = {
            "faint": "a face too small or blurred to be compared",
            "short": "too little speech to be compared",
            "mixed": "more than one voice",
        }
        return f"In the {medium}: {reasons[one.poor]}."
    who = one.person.label if one.person else one.label + (f" {one.object_id}" if one.object_id else "")
    named = {"known": who, "unsure": f"perhaps {who}", "new": f"an unknown {one.label or 'person'}"}
    return f"In the {medium}: {named[one.verdict]} (likeness {one.similarity:.2f}, the next {one.runner_up:.2f})."


def left_to_right(places: Sequence[float], ones: Sequence[ShownOne]) -> tuple[ShownOne, ...]:
    """The ones in the order of their places."""
    return tuple(one for _, one in sorted(zip(places, ones, strict=True), key=lambda pair: pair[0]))
