"""The lines that code alone writes about a clip: who was in view, who said what, which things stood there.

They never depend on a language model (DESIGN section 7), and name people only by tags.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from runtime.face_identity import SeenFace
from runtime.identify import Identified
from runtime.object_views import Keyframe
from runtime.presence import ShownFace
from runtime.voice_identity import SpokenBy

SAME_PRESENCE_S = 2.0  # somebody who looks away for less than this has not left
GLIMPSE_S = (
    1.0  # an unrecognised face in view for less than this gets no line: mostly a turn of the head, or none
)

_NO_TAGS = str.maketrans("<>", "  ")  # what is heard must never read as a tag

Event = Literal["seen", "heard", "objects", "object", "picture", "screen"]


@dataclass(frozen=True, eq=False)
class GroundedLine:
    """One line. `meaning` is the same without tags and framing, for the text embedding; times are media times.

    vectors: how the face looked or the voice sounded, by space ("face" (128,), "voice" (192,)): what a resident's
    correction of this one line can learn from. mentions: other nodes that it tells of, each with how.
    """

    event: Event
    text: str
    meaning: str
    start_s: float
    end_s: float
    actors: tuple[int, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    mentions: tuple[tuple[int, str], ...] = ()

    @property
    def goes_on(self) -> bool:
        """Whether the same line in the next clip, without a pause, is the same event: who is known stays there."""
        return (self.event == "seen" and bool(self.actors)) or self.event in ("picture", "screen")


def grounded_lines(who: Identified, keyframes: tuple[Keyframe, ...]) -> list[GroundedLine]:
    """All lines of one clip, in time order."""
    lines = _seen(who.faces) + [_heard(one) for one in who.speech] + _shown(who.shown) + _objects(keyframes)
    if who.own_utterances:
        lines = [
            replace(line, provenance={**line.provenance, "own_utterances_left_out": who.own_utterances})
            for line in lines
        ]
    return sorted(lines, key=lambda line: (line.start_s, line.end_s, line.text))


def _seen(faces: tuple[SeenFace, ...]) -> list[GroundedLine]:
    """One line for each stay in view: tracks of the same face with short gaps are one stay."""
    lines: list[GroundedLine] = []
    stays: dict[int, list[SeenFace]] = {}
    for face in faces:
        if face.face_id is None:
            if face.track.end_s - face.track.start_s >= GLIMPSE_S:
                lines.append(_stay([face]))
            continue
        stay = stays.setdefault(face.face_id, [])
        if stay and face.track.start_s - stay[-1].track.end_s > SAME_PRESENCE_S:
            lines.append(_stay(stay))
            stay = stays[face.face_id] = []
        stay.append(face)
    return lines + [_stay(stay) for stay in stays.values()]


def _stay(faces: list[SeenFace]) -> GroundedLine:
    face_id = faces[0].face_id
    start_s, end_s = faces[0].track.start_s, max(face.track.end_s for face in faces)
    provenance = {
        "verdict": faces[0].verdict,
        "similarity": round(max(face.similarity for face in faces), 4),
        "tracks": len(faces),
    }
    sharpest = max(
        (view for face in faces for view in face.track.views), key=lambda view: view.quality.sharpness
    )
    vectors = {"face": sharpest.vector}
    if face_id is None:
        text = "Somebody who could not be recognised is in view."
        return GroundedLine("seen", text, text, start_s, end_s, (), provenance, vectors)
    text = f"<face_{face_id}> is in view."
    return GroundedLine("seen", text, "somebody is in view", start_s, end_s, (face_id,), provenance, vectors)


def _shown(faces: tuple[ShownFace, ...]) -> list[GroundedLine]:
    """One line for each picture and each screen's face: nobody is there, so nobody is an actor."""
    lines: dict[tuple[str, int | None], GroundedLine] = {}
    for face in faces:
        whom = "somebody" if face.face_id is None else f"<face_{face.face_id}>"
        text = f"A picture of {whom} is in view." if face.kind == "picture" else f"A screen shows {whom}."
        meaning = "a picture of somebody" if face.kind == "picture" else "a screen shows somebody"
        told = {"shown_face": face.face_id}
        start_s, end_s = face.track.start_s, face.track.end_s
        line = GroundedLine(face.kind, text, meaning, start_s, end_s, (), told)
        before = lines.setdefault((face.kind, face.face_id), line)
        if before is not line:
            lines[face.kind, face.face_id] = replace(before, end_s=max(before.end_s, end_s))
    return list(lines.values())


def _heard(one: SpokenBy) -> GroundedLine:
    said = " ".join(one.speech.text.translate(_NO_TAGS).split())
    chinese = one.speech.language == "zh"
    speaker = _speaker_tag(one, chinese and bool(said))
    if said:
        text = f"{speaker or '有人'}说：“{said}”" if chinese else f'{speaker or "Somebody"} says: "{said}"'
    else:
        text = f"{speaker or 'Somebody'} says something that could not be understood."
    provenance = {
        "verdict": one.verdict,
        "similarity": round(one.similarity, 4),
        "attributed_by": one.by,
        "said": said,
        "language": one.speech.language,
        "confidence": round(one.speech.confidence, 3),
        "overlapped": one.speech.overlapped,
        "speech_source": one.speech.source,
    }
    actors = () if one.actor_id is None else (one.actor_id,)
    vectors = {} if one.speech.vector is None else {"voice": one.speech.vector}
    return GroundedLine(
        "heard",
        text,
        said or "somebody says something",
        one.speech.start_s,
        one.speech.end_s,
        actors,
        provenance,
        vectors,
    )


def _speaker_tag(one: SpokenBy, chinese: bool) -> str:
    if one.speech.source == "screen":
        return "屏幕里的人" if chinese else "Somebody on a screen"
    if one.voice_id is not None:
        return f"<voice_{one.voice_id}>"
    return f"<face_{one.face_id}>" if one.face_id is not None else ""


def _objects(keyframes: tuple[Keyframe, ...]) -> list[GroundedLine]:
    """One line for the clip: the most of each class seen in one picture; people have lines of their own."""
    most: Counter[str] = Counter()
    for keyframe in keyframes:
        count = Counter(box.label for box in keyframe.objects if box.label != "person")
        most |= count
    if not most:
        return []
    things = ", ".join(
        label if number == 1 else f"{number} × {label}" for label, number in sorted(most.items())
    )
    shown = [keyframe.time_s for keyframe in keyframes if keyframe.objects]
    text = f"In view: {things}."
    return [
        GroundedLine(
            "objects", text, things, min(shown), max(shown), (), {"objects": dict(sorted(most.items()))}
        )
    ]


def is_quiet(who: Identified, changed: bool) -> bool:
    """Whether a clip holds nothing worth a language model: nobody in view, nothing said, nothing changed."""
    return not who.faces and not who.speech and not changed
