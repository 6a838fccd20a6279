"""Which name a person's evidence proves, if any: a rule over what was heard in different clips."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from memory_store.records import NameEvidence

STRONG = 1.0  # "I'm Anna", by a voice that is known
WEAK = 0.4  # "Thanks, Anna", "this is Anna": it may be meant for somebody else
DENIED = -1.0  # "I'm not Anna"
QUOTED = -0.5  # "she said: I'm Anna"
MARGIN = 2.0  # the best name must weigh this many times the next
CLIPS = 2  # and be heard in so many clips

_SOUNDS = (("ph", "f"), ("ck", "k"), ("y", "i"), ("z", "s"), ("c(?=[eiy])", "s"), ("c", "k"), ("q", "k"))


@dataclass(frozen=True)
class NameStanding:
    """What the evidence says. `name`: proved, or None; `maybe`: the name that leads unproved, or None.

    weights: for each name the sum of what stands for and against it, best first.
    """

    name: str | None
    maybe: str | None
    weights: dict[str, float]


@dataclass
class _Heard:
    best: dict[int, float]  # by clip: a clip counts once, however often a name is said in it
    worst: dict[int, float]
    spellings: Counter[str]

    @property
    def weight(self) -> float:
        return round(sum(self.best.values()) + sum(self.worst.values()), 3)

    @property
    def proved(self) -> bool:
        """Said by the person of themselves once, and heard again in another clip."""
        strong = any(weight >= STRONG for weight in self.best.values())
        return strong and len(self.best) >= CLIPS and self.weight >= STRONG + WEAK - 1e-9


def standing(evidence: Sequence[NameEvidence]) -> NameStanding:
    """The name that a person's evidence proves: never by one clip, and never against the margin."""
    heard: dict[str, _Heard] = defaultdict(lambda: _Heard({}, {}, Counter()))
    for one in evidence:
        name = heard[sound_of(one.name)]
        clips, choose = (name.best, max) if one.weight > 0 else (name.worst, min)
        clips[one.clip_id] = choose(clips.get(one.clip_id, one.weight), one.weight)
        name.spellings[one.name] += round(1000 * one.weight) if one.weight > 0 else 0
    order = sorted(heard.values(), key=lambda name: -name.weight)  # stable: of equals, the one heard first
    weights = {_spelling(name): name.weight for name in order}
    if not order or order[0].weight <= 0:
        return NameStanding(None, None, weights)
    runner_up = max((name.weight for name in order[1:]), default=0.0)
    best = _spelling(order[0])
    if order[0].proved and order[0].weight >= MARGIN * runner_up:
        return NameStanding(best, None, weights)
    return NameStanding(None, best if order[0].weight > runner_up else None, weights)


def maybe_names(evidence: Sequence[NameEvidence]) -> dict[int, str]:
    """For each person whose evidence proves no name but has one that leads: that name."""
    by_person: dict[int, list[NameEvidence]] = defaultdict(list)
    for one in evidence:
        by_person[one.person_id].append(one)
    leading = {person_id: standing(pieces).maybe for person_id, pieces in by_person.items()}
    return {person_id: name for person_id, name in leading.items() if name is not None}


def sound_of(name: str) -> str:
    """A key that spellings of the same first name share: Carl and Karl, Anna and Ana, Sara and Sarah."""
    first = unicodedata.normalize("NFKD", name.split()[0].casefold()) if name.split() else ""
    plain = "".join(letter for letter in first if not unicodedata.combining(letter))
    if not plain.isascii():
        return plain
    for spelled, sound in _SOUNDS:
        plain = re.sub(spelled, sound, plain)
    return re.sub(r"(.)\1+", r"\1", re.sub(r"(?<=.)h(?![aeiou])", "", plain))


def _spelling(name: _Heard) -> str:
    """As it was heard most; of equals, first."""
    return max(name.spellings, key=lambda spelling: name.spellings[spelling])
