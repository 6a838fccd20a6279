"""Which of the household's objects are in a clip's keyframes: known, unsure (then only its class), or new.

Follows DESIGN section 6 for things: several exemplars an object, a threshold and a margin, two in one picture are
two. What is remembered of it is left to runtime/object_memory.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from memory_store.records import Exemplar
from runtime.gallery import Gallery, MatchRule, Verdict
from runtime.object_kinds import alike, may_have_id
from runtime.object_views import Keyframe, ObjectView, overlap

SAME_PLACE = 0.5  # overlap of boxes from which a thing in the next picture of the same view stands still
NEVER = -1.0


@dataclass(frozen=True)
class ObjectRule:
    """When an object is known and when a new one begins.

    still: the least likeness of two looks in one clip that stand in the same place, or anywhere (`match`.match), to be
    one thing; place_bonus: what standing where it last stood adds to the likeness; new_score, new_side_px: the
    least detector score and shorter side of a box from which a new object may begin.
    """

    match: MatchRule
    still: float
    place_bonus: float
    new_score: float = 0.6
    new_side_px: float = 24.0


@dataclass(frozen=True, eq=False)
class Seen:
    """One look at an object: the number of the keyframe, and the view."""

    keyframe: int
    view: ObjectView


@dataclass(eq=False)
class Thing:
    """One object through the keyframes of a clip; `node_id` stays None for what has no id."""

    looks: list[Seen]
    verdict: Verdict = "unsure"
    node_id: int | None = None
    similarity: float = 0.0

    @property
    def label(self) -> str:
        """Its class in most of its looks; of equally many the surest."""
        scores: dict[str, float] = {}
        for look in self.looks:
            box = look.view.box
            scores[box.label] = scores.get(box.label, 0.0) + box.score
        return max(scores, key=lambda label: (scores[label], label))

    @property
    def best(self) -> Seen:
        """The best picture of it."""
        return max(self.looks, key=lambda look: (look.view.quality, -look.keyframe))

    @property
    def keyframes(self) -> frozenset[int]:
        """The numbers of the keyframes that show it."""
        return frozenset(look.keyframe for look in self.looks)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Its looks, (n, d)."""
        return np.stack([look.view.vector for look in self.looks])


@dataclass(frozen=True)
class LastSeen:
    """Where a known object stood in the newest picture: its box as shares of the picture (x, y, width, height)."""

    box: tuple[float, float, float, float]


@dataclass(frozen=True)
class KnownThings:
    """The known objects that may be met in a clip: their exemplars, classes, and where they were last."""

    exemplars: Sequence[Exemplar]
    labels: Mapping[int, str]
    last: Mapping[int, LastSeen] = field(default_factory=dict)


def follow(keyframes: Sequence[Keyframe], rule: ObjectRule) -> list[Thing]:
    """The looks of a clip, those of one thing together: it stands still, or is the only one that looks like it."""
    things: list[Thing] = []
    for number, keyframe in enumerate(keyframes):
        pairs = sorted(
            (
                (_likeness(thing, view, number, keyframes, rule), index, place)
                for index, thing in enumerate(things)
                for place, view in enumerate(keyframe.views)
            ),
            key=lambda pair: (-pair[0], pair[1], pair[2]),
        )
        taken: set[int] = set()
        placed: set[int] = set()
        for likeness, index, place in pairs:
            if likeness > NEVER and index not in taken and place not in placed:
                taken.add(index)
                placed.add(place)
                things[index].looks.append(Seen(number, keyframe.views[place]))
        things += [
            Thing([Seen(number, view)]) for place, view in enumerate(keyframe.views) if place not in placed
        ]
    return things


def _likeness(
    thing: Thing, view: ObjectView, number: int, keyframes: Sequence[Keyframe], rule: ObjectRule
) -> float:
    """How much a view is like a thing of the same clip, one more where it stands still; NEVER: it is another."""
    last = thing.looks[-1]
    if view.box.label not in alike(thing.label):
        return NEVER
    likeness = float((thing.vectors @ view.vector).max())
    still = overlap(last.view.box, view.box) >= SAME_PLACE
    if still and likeness >= rule.still:
        return 1.0 + likeness
    return likeness if likeness >= rule.match.match else NEVER


def decide(
    things: Sequence[Thing], keyframes: Sequence[Keyframe], known: KnownThings, rule: ObjectRule
) -> None:
    """Fill in verdicts, likenesses and the ids of known objects. Things in one picture never share an id."""
    galleries: dict[str, Gallery] = {}
    scores: list[dict[int, float]] = []
    for thing in things:
        label = thing.label
        if not may_have_id(label):
            scores.append({})
            continue
        if label not in galleries:
            kin = alike(label)
            galleries[label] = Gallery(one for one in known.exemplars if known.labels[one.node_id] in kin)
        found = galleries[label].scores(thing.vectors)
        scores.append(
            {node: score + _bonus(thing, node, keyframes, known, rule) for node, score in found.items()}
        )
    open_ = set(range(len(things)))
    while open_:
        best = min(open_, key=lambda index: (-max(scores[index].values(), default=0.0), index))
        open_.discard(best)
        thing = things[best]
        if not may_have_id(thing.label):
            continue
        match = galleries[thing.label].decide(scores[best], rule.match)
        thing.verdict, thing.similarity = match.verdict, match.similarity
        if match.verdict == "known" and match.node_id is not None:
            thing.node_id = match.node_id
            _bar(match.node_id, thing.keyframes, open_, things, scores)
        elif match.verdict == "new" and not _may_begin(thing, rule):
            thing.verdict = "unsure"


def _bar(
    node_id: int,
    keyframes: frozenset[int],
    open_: Collection[int],
    things: Sequence[Thing],
    scores: Sequence[dict[int, float]],
) -> None:
    for index in open_:
        if things[index].keyframes & keyframes:
            scores[index].pop(node_id, None)


def _bonus(
    thing: Thing, node_id: int, keyframes: Sequence[Keyframe], known: KnownThings, rule: ObjectRule
) -> float:
    """Standing where the object last stood speaks for it; it helps to tell two that look alike apart."""
    last = known.last.get(node_id)
    if last is None:
        return 0.0
    first = thing.looks[0]
    width, height = keyframes[first.keyframe].size
    x, y, w, h = last.box
    box = replace(first.view.box, x=x * width, y=y * height, width=w * width, height=h * height)
    return rule.place_bonus if overlap(box, first.view.box) >= SAME_PLACE else 0.0


def _may_begin(thing: Thing, rule: ObjectRule) -> bool:
    box = thing.best.view.box
    return box.score >= rule.new_score and min(box.width, box.height) >= rule.new_side_px
