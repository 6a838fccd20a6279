"""Writes what a clip shows of things: objects with their looks, where they are, who has them, their pictures.

Runs inside the transaction of the clip it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memory_store.store import MemoryStore
from models.keyframes import encode_jpeg
from runtime.clips import ClipSpan
from runtime.exemplars import LearnRule, Profiles
from runtime.gallery import Example, Gallery
from runtime.media_files import MediaFiles, object_name
from runtime.object_changes import PlacedThing, changes
from runtime.object_identity import Thing
from runtime.object_kinds import alike, may_have_id
from runtime.object_places import spot_of, spot_words
from runtime.object_scene import ClipObjects, ObjectScene
from runtime.object_views import Keyframe, overlap, share_within

EVERY_CLIPS = 100  # how often objects are let go
FREED = 0.9  # when there are too many, so much of the limit is kept
PORTRAIT_SIDE_PX = 320
BETTER_PORTRAIT = (
    1.5  # how many times better a picture of an object must be to take the place of its portrait
)


@dataclass(frozen=True)
class ObjectLimits:
    """days: how long an object seen in one clip only is kept; objects: how many have an id at most."""

    days: float = 7.0
    objects: int = 400
    new_a_clip: int = 12


class ObjectMemory:
    """Decides about a clip's objects, and writes them. Used from the one thread that owns the store."""

    def __init__(
        self,
        store: MemoryStore,
        files: MediaFiles,
        scene: ObjectScene,
        learn: LearnRule,
        limits: ObjectLimits,
    ) -> None:
        self.scene = scene
        self._store = store
        self._files = files
        self._limits = limits
        self._profiles = Profiles(store, "object", learn)
        self._stale: list[str] = []

    def write(self, clip_id: int, span: ClipSpan, seen: ClipObjects) -> None:
        """Remember the objects: new ones, better looks of known ones, where they are; fills in `seen.lines`."""
        room = min(self._limits.new_a_clip, self._limits.objects - len(self._store.objects.known()))
        for one in seen.placed:
            thing = one.thing
            if thing.verdict == "new":
                if room > 0:
                    self._begin(clip_id, span, thing, seen)
                    room -= 1
                else:
                    thing.verdict = "unsure"
            elif thing.node_id is not None:
                self._meet_again(clip_id, span, thing, seen)
        self._tell_apart(seen.placed)
        for one in seen.placed:
            self._relate(span, one, seen)
        seen.lines.extend(changes(seen.placed, seen.gone, seen.keyframes, seen.last))

    def picture_provenance(self, number: int, seen: ClipObjects) -> dict[str, Any]:
        """What a keyframe's node says of the objects in it."""
        keyframe = seen.keyframes[number]
        width, height = keyframe.size
        told = []
        for one in seen.placed:
            for look in one.thing.looks:
                if look.keyframe != number:
                    continue
                box = look.view.box
                shares = (box.x / width, box.y / height, box.width / width, box.height / height)
                spot = one.spot if look is one.thing.looks[-1] else spot_of(box, keyframe)
                told.append(
                    {
                        "id": one.thing.node_id,
                        "class": one.label,
                        "box": [round(value, 4) for value in shares],
                        "spot": spot.as_provenance(),
                    }
                )
        last = number == len(seen.keyframes) - 1
        return {"objects": told} | ({"missing": sorted(seen.missing)} if last and seen.missing else {})

    def link_picture(self, number: int, image_id: int, moment_utc_s: float, seen: ClipObjects) -> None:
        """Tie a keyframe's node to what and whom it shows."""
        for one in seen.placed:
            if number in one.thing.keyframes and may_have_id(one.label):
                target = one.thing.node_id
                if target is None:
                    target = self._store.objects.some(one.label, moment_utc_s)
                held = one.grip is not None and one.thing.looks[-1].keyframe == number
                detail = "held_by" if held else "in_view"
                self._store.add_edge(image_id, target, "mentions", detail=detail, at_utc_s=moment_utc_s)
        self._link_faces(image_id, seen.keyframes[number], moment_utc_s, seen)

    def _begin(self, clip_id: int, span: ClipSpan, thing: Thing, seen: ClipObjects) -> None:
        times = [span.utc_s(seen.keyframes[look.keyframe].time_s) for look in thing.looks]
        thing.node_id = self._store.add_node(
            "object",
            thing.label,
            clip_id=clip_id,
            start_utc_s=min(times),
            end_utc_s=max(times),
            provenance={"class": thing.label, "source": "detector"},
        )
        views = [Example(None, look.view.vector, look.view.quality) for look in thing.looks]
        self._profiles.store(thing.node_id, None, self._profiles.begin(views), clip_id, Gallery(()))
        self._picture(clip_id, span, thing, seen)

    def _meet_again(self, clip_id: int, span: ClipSpan, thing: Thing, seen: ClipObjects) -> None:
        assert thing.node_id is not None
        times = [span.utc_s(seen.keyframes[look.keyframe].time_s) for look in thing.looks]
        self._store.reinforce(thing.node_id, clip_id, start_utc_s=min(times), end_utc_s=max(times))
        known = Gallery(self._store.objects.exemplars(alike(thing.label)))
        best = thing.best.view
        view = Example(None, best.vector, best.quality)
        self._profiles.learn(thing.node_id, None, view, clip_id, known)
        self._picture(clip_id, span, thing, seen)

    def after_clip(self, clip_id: int, span: ClipSpan) -> None:
        """To be called after each clip is written: deletes old portraits, and seldom lets objects go."""
        if clip_id % EVERY_CLIPS == 0 and span.time_known:
            self._let_go(span.start_utc_s)
        while self._stale:
            self._files.delete(self._stale.pop())

    def _let_go(self, now_utc_s: float) -> None:
        limit = self._limits.objects
        if len(self._store.objects.known()) >= limit:
            limit = int(FREED * limit)
        with self._store.transaction():
            gone = self._store.objects.expired(now_utc_s - self._limits.days * 86400.0, limit)
            files = self._store.objects.remove(gone) if gone else ()
        self._stale += files

    def _picture(self, clip_id: int, span: ClipSpan, thing: Thing, seen: ClipObjects) -> None:
        """Keep the best picture of an object as its portrait."""
        assert thing.node_id is not None
        best = thing.best
        quality = best.view.quality
        held = self._store.objects.portraits([thing.node_id])
        if any(quality < BETTER_PORTRAIT * float(image.provenance.get("quality", 0.0)) for image in held):
            return
        self._stale += self._store.objects.remove([image.id for image in held])
        keyframe = seen.keyframes[best.keyframe]
        jpeg = encode_jpeg(best.view.crop, longest_side_px=PORTRAIT_SIDE_PX)
        file = self._files.write(object_name(thing.node_id, clip_id), jpeg)
        moment = span.utc_s(keyframe.time_s)
        image_id = self._store.add_node(
            "image",
            "",
            clip_id=clip_id,
            start_utc_s=moment,
            end_utc_s=moment,
            provenance={"source": "portrait", "file": file.as_provenance(), "quality": round(quality, 4)},
        )
        self._store.add_edge(thing.node_id, image_id, "entity_link", detail="portrait", at_utc_s=moment)
        if any(share_within(best.view.box, person) > 0.0 for person in keyframe.people):
            self._link_faces(image_id, keyframe, moment, seen)

    def _link_faces(self, image_id: int, keyframe: Keyframe, moment_utc_s: float, seen: ClipObjects) -> None:
        for face in seen.faces:
            if face.face_id is not None and face.track.start_s <= keyframe.time_s <= face.track.end_s:
                self._store.add_edge(
                    image_id, face.face_id, "mentions", detail="in_view", at_utc_s=moment_utc_s
                )

    def _tell_apart(self, placed: Sequence[PlacedThing]) -> None:
        """Two in one picture are two: things of like classes get a cannot-link, once."""
        sure = [one.thing for one in placed if one.thing.node_id is not None]
        for index, one in enumerate(sure):
            for other in sure[index + 1 :]:
                if one.node_id == other.node_id or not one.keyframes & other.keyframes:
                    continue
                if other.label in alike(one.label):
                    assert one.node_id is not None and other.node_id is not None
                    low, high = sorted((one.node_id, other.node_id))
                    if high not in self._store.cannot_links(low):
                        self._store.add_edge(low, high, "cannot_link", detail="one_picture")

    def _relate(self, span: ClipSpan, one: PlacedThing, seen: ClipObjects) -> None:
        """Edges from an object to its place, to what it lies on or in, and to who has it."""
        node_id = one.thing.node_id
        if node_id is None:
            return
        moment = span.utc_s(seen.keyframes[one.thing.looks[-1].keyframe].time_s)
        add = self._store.add_edge
        if one.grip is not None:
            if one.grip.face_id is not None:
                add(node_id, one.grip.face_id, "entity_link", detail=one.grip.detail, at_utc_s=moment)
            return
        objects = self._store.objects
        home = objects.place(self.scene.place, {"place": self.scene.place}, moment)
        spot = one.spot.as_provenance()
        where = objects.place(spot_words(spot), {"place": self.scene.place, **spot}, moment)
        add(where, home, "entity_link", detail="part_of", at_utc_s=moment)
        add(node_id, where, "entity_link", detail="at", at_utc_s=moment)
        anchor = self._anchor(one, seen.placed)
        if anchor is not None and one.spot.relation is not None:
            add(node_id, anchor, "entity_link", detail=one.spot.relation, at_utc_s=moment)

    def _anchor(self, one: PlacedThing, placed: Sequence[PlacedThing]) -> int | None:
        if one.spot.anchor_box is None:
            return None
        for other in placed:
            if any(overlap(look.view.box, one.spot.anchor_box) > 0.95 for look in other.thing.looks):
                return other.thing.node_id if other.thing.node_id != one.thing.node_id else None
        return None
