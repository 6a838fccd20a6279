"""The same visitors day after day: whether their ids last, under the runtime's rule and under the reference's."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from offline_tools.bench.attribution import Agreement, Claim, TrueSegment, agreement, true_segments
from offline_tools.bench.identity_run import DAY_S, ClipTold, OurRule, ReferenceRule, claims
from offline_tools.bench.installed import installed_parts
from offline_tools.bench.perceived import PerceivedClip, Perception
from offline_tools.bench.report import media, print_report
from offline_tools.bench.shuffled_day import Footage, compose_day, footage

STREAM = "streams/visitors_day1.mp4"
START_UTC_S = 1777712400.0  # 2026-05-02, nine in the morning
SPACING_S = 1000.0  # days lie this far apart when all of them are compared with the truth


@dataclass
class Record:
    """What one rule has said so far, on one axis of time."""

    seen: list[Claim] = field(default_factory=list)
    heard: list[Claim] = field(default_factory=list)

    def add(self, told: ClipTold, shift_s: float) -> None:
        """Append a clip."""
        self.seen += claims(told.seen, shift_s)
        self.heard += claims(told.heard, shift_s)


@dataclass(frozen=True)
class DayResult:
    """The ids after a day, all days until then together."""

    day: int
    people: int
    tentative: int
    face: Agreement
    voice: Agreement
    named_share: float
    reference_face: Agreement
    reference_voice: Agreement
    reference_named_share: float


class Household:
    """Both rules over the same clips, and the truth."""

    def __init__(self, ours: OurRule) -> None:
        self._ours = ours
        self._reference = ReferenceRule()
        self._truth: list[TrueSegment] = []
        self._by_ours = Record()
        self._by_reference = Record()

    def live(self, day: int, clips: Sequence[PerceivedClip], truth: Sequence[TrueSegment]) -> DayResult:
        """Let a day pass; how things stand in its evening."""
        shift_s = day * SPACING_S
        for clip in clips:
            self._by_ours.add(self._ours.clip(clip.span, clip.sight, clip.hearing), shift_s)
            self._by_reference.add(self._reference.clip(clip.sight, clip.hearing), shift_s)
        self._ours.expire(START_UTC_S + (day + 0.5) * DAY_S)
        self._truth += [
            TrueSegment(one.start_s + shift_s, one.end_s + shift_s, one.person, one.transcript)
            for one in truth
        ]
        seen = _resolved(self._by_ours.seen, self._ours.person_of)
        heard = _resolved(self._by_ours.heard, self._ours.person_of)
        return DayResult(
            day + 1,
            self._ours.people,
            self._ours.tentative,
            agreement(seen, self._truth),
            agreement(heard, self._truth),
            self._named_share(seen),
            agreement(self._by_reference.seen, self._truth),
            agreement(self._by_reference.heard, self._truth),
            self._named_share(self._by_reference.seen),
        )

    def _named_share(self, seen: Sequence[Claim]) -> float:
        """Share of the seconds that people were there for which somebody was named from their face."""
        total_s = sum(segment.end_s - segment.start_s for segment in self._truth)
        return sum(claim.end_s - claim.start_s for claim in seen) / total_s


def main(arguments: list[str]) -> int:
    """Compose, perceive and identify one day after the other."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.bench days")
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="processes that perceive days ahead")
    options = parser.parse_args(arguments)
    results: list[DayResult] = []
    spent: Counter[str] = Counter()
    began_s = time.perf_counter()
    perceive = partial(_perceived, seed=options.seed)
    with (
        tempfile.TemporaryDirectory() as directory,
        OurRule(installed_parts(), Path(directory)) as ours,
        ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as workers,
    ):
        household = Household(ours)
        for day, (today, clips) in enumerate(workers.map(perceive, range(options.days))):
            for clip in clips:
                spent.update(clip.sight.stage_s)
                spent.update(clip.hearing.stage_s)
            results.append(household.live(day, clips, today))
            _tell(results[-1], time.perf_counter() - began_s)
    true_people = len({segment.person for segment in _truth()})
    _print_days(results)
    _report(results, true_people, time.perf_counter() - began_s, spent)
    return 0


def _perceived(day: int, seed: int) -> tuple[list[TrueSegment], list[PerceivedClip]]:
    """Compose a day and perceive it: who was really there, and the clips. Runs in a process of its own."""
    cut, perception = _tools()
    with tempfile.TemporaryDirectory() as directory:
        video = Path(directory) / "day.mp4"
        today = compose_day(cut, day, seed, video)
        return today, list(perception.clips(video, START_UTC_S + day * DAY_S))


