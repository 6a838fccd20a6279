"""Identities under stress, on made-up vectors: look-alikes that alternate, one who changes, hundreds of passers-by."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.face_quality import FaceQuality
from offline_tools.bench.identity_run import DAY_S, OurRule, ReferenceRule, Told
from offline_tools.bench.installed import installed_parts
from offline_tools.bench.report import print_report
from runtime.clips import ClipSpan
from runtime.compose import Parts
from runtime.hear import Hearing
from runtime.see import FaceTrack, FaceView, Sight

Vector = NDArray[np.float32]

SIZE = 128
CLIP_S = 30.0
LIKENESS = 0.35
DRIFT = 0.25
VIEW_NOISE = 0.95  # cosine of a view to the face as it is in that clip
SHARP = FaceQuality(sharpness=200.0, width_px=120.0, roll_deg=0.0, yaw=0.0)
BLURRED = FaceQuality(sharpness=30.0, width_px=120.0, roll_deg=0.0, yaw=0.0)
_CROP = np.zeros((112, 112, 3), dtype=np.uint8)


@dataclass(frozen=True)
class Visit:
    """Whoever is in view for one stay within a clip; `who` is the truth."""

    who: str
    vector: Vector
    quality: FaceQuality
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Ids:
    """What one rule made of a household. `for_people`: the ids under which each true person was met, sorted.

    mixed: ids under which more than one true person was met. left: ids at the end. unnamed: stays without an id.
    """

    for_people: dict[str, int]
    mixed: int
    left: int
    unnamed: int


@dataclass(frozen=True)
class Stress:
    """Both rules over the same visits."""

    ours: Ids
    reference: Ids


def main(arguments: list[str]) -> int:
    """Run all three households through both rules."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.bench identity_stress")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    parts = installed_parts()
    draw = np.random.default_rng(options.seed)
    alike = run(parts, look_alikes(draw, clips=10), hours_between=1.0)
    changed = run(parts, drifting(draw, clips=200, singles=500, quality=BLURRED), hours_between=2.0)
    sharp = run(parts, drifting(draw, clips=200, singles=100, quality=SHARP), hours_between=2.0)
    rows = [
        *_rows("two people at cosine 0.35, ids", alike, "2", lambda ids: str(ids.left)),
        *_rows("  ids that hold both", alike, "0", lambda ids: str(ids.mixed)),
        *_rows("one person drifting ± 0.25 over 200 clips, ids", changed, "≤ 2", _drifter),
        *_rows("  ids left from 500 single blurred faces", changed, "0", _others),
        *_rows("  ids that hold the person and a single", changed, "0", lambda ids: str(ids.mixed)),
        *_rows("the same with 100 single sharp faces: the person's ids", sharp, "≤ 2", _drifter),
        *_rows("  ids left from the singles a week later", sharp, "0", _others),
    ]
    figures = {"alike": asdict(alike), "blurred_singles": asdict(changed), "sharp_singles": asdict(sharp)}
    print_report("identity_stress", rows, figures)
    return 0


def look_alikes(draw: np.random.Generator, clips: int) -> list[list[Visit]]:
    """Two people whose vectors lie at LIKENESS, by turns."""
    one = _unit(draw.normal(size=SIZE))
    other = _turned(one, LIKENESS, draw)
    people = (("one", one), ("other", other))
    return [[Visit(*people[clip % 2], SHARP, 2.0, 20.0)] for clip in range(clips)]


def drifting(
    draw: np.random.Generator, *, clips: int, singles: int, quality: FaceQuality
) -> list[list[Visit]]:
    """Somebody whose likeness to their middle falls by DRIFT on either side, twice; passers-by in between."""
    middle = _unit(draw.normal(size=SIZE))
    aside = _turned(middle, 0.0, draw)
    widest = np.arccos(1.0 - DRIFT)
    household = []
    for clip in range(clips):
        angle = widest * np.sin(4 * np.pi * clip / clips)
        now = _unit(np.cos(angle) * middle + np.sin(angle) * aside)
        visits = [Visit("person", now, SHARP, 2.0, 12.0)]
        for number in range(singles * clip // clips, singles * (clip + 1) // clips):
            start_s = 13.0 + 3.0 * len(visits)
            passer_by = _unit(draw.normal(size=SIZE))
            visits.append(Visit(f"single {number}", passer_by, quality, start_s, start_s + 1.0))
        household.append(visits)
    return household


def run(parts: Parts, household: Sequence[Sequence[Visit]], *, hours_between: float) -> Stress:
    """Let both rules meet the visits, clip by clip; at the end a week passes in which nobody comes."""
    draw = np.random.default_rng(0)
    reference = ReferenceRule()
    visits: list[Visit] = []
    by_ours: list[Told] = []
    by_reference: list[Told] = []
    with tempfile.TemporaryDirectory() as directory, OurRule(parts, Path(directory)) as ours:
        now_utc_s = 1.8e9
        for number, stays in enumerate(household):
            span = ClipSpan(number, f"stress#{number}", "stress", 0.0, CLIP_S, now_utc_s, True)
            sight = Sight(tuple(_track(visit, draw) for visit in stays))
            visits += stays
            by_ours += ours.clip(span, sight, Hearing()).seen
            by_reference += reference.clip(sight, Hearing()).seen
            now_utc_s += hours_between * 3600
            ours.expire(now_utc_s)
        ours.expire(now_utc_s + 8 * DAY_S)
        resolved = [ours.person_of(told.node_id) for told in by_ours]
        return Stress(
            _ids(visits, resolved, ours.people),
            _ids(visits, [told.node_id for told in by_reference], reference.faces.count),
        )


def _ids(visits: Sequence[Visit], given: Sequence[int | None], left: int) -> Ids:
    people: dict[str, set[int]] = {}
    holders: dict[int, set[str]] = {}
    for visit, who in zip(visits, given, strict=True):
        if who is not None:
            people.setdefault(visit.who, set()).add(who)
            holders.setdefault(who, set()).add(visit.who)
    lasting = {name: len(ids) for name, ids in people.items() if not name.startswith("single")}
    mixed = sum(len(names) > 1 for names in holders.values())
    return Ids(lasting, mixed, left, sum(who is None for who in given))


def _track(visit: Visit, draw: np.random.Generator) -> FaceTrack:
    times = np.arange(visit.start_s, visit.end_s, 1.0)
    views = tuple(
        FaceView(float(time_s), _turned(visit.vector, VIEW_NOISE, draw), visit.quality, _CROP)
        for time_s in times
    )
    return FaceTrack(visit.start_s, visit.end_s, views)


def _unit(vector: NDArray[np.float64]) -> Vector:
    unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit


def _turned(base: Vector, cosine: float, draw: np.random.Generator) -> Vector:
    """A unit vector at that cosine to `base`, in a direction drawn by lot."""
    other = draw.normal(size=base.size)
    other -= float(other @ base) * base
    return _unit(cosine * base + np.sqrt(1 - cosine**2) * other / np.linalg.norm(other))


def _drifter(ids: Ids) -> str:
    return str(ids.for_people.get("person", 0))


def _others(ids: Ids) -> str:
    return str(ids.left - ids.for_people.get("person", 0))


def _rows(what: str, stress: Stress, target: str, figure: Callable[[Ids], str]) -> list[tuple[str, str, str]]:
    return [(what, f"{figure(stress.ours)} (reference's rule: {figure(stress.reference)})", target)]
