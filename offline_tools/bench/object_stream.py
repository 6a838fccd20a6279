"""A household's month of drawn things in real rooms: which things are in which clip, and what a store made of them."""

from __future__ import annotations

import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from models.object_looks import LOOK_SIZE, ObjectLooks, crop_of
from models.objects import ObjectBox
from offline_tools.bench.drawn_things import CLASSES, Image, thing, twin, view
from runtime.clips import ClipSpan
from runtime.exemplars import LearnRule
from runtime.media_files import MediaFiles
from runtime.object_identity import ObjectRule
from runtime.object_memory import ObjectLimits, ObjectMemory
from runtime.object_scene import ObjectScene
from runtime.object_views import Keyframe, ObjectView

DAY_S = 86400.0
CLIP_S = 30.0


@dataclass(frozen=True, eq=False)
class Look:
    """One look at a true thing."""

    name: tuple[str, int]
    view: ObjectView


@dataclass(frozen=True, eq=False)
class StreamClip:
    """What one clip shows."""

    start_utc_s: float
    looks: tuple[Look, ...]
    size: tuple[int, int]


@dataclass(frozen=True)
class Outcome:
    """How well true things and ids agree.

    purity: share of the looks with an id whose id is mostly theirs; ids_per_thing: of the things that got any, ids
    mostly theirs; covered: share of looks with an id; kept: the same for looks after a thing's first two clips.
    """

    looks: int
    purity: float
    ids_per_thing: float
    covered: float
    kept: float
    ids: int
    things: int
    clip_ms: float


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """Several households as one, each counting by its looks."""
    looks = np.array([one.looks for one in outcomes], float)

    def mean(name: str, weights: NDArray[np.float64]) -> float:
        return float(np.average([getattr(one, name) for one in outcomes], weights=weights))

    return Outcome(
        looks=int(looks.sum()),
        purity=mean("purity", looks * [one.covered for one in outcomes]),
        ids_per_thing=mean("ids_per_thing", looks),
        covered=mean("covered", looks),
        kept=mean("kept", looks),
        ids=sum(one.ids for one in outcomes),
        things=sum(one.things for one in outcomes),
        clip_ms=mean("clip_ms", looks),
    )


@dataclass
class _Tally:
    by_id: dict[int, Counter[tuple[str, int]]] = field(default_factory=lambda: defaultdict(Counter))
    clips: Counter[tuple[str, int]] = field(default_factory=Counter)
    looks: int = 0
    with_id: int = 0
    later: int = 0
    later_with_id: int = 0


def compose(
    looks: ObjectLooks,
    rooms: Sequence[Image],
    *,
    seed: int,
    things_a_class: int,
    clips: int,
    twins: bool = False,
) -> list[StreamClip]:
    """A month in which each clip shows two to four things, somewhere, in another light each time.

    twins: every second thing is nearly like the one before it.
    """
    chance = np.random.default_rng(seed)
    names = [(label, number) for label in CLASSES for number in range(things_a_class)]
    stream = []
    for index in range(clips):
        shown = [names[i] for i in chance.choice(len(names), int(chance.integers(2, 5)), replace=False)]
        room = rooms[int(chance.integers(len(rooms)))]
        found: list[Look] = []
        for place, name in enumerate(shown):
            at = (
                0.05 + 0.9 * (place + float(chance.uniform(0.2, 0.8))) / len(shown),
                float(chance.uniform(0.4, 0.9)),
            )
            paired = twins and name[1] % 2 == 1
            one = twin(thing(name[0], name[1] - 1, seed=seed)) if paired else thing(*name, seed=seed)
            picture, box = view(one, room, int(chance.integers(1 << 30)), at=at)
            found += _look(looks, name, picture, box)
        start = 1.7e9 + index * 30 * DAY_S / clips
        stream.append(StreamClip(start, tuple(found), (room.shape[1], room.shape[0])))
    return stream


def _look(
    looks: ObjectLooks, name: tuple[str, int], picture: Image, box: tuple[float, float, float, float]
) -> Iterator[Look]:
    where = ObjectBox(name[0], 0.8, *box)
    crop = crop_of(picture, where)
    if crop is not None:
        yield Look(name, ObjectView(where, looks.objects(picture, [crop])[0], crop.copy()))


def remembered(stream: Sequence[StreamClip], rule: ObjectRule, learn: LearnRule) -> Outcome:
    """What a fresh memory makes of the stream."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        spaces = [VectorSpace("object", LOOK_SIZE, "looks"), VectorSpace("image", 576, "pictures")]
        with MemoryStore.open(directory, spaces) as store:
            memory = ObjectMemory(
                store, MediaFiles(directory), ObjectScene(store, rule, "home"), learn, ObjectLimits(days=60.0)
            )
            tally, started = _Tally(), time.perf_counter()
            for number, clip in enumerate(stream):
                _memorize(store, memory, number, clip, tally)
            spent = time.perf_counter() - started
    return _outcome(tally, 1000 * spent / len(stream))


def _memorize(store: MemoryStore, memory: ObjectMemory, number: int, clip: StreamClip, tally: _Tally) -> None:
    span = ClipSpan(number, f"clip:{number}", "bench", 0.0, CLIP_S, clip.start_utc_s, time_known=True)
    views = tuple(look.view for look in clip.looks)
    frame = Keyframe(1.0, b"", tuple(one.box for one in views), views, clip.size)
    with store.transaction():
        clip_id = store.add_clip(
            source_key=span.key, source_name="bench", start_utc_s=span.start_utc_s,
            end_utc_s=span.start_utc_s + CLIP_S, place="home",
        )  # fmt: skip
        seen = memory.scene.see(span, [frame], ())
        memory.write(clip_id, span, seen)
        image = store.add_node(
            "image",
            "",
            clip_id=clip_id,
            start_utc_s=span.start_utc_s,
            end_utc_s=span.start_utc_s,
            provenance={"source": "keyframe", **memory.picture_provenance(0, seen)},
        )
        memory.link_picture(0, image, span.start_utc_s, seen)
    memory.after_clip(clip_id, span)
    given = {id(one.thing.looks[0].view): one.thing.node_id for one in seen.placed}
    for look in clip.looks:
        _count(tally, look.name, given.get(id(look.view)))


def _count(tally: _Tally, name: tuple[str, int], node_id: int | None) -> None:
    later = tally.clips[name] >= 2
    tally.clips[name] += 1
    tally.looks += 1
    tally.later += later
    if node_id is not None:
        tally.by_id[node_id][name] += 1
        tally.with_id += 1
        tally.later_with_id += later


def _outcome(tally: _Tally, clip_ms: float) -> Outcome:
    right = sum(counts.most_common(1)[0][1] for counts in tally.by_id.values())
    owners = Counter(counts.most_common(1)[0][0] for counts in tally.by_id.values())
    return Outcome(
        looks=tally.looks,
        purity=right / max(1, tally.with_id),
        ids_per_thing=sum(owners.values()) / max(1, len(owners)),
        covered=tally.with_id / max(1, tally.looks),
        kept=tally.later_with_id / max(1, tally.later),
        ids=len(tally.by_id),
        things=len(tally.clips),
        clip_ms=clip_ms,
    )
