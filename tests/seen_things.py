"""A home whose camera sees made-up things: boxes and looks as the detector would give them, memorized clip by clip."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_store import MemoryStore, VectorSpace
from models.objects import ObjectBox
from runtime.clips import ClipEnd, ClipSpan
from runtime.exemplars import LearnRule
from runtime.facts import NEVER_THE_SAME, FactLearner
from runtime.gallery import MatchRule
from runtime.hear import HeardSpeech, Hearing
from runtime.media_files import MediaFiles
from runtime.memorize import MemorizedClip, Memorizer
from runtime.object_identity import ObjectRule
from runtime.object_memory import ObjectLimits, ObjectMemory
from runtime.object_scene import ObjectScene
from runtime.object_views import Keyframe, ObjectView
from runtime.see import FaceTrack, Sight
from runtime.tentative import TentativePeople
from tests.identified_clips import CLIP_S, SPACES, START_UTC_S, Household
from tests.memorized_clips import embed

SIZE = (640, 360)
LOOK = 16
RULE = ObjectRule(MatchRule(0.8, 0.7, 0.04), still=0.6, place_bonus=0.05)
LEARN = LearnRule(0.84, 0.04, 0.95, 6)


def look(number: int, likeness: float = 1.0, seed: int = 0) -> NDArray[np.float32]:
    """The look of thing `number`, (16,), off by chance so that its cosine to the pure look is `likeness`."""
    pure = np.zeros(LOOK, np.float32)
    pure[number] = 1.0
    noise = np.random.default_rng(1000 * number + seed).normal(size=LOOK).astype(np.float32)
    noise -= pure * noise[number]
    noise /= np.linalg.norm(noise)
    return np.asarray(likeness * pure + np.sqrt(1 - likeness**2) * noise, np.float32)


@dataclass(frozen=True, eq=False)
class Shown:
    """A thing in a picture: its class, box (x, y, width, height) and look."""

    label: str
    box: tuple[float, float, float, float]
    vector: NDArray[np.float32] | None = None
    score: float = 0.9


TABLE = Shown("dining table", (200, 220, 300, 130), look(14))
COUCH = Shown("couch", (10, 180, 180, 140), look(15))
ON_TABLE = (300.0, 190.0, 40.0, 50.0)
ON_COUCH = (60.0, 200.0, 40.0, 50.0)


def cup(
    number: int, box: tuple[float, float, float, float] = ON_TABLE, likeness: float = 0.97, seed: int = 0
) -> Shown:
    """Cup `number` somewhere."""
    return Shown("cup", box, look(number, likeness, seed))


def keyframe(things: Sequence[Shown], time_s: float = 1.0, room: int = 0) -> Keyframe:
    """A keyframe with these things; `room`: which way the camera looks."""
    boxes = [ObjectBox(one.label, one.score, *one.box) for one in things]
    crop = np.full((20, 20, 3), 90, np.uint8)
    views = tuple(
        ObjectView(box, one.vector, crop)
        for one, box in zip(things, boxes, strict=True)
        if one.vector is not None and one.label != "person"
    )
    view = np.zeros(8, np.float32)
    view[room] = 1.0
    return Keyframe(time_s, b"\xff\xd8 a picture", tuple(boxes), views, SIZE, view)


def open_store(directory: Path) -> MemoryStore:
    """A memory with spaces for pictures and objects too."""
    spaces = (*SPACES, VectorSpace("image", 8, "i"), VectorSpace("object", LOOK, "o"))
    return MemoryStore.open(directory, spaces, clock=lambda: START_UTC_S)


class ObjectHome:
    """Clips of 30 s, each with the keyframes it shows, written into the memory as the daemon does."""

    def __init__(self, store: MemoryStore, directory: Path, limits: ObjectLimits | None = None) -> None:
        self.store = store
        self.files = MediaFiles(directory)
        scene = ObjectScene(store, RULE, "home")
        self.objects = ObjectMemory(store, self.files, scene, LEARN, limits or ObjectLimits())
        self.memorizer = Memorizer(
            store,
            Household(store).identifier,
            self.files,
            embed,
            place="home",
            boot_id="",
            describes=False,
            keeps_sound=False,
            tentative=TentativePeople(store, self.files, 7.0, 200),
            facts=FactLearner(store, embed, NEVER_THE_SAME),
            objects=self.objects,
        )

    def clip(
        self,
        number: int,
        *pictures: Sequence[Shown],
        tracks: Sequence[FaceTrack] = (),
        speech: Sequence[HeardSpeech] = (),
        room: int = 0,
        changed: bool = True,
    ) -> MemorizedClip:
        """Memorize clip `number`; times of tracks and speech count from its start."""
        begin = CLIP_S * number
        span = ClipSpan(
            number, f"clip:{number}", "test", begin, begin + CLIP_S, START_UTC_S + begin, time_known=True
        )
        frames = tuple(keyframe(things, begin + 1.0 + index, room) for index, things in enumerate(pictures))
        moved = tuple(
            FaceTrack(begin + one.start_s, begin + one.end_s, one.views, tuple(
                type(at)(begin + at.time_s, at.x, at.y, at.width, at.height) for at in one.looks
            ))
            for one in tracks
        )  # fmt: skip
        said = tuple(replace(one, start_s=begin + one.start_s, end_s=begin + one.end_s) for one in speech)
        end = ClipEnd(span, had_video=True, had_audio=True, dropped_frames=0, last=False)
        done = self.memorizer.memorize(end, Sight(moved, frames, 150, changed), Hearing(said))
        assert done is not None
        return done

    def lines(self) -> list[str]:
        """The lines about objects, in the order of time."""
        nodes = self.store.nodes(kinds=("episodic",))
        return [self.store.render(n.text) for n in nodes if n.provenance.get("event") == "object"]

    def ids(self, label: str = "cup") -> list[int]:
        """The ids of the known objects of a class."""
        return [one.id for one in self.store.objects.known([label])]