@cache
def _tools() -> tuple[list[Footage], Perception]:
    return footage(media(STREAM), _truth()), Perception(installed_parts())


def _truth() -> list[TrueSegment]:
    path = media(STREAM).with_suffix(".gt.json")
    return true_segments(json.loads(path.read_text(encoding="utf-8")))


def _tell(evening: DayResult, wall_s: float) -> None:
    """One line a day, so that a run that is stopped early has told something."""
    face, voice = evening.face, evening.voice
    print(
        f"day {evening.day}: {evening.people} people, face {face.purity:.3f} {face.completeness:.3f}, "
        f"voice {voice.purity:.3f} {voice.completeness:.3f}, reference: {evening.reference_face.ids} faces, "
        f"{evening.reference_voice.ids} voices; {wall_s:.0f} s",
        file=sys.stderr,
        flush=True,
    )


def _resolved(told: Sequence[Claim], person_of: Callable[[int | None], int | None]) -> list[Claim]:
    """The claims with the people whom their ids belong to now."""
    people: dict[Hashable, int | None] = {}
    for claim in told:
        if claim.who not in people and isinstance(claim.who, int):
            people[claim.who] = person_of(claim.who)
    return [
        Claim(claim.start_s, claim.end_s, people[claim.who])
        for claim in told
        if people[claim.who] is not None
    ]


def _print_days(results: Sequence[DayResult]) -> None:
    table = Table(title="all days until then together; in brackets the reference's rule")
    for column in ("day", "people", "met once", "face purity", "face complete", "face named",
                   "voice purity", "voice complete", "ids: faces, voices"):  # fmt: skip
        table.add_column(column)
    for one in results:
        ref_face, ref_voice = one.reference_face, one.reference_voice
        table.add_row(
            str(one.day),
            str(one.people),
            str(one.tentative),
            f"{one.face.purity:.3f} ({ref_face.purity:.3f})",
            f"{one.face.completeness:.3f} ({ref_face.completeness:.3f})",
            f"{one.named_share:.3f} ({one.reference_named_share:.3f})",
            f"{one.voice.purity:.3f} ({ref_voice.purity:.3f})",
            f"{one.voice.completeness:.3f} ({ref_voice.completeness:.3f})",
            f"{one.face.ids}, {one.voice.ids} ({ref_face.ids}, {ref_voice.ids})",
        )
    Console(width=150).print(table)


def _report(
    results: Sequence[DayResult], true_people: int, wall_s: float, stage_s: Mapping[str, float]
) -> None:
    last = results[-1]
    rows = [
        (f"people after {last.day} days", str(last.people), f"{true_people} ± 1"),
        ("  of them met once", str(last.tentative), ""),
        ("face purity, completeness", _pair(last.face), "≥ 0.97, ≥ 0.95"),
        ("voice purity, completeness", _pair(last.voice), ""),
        ("reference's rule: face ids", str(last.reference_face.ids), f"{true_people}"),
        ("  face purity, completeness", _pair(last.reference_face), ""),
        ("  voice ids", str(last.reference_voice.ids), f"{true_people}"),
        ("  voice purity, completeness", _pair(last.reference_voice), ""),
        ("wall time", f"{wall_s:.0f} s, {wall_s / last.day:.1f} s a day", "< 6 min for 20 days"),
    ]
    figures: dict[str, Any] = {
        "days": last.day,
        "people": last.people,
        "true_people": true_people,
        "wall_s": round(wall_s, 1),
        "stage_s": {name: round(seconds, 1) for name, seconds in sorted(stage_s.items())},
        "by_day": [
            {
                "people": one.people,
                "face": _rounded(one.face),
                "voice": _rounded(one.voice),
                "face_named": round(one.named_share, 4),
                "reference_face": _rounded(one.reference_face),
                "reference_voice": _rounded(one.reference_voice),
            }
            for one in results
        ],
    }
    print_report("days", rows, figures)


def _pair(value: Agreement) -> str:
    return f"{value.purity:.3f}, {value.completeness:.3f}"


def _rounded(value: Agreement) -> list[float]:
    return [value.ids, round(value.purity, 4), round(value.completeness, 4)]
