"""Where things are in a picture and who holds them, read from boxes alone; careful rules that leave much open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from models.objects import ObjectBox
from runtime.face_identity import SeenFace
from runtime.grounding import Language
from runtime.object_kinds import CONTAINERS, SURFACES, fits_in, name_of, role
from runtime.object_views import Keyframe, share_within
from runtime.say import Speech

Relation = Literal["on", "inside"]
SMALLER = 0.6  # what lies on something is at most this share of its area
IN_FULL = 0.9  # what is inside something lies within its box by this share
HAND_BAND = (0.3, 0.95)  # where hands are, as shares of the height of a person's box
BESIDE = 0.12  # hands reach beyond the box by this share of its width
FACE_NEAR_S = 0.5


@dataclass(frozen=True)
class Spot:
    """Where a thing is: on or inside a piece of furniture (`anchor`: its class), else a third of the picture."""

    relation: Relation | None = None
    anchor: str = ""
    region: str = ""
    anchor_box: ObjectBox | None = None

    def as_provenance(self) -> dict[str, str]:
        """For a node's provenance; see `spot_words`."""
        if self.relation is None:
            return {"region": self.region}
        return {"relation": self.relation, "anchor": self.anchor}


@dataclass(frozen=True)
class Grip:
    """Somebody who has a thing in the hand, or uses it; `face_id` is None where nobody known is."""

    detail: Literal["held_by", "used_by"]
    face_id: int | None


def spot_of(box: ObjectBox, keyframe: Keyframe) -> Spot:
    """Where a thing stands: the smallest furniture under it or around it, else left, middle or right."""
    around = [
        other
        for other in keyframe.objects
        if other is not box and other.label != "person" and other.label != box.label
    ]
    inside = [other for other in around if _is_inside(box, other)]
    if inside:
        anchor = min(inside, key=lambda other: other.width * other.height)
        return Spot("inside", anchor.label, "", anchor)
    under = [other for other in around if _is_on(box, other)]
    if under:
        anchor = min(under, key=lambda other: other.width * other.height)
        return Spot("on", anchor.label, "", anchor)
    third = 3 * (box.x + box.width / 2) / max(1, keyframe.size[0])
    return Spot(region="left" if third < 1 else "middle" if third < 2 else "right")


def _is_inside(box: ObjectBox, other: ObjectBox) -> bool:
    return (
        other.label in CONTAINERS
        and fits_in(box.label, other.label)
        and share_within(box, other) >= IN_FULL
        and box.width * box.height <= SMALLER * other.width * other.height
    )


def _is_on(box: ObjectBox, other: ObjectBox) -> bool:
    if other.label not in SURFACES or role(box.label) == "fixed":
        return False
    if box.width * box.height > SMALLER * other.width * other.height:
        return False
    middle, foot = box.x + box.width / 2, box.y + box.height
    top = other.y + (0.15 if other.label in ("couch", "bed", "chair", "bench") else -0.05) * other.height
    return other.x <= middle <= other.x + other.width and top <= foot <= other.y + 1.02 * other.height


def grip_of(box: ObjectBox, spot: Spot, keyframe: Keyframe, faces: Sequence[SeenFace]) -> Grip | None:
    """Who holds or uses a thing; nobody where it may as well lie on something, or two people could be meant."""
    kind = role(box.label)
    if kind not in ("held", "used") or (kind == "held" and spot.relation is not None):
        return None
    near = [person for person in keyframe.people if _at_hand(box, person)]
    if len(near) != 1:
        return None
    return Grip("held_by" if kind == "held" else "used_by", face_of(near[0], keyframe.time_s, faces))


def _at_hand(box: ObjectBox, person: ObjectBox) -> bool:
    x, y = box.x + box.width / 2, box.y + box.height / 2
    reach = BESIDE * person.width
    low, high = (person.y + share * person.height for share in HAND_BAND)
    small = box.width * box.height <= 0.25 * person.width * person.height
    return small and person.x - reach <= x <= person.x + person.width + reach and low <= y <= high


def face_of(person: ObjectBox, time_s: float, faces: Sequence[SeenFace]) -> int | None:
    """The face at the top of a person's box at that moment; None for none, an unknown one, or two."""
    found: set[int | None] = set()
    for face in faces:
        for look in face.track.looks:
            if abs(look.time_s - time_s) > FACE_NEAR_S:
                continue
            x, y = look.x + look.width / 2, look.y + look.height / 2
            if person.x <= x <= person.x + person.width and person.y <= y <= person.y + 0.6 * person.height:
                found.add(face.face_id)
    return found.pop() if len(found) == 1 else None


def spot_words(spot: Mapping[str, Any], speech: Speech | None = None) -> str:
    """A spot in words: "on the dining table", "at the left of the view"; in English where no speech is given."""
    language: Language = "en" if speech is None else speech.language
    if "relation" in spot:
        anchor = name_of(str(spot.get("anchor", "")), language)
        if language == "zh":
            return f"在{anchor}{'里' if spot['relation'] == 'inside' else '上'}"
        return f"{'inside' if spot['relation'] == 'inside' else 'on'} the {anchor}"
    region = str(spot.get("region", ""))
    if language == "zh":
        return {"left": "在画面左边", "middle": "在画面中间", "right": "在画面右边"}.get(region, "在画面里")
    return {
        "left": "at the left of the view",
        "middle": "in the middle of the view",
        "right": "at the right of the view",
    }.get(region, "in view")
