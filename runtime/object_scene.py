"""What a clip's keyframes show of things, beside what was there before: who is who, where, who has what, what is gone.

Writes nothing; that is left to runtime/object_memory.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memory_store.objects import Sighting
from memory_store.store import MemoryStore
from runtime.clips import ClipSpan
from runtime.face_identity import SeenFace
from runtime.grounded import GroundedLine
from runtime.object_changes import LastView, PlacedThing, has_moved, settled_spot
from runtime.object_identity import KnownThings, LastSeen, ObjectRule, Thing, decide, follow
from runtime.object_kinds import alike, may_have_id
from runtime.object_places import grip_of, spot_of
from runtime.object_views import Keyframe

STALE_S = 3600.0  # in a quiet room a known thing is pictured again after this


@dataclass(frozen=True, eq=False)
class ClipObjects:
    """The things of one clip. `missing`: known ones that should be in view and are not, for the first time."""

    keyframes: tuple[Keyframe, ...] = ()
    placed: tuple[PlacedThing, ...] = ()
    gone: tuple[Sighting, ...] = ()
    missing: frozenset[int] = frozenset()
    last: LastView | None = None
    faces: tuple[SeenFace, ...] = ()
    start_utc_s: float = 0.0
    lines: list[GroundedLine] = field(default_factory=list)

    @property
    def news(self) -> bool:
        """Whether something is worth keeping although nobody is there and nothing was said."""
        for one in self.placed:
            keyframe = self.keyframes[one.thing.looks[-1].keyframe]
            same_view = self.last is not None and self.last.is_same(keyframe)
            if (
                one.thing.verdict == "new"
                or self._is_stale(one)
                or (one.thing.node_id is not None and has_moved(one, keyframe, same_view))
            ):
                return True
        return bool(self.gone or self.missing)

    def _is_stale(self, one: PlacedThing) -> bool:
        """Whether the last picture of a known thing is so old that another is worth keeping."""
        if one.thing.node_id is None or one.before is None:
            return False
        return self.start_utc_s - one.before.image.start_utc_s > STALE_S


@dataclass(frozen=True)
class ObjectScene:
    """Reads clips against a store. Used from the one thread that owns it."""

    store: MemoryStore
    rule: ObjectRule
    place: str

    def see(self, span: ClipSpan, keyframes: Sequence[Keyframe], faces: tuple[SeenFace, ...]) -> ClipObjects:
        """What the keyframes show; writes nothing."""
        if not keyframes:
            return ClipObjects()
        last, expected = self._last_view(span)
        things = follow(keyframes, self.rule)
        decide(things, keyframes, self._known(things), self.rule)
        placed = tuple(self._placed(thing, keyframes, faces) for thing in things)
        absent = self._absent(placed, keyframes, last, expected)
        again = last.missing if last is not None else frozenset()
        gone = tuple(sighting for sighting in absent if sighting.object_id in again)
        missing = frozenset(
            sighting.object_id
            for sighting in absent
            if sighting.object_id is not None and sighting.object_id not in again
        )
        return ClipObjects(tuple(keyframes), placed, gone, missing, last, faces, span.start_utc_s)

    def _known(self, things: Sequence[Thing]) -> KnownThings:
        labels = {kin for thing in things if may_have_id(thing.label) for kin in alike(thing.label)}
        if not labels:
            return KnownThings((), {})
        known = self.store.objects.known(labels)
        last = {}
        for one in known:
            for sighting in self.store.objects.sightings([one.id]):
                if sighting.box is not None and not sighting.held:
                    last[one.id] = LastSeen(sighting.box)
        exemplars = self.store.objects.exemplars(labels)
        return KnownThings(exemplars, {one.id: one.label for one in known}, last)

    def _placed(
        self, thing: Thing, keyframes: Sequence[Keyframe], faces: tuple[SeenFace, ...]
    ) -> PlacedThing:
        look = thing.looks[-1]
        keyframe, box = keyframes[look.keyframe], look.view.box
        before = None
        if thing.node_id is not None:
            before = next(iter(self.store.objects.sightings([thing.node_id])), None)
        spot = spot_of(box, keyframe)
        grip = grip_of(box, spot, keyframe, faces)
        if grip is None:
            spot = settled_spot(box, keyframe.size, spot, before)
        return PlacedThing(thing, spot, grip, before)

    def _last_view(self, span: ClipSpan) -> tuple[LastView | None, frozenset[int]]:
        image = self.store.objects.latest_image(span.start_utc_s, self.place)
        if image is None:
            return None, frozenset()
        shown = {told["id"] for told in image.provenance.get("objects", ()) if told.get("id") is not None}
        missing = frozenset(image.provenance.get("missing", ()))
        vector = self.store.vector(image.id, "image")
        return LastView(vector, frozenset(shown), missing), frozenset(shown) | missing

    def _absent(
        self,
        placed: Sequence[PlacedThing],
        keyframes: Sequence[Keyframe],
        last: LastView | None,
        expected: frozenset[int],
    ) -> list[Sighting]:
        """What the last picture showed, and no picture of the clip shows although nothing stands before it."""
        if last is None or not keyframes or not last.is_same(keyframes[-1]):
            return []
        seen = {one.thing.node_id for one in placed}
        absent = []
        for node_id in sorted(expected - seen):
            for sighting in self.store.objects.sightings([node_id]):
                if (
                    sighting.box is not None
                    and not sighting.held
                    and _is_clear(sighting, keyframes[-1], placed)
                ):
                    absent.append(sighting)
        return absent


def _is_clear(sighting: Sighting, keyframe: Keyframe, placed: Sequence[PlacedThing]) -> bool:
    """Whether nobody stands before the place where a thing was, and nothing like it is there."""
    assert sighting.box is not None
    width, height = keyframe.size
    x, y, w, h = sighting.box
    for box in keyframe.objects:
        across = min(box.x + box.width, (x + w) * width) - max(box.x, x * width)
        down = min(box.y + box.height, (y + h) * height) - max(box.y, y * height)
        if across > 0 and down > 0 and (box.label == "person" or box.label in alike(sighting.label)):
            return False
    return bool(placed) or not keyframe.objects
