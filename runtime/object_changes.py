"""What happened to things between the last picture of a place and a clip: they appeared, moved, are gone, are held.

Told as grounded lines, by code alone (DESIGN section 7). Detectors miss things now and then, so that one has gone is
told only after it was missed in two clips, and that it has moved only when its box did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_store.objects import Sighting
from models.objects import ObjectBox
from runtime.grounded import GroundedLine
from runtime.object_identity import Thing
from runtime.object_places import Grip, Spot, spot_words
from runtime.object_views import Keyframe, overlap

STAYED = 0.3  # overlap of boxes from which a thing did not move
MOVED = 0.25  # share of the picture that a thing must have moved where no furniture tells of it
SAME_VIEW = 0.85  # likeness of two whole pictures from which the camera looks the same way
MOST_LINES = 8  # a clip; what is beyond is seen in the pictures


@dataclass(frozen=True, eq=False)
class LastView:
    """The newest picture of the place before a clip: what it looked like, which objects it showed and missed."""

    vector: NDArray[np.float32] | None
    shown: frozenset[int]
    missing: frozenset[int]

    def is_same(self, keyframe: Keyframe) -> bool:
        """Whether a keyframe looks the same way."""
        if self.vector is None or keyframe.vector is None:
            return False
        return float(self.vector @ keyframe.vector) >= SAME_VIEW


@dataclass(frozen=True, eq=False)
class PlacedThing:
    """A thing with where it is in its last look, who has it, and where it was before."""

    thing: Thing
    spot: Spot
    grip: Grip | None
    before: Sighting | None

    @property
    def label(self) -> str:
        """Its class."""
        return self.thing.label


def settled_spot(box: ObjectBox, size: tuple[int, int], spot: Spot, before: Sighting | None) -> Spot:
    """The spot, or the one told before where the thing did not move and furniture was told of then."""
    if before is None or "relation" not in before.spot or before.held:
        return spot
    if overlap(box, _box_of(before, size, box)) < STAYED:
        return spot
    kept = str(before.spot["anchor"])
    return replace(spot, relation=before.spot["relation"], anchor=kept, region="", anchor_box=None)


def _box_of(before: Sighting, size: tuple[int, int], like: ObjectBox) -> ObjectBox:
    x, y, width, height = before.box or (0.0, 0.0, 0.0, 0.0)
    return replace(like, x=x * size[0], y=y * size[1], width=width * size[0], height=height * size[1])


def has_moved(placed: PlacedThing, keyframe: Keyframe, same_view: bool) -> bool:
    """Whether a thing is elsewhere than it was last told to be."""
    before = placed.before
    if before is None or before.held or placed.grip is not None or not before.spot:
        return False
    box = placed.thing.looks[-1].view.box
    last = _box_of(before, keyframe.size, box)
    if same_view and before.box is not None and overlap(box, last) >= STAYED:
        return False
    now = placed.spot.as_provenance()
    if "relation" in now and "relation" in before.spot:
        return now != dict(before.spot)
    return same_view and before.box is not None and _distance(box, last, keyframe.size) > MOVED


def _distance(one: ObjectBox, other: ObjectBox, size: tuple[int, int]) -> float:
    across = (one.x + one.width / 2 - other.x - other.width / 2) / max(1, size[0])
    down = (one.y + one.height / 2 - other.y - other.height / 2) / max(1, size[1])
    return float(np.hypot(across, down))


def changes(
    placed: Sequence[PlacedThing],
    gone: Sequence[Sighting],
    keyframes: Sequence[Keyframe],
    last: LastView | None,
) -> list[GroundedLine]:
    """The lines of a clip about its objects; `gone`: known ones that are missed for the second time."""
    lines: list[GroundedLine] = []
    fresh: dict[str, list[PlacedThing]] = {}
    for one in placed:
        if one.thing.node_id is None and one.grip is None:
            continue
        keyframe = keyframes[one.thing.looks[-1].keyframe]
        same_view = last is not None and last.is_same(keyframe)
        if one.grip is not None:
            lines.append(_held(one, one.grip, keyframe))
        elif has_moved(one, keyframe, same_view):
            lines.append(_moved(one, keyframe))
        elif _is_fresh(one, same_view, last):
            fresh.setdefault(spot_words(one.spot.as_provenance()), []).append(one)
    lines += [_fresh(words, group, keyframes, last) for words, group in sorted(fresh.items())]
    lines += [_gone(sighting, keyframes[-1]) for sighting in gone]
    return lines[:MOST_LINES]


def _is_fresh(one: PlacedThing, same_view: bool, last: LastView | None) -> bool:
    if one.thing.verdict == "new":
        return True
    return same_view and last is not None and one.thing.node_id not in last.shown | last.missing


def _line(
    text: str,
    meaning: str,
    times: tuple[float, float],
    told: Mapping[str, Any],
    mentions: Sequence[tuple[int, str]],
    actors: tuple[int, ...] = (),
) -> GroundedLine:
    return GroundedLine("object", text, meaning, *times, actors, dict(told), mentions=tuple(mentions))


def _ids(one: PlacedThing, detail: str) -> list[tuple[int, str]]:
    return [] if one.thing.node_id is None else [(one.thing.node_id, detail)]


def _held(one: PlacedThing, grip: Grip, keyframe: Keyframe) -> GroundedLine:
    who = "Somebody" if grip.face_id is None else f"<face_{grip.face_id}>"
    verb = "holds" if grip.detail == "held_by" else "uses"
    told = {"change": grip.detail, "class": one.label}
    actors = () if grip.face_id is None else (grip.face_id,)
    times = (keyframe.time_s, keyframe.time_s)
    text = f"{who} {verb} a {one.label}."
    return _line(text, f"somebody {verb} a {one.label}", times, told, _ids(one, grip.detail), actors)


def _moved(one: PlacedThing, keyframe: Keyframe) -> GroundedLine:
    assert one.before is not None
    spot = one.spot.as_provenance()
    before = dict(one.before.spot)
    text = f"The {one.label} was {spot_words(before)} and is now {spot_words(spot)}."
    told = {"change": "moved", "class": one.label, "from": before, "to": spot}
    return _line(text, text, (keyframe.time_s, keyframe.time_s), told, _ids(one, "moved"))


def _fresh(
    words: str, group: Sequence[PlacedThing], keyframes: Sequence[Keyframe], last: LastView | None
) -> GroundedLine:
    names = [f"a {one.label}" for one in group]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    times = [keyframes[look.keyframe].time_s for one in group for look in one.thing.looks]
    seen_before = last is not None and last.is_same(keyframes[group[0].thing.looks[-1].keyframe])
    change = "appeared" if seen_before else "first"
    verb = ("appears" if len(group) == 1 else "appear") if seen_before else "is" if len(group) == 1 else "are"
    text = f"{listed[0].upper()}{listed[1:]} {verb} {words}."
    told = {"change": change, "class": group[0].label, "to": group[0].spot.as_provenance()}
    told["classes"] = [one.label for one in group]
    mentions = [pair for one in group for pair in _ids(one, change)]
    return _line(text, text, (min(times), max(times)), told, mentions)


def _gone(sighting: Sighting, keyframe: Keyframe) -> GroundedLine:
    text = f"The {sighting.label} is no longer {spot_words(sighting.spot)}."
    told = {"change": "gone", "class": sighting.label, "from": dict(sighting.spot)}
    assert sighting.object_id is not None
    return _line(text, text, (keyframe.time_s, keyframe.time_s), told, [(sighting.object_id, "gone")])
