"""Faces of photographs: three enrolled, the rest and strangers tested, thresholds from one half of the people.

How far a face may shrink is told beside it.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from models.face_quality import FaceQuality
from offline_tools.bench.face_photos import Photo, PhotoReader, PhotoSet
from offline_tools.bench.face_widths import by_width, width_rows
from offline_tools.bench.installed import installed_parts
from offline_tools.bench.reference_rule import FACE_THRESHOLD
from offline_tools.bench.report import media, print_report
from offline_tools.bench.verification import (
    Outcome,
    Probe,
    Trials,
    Vectors,
    chosen_threshold,
    equal_error_rate,
    identified,
    identified_by_reference,
    joined,
    trials,
)
from runtime.compose import match_rule
from runtime.gallery import MatchRule

ENROLLED = 3
ALLOWED_FALSE_ACCEPT = 0.002
ALLOWED_FALSE_REJECT = 0.02


@dataclass(frozen=True)
class SetResult:
    """One set of people: with the threshold of the other half, with the shipped rule, with the reference's."""

    chosen: tuple[float, float]
    equal_error_rate: float
    held_out: Outcome
    shipped: Outcome
    reference: Outcome


def main(arguments: list[str]) -> int:
    """Measure LFW and ORL, the strangers of LFW beside both."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.bench faces")
    parser.add_argument("--draws", type=int, default=5, help="how many choices of enrolled photographs")
    options = parser.parse_args(arguments)
    parts = installed_parts()
    reader = PhotoReader(parts)
    strangers = reader.read(media("faces/lfw_singles"))
    entry = parts.entry("face_embedding")
    shipped = match_rule(entry)
    middle = entry.thresholds["middle"]
    rows: list[tuple[str, str, str]] = []
    figures: dict[str, Any] = {"draws": options.draws, "shipped": asdict(shipped)}
    for name in ("lfw", "orl"):
        read = reader.read(media(f"faces/{name}"))
        vectors = [photo.vector for photo in strangers.photos]
        result = evaluated(read.people, vectors, shipped, options.draws, middle)
        passing = sum(_passes_gates(photo.quality, entry.thresholds) for photo in read.photos)
        rows += _rows(name, read, passing, result, shipped)
        figures[name] = {
            "photos": len(read.photos),
            "missed": read.missed,
            "passing_quality_gates": passing,
            **asdict(result),
        }
    widths = by_width(reader, shipped, middle, options.draws)
    rows += width_rows(widths, entry.thresholds["width_recognise_px"])
    figures["lfw_by_width"] = [asdict(one) for one in widths]
    print_report("faces", rows, figures)
    return 0


def evaluated(
    people: Mapping[str, Sequence[Photo]],
    strangers: Sequence[Vectors],
    shipped: MatchRule,
    draws: int,
    middle: float = 0.0,
) -> SetResult:
    """Enrol each person's photos by lot, `draws` times; each half of the people gives the other its threshold."""
    names = sorted(people)
    halves = (names[::2], names[1::2])
    stranger_halves = (list(strangers[::2]), list(strangers[1::2]))
    chosen, pooled = [], []
    held_out, by_rule, by_reference = Outcome(), Outcome(), Outcome()
    drawn = [_drawn(people, names, seed) for seed in range(draws)]
    for half in (0, 1):
        scores = joined([_half_trials(draw, halves[half], stranger_halves[half], middle) for draw in drawn])
        pooled.append(scores)
        chosen.append(chosen_threshold(scores, ALLOWED_FALSE_ACCEPT, ALLOWED_FALSE_REJECT))
        rule = MatchRule(chosen[half], chosen[half], shipped.margin)
        for enrolled, probes in drawn:
            others = {name: enrolled[name] for name in halves[1 - half]}
            tests = _tests(probes, halves[1 - half], stranger_halves[1 - half])
            held_out += identified(others, tests, rule, middle)
    for enrolled, probes in drawn:
        tests = _tests(probes, names, strangers)
        by_rule += identified(enrolled, tests, shipped, middle)
        by_reference += identified_by_reference(enrolled, tests, FACE_THRESHOLD)
    return SetResult(
        (chosen[0], chosen[1]), equal_error_rate(joined(pooled)), held_out, by_rule, by_reference
    )


_Draw = tuple[dict[str, Vectors], list[Probe]]


def _drawn(people: Mapping[str, Sequence[Photo]], names: Sequence[str], seed: int) -> _Draw:
    lot = random.Random(seed)
    enrolled, probes = {}, []
    for name in names:
        photos = list(people[name])
        lot.shuffle(photos)
        enrolled[name] = np.stack([photo.vector for photo in photos[:ENROLLED]])
        probes += [Probe(name, photo.vector) for photo in photos[ENROLLED:]]
    return enrolled, probes


def _half_trials(draw: _Draw, names: Sequence[str], strangers: Sequence[Vectors], middle: float) -> Trials:
    enrolled, probes = draw
    return trials({name: enrolled[name] for name in names}, _tests(probes, names, strangers), middle)


def _tests(probes: Sequence[Probe], names: Sequence[str], strangers: Sequence[Vectors]) -> list[Probe]:
    kept = [probe for probe in probes if probe.person in names]
    return kept + [Probe(None, vector) for vector in strangers]


def _passes_gates(quality: FaceQuality, thresholds: Mapping[str, float]) -> bool:
    return (
        quality.width_px >= thresholds["width_recognise_px"]
        and quality.sharpness >= thresholds["sharpness_reject"]
    )


def _rows(
    name: str, read: PhotoSet, passing: int, result: SetResult, shipped: MatchRule
) -> list[tuple[str, str, str]]:
    label = name.upper()
    rows = [
        (f"{label}: faces found", f"{len(read.photos)} of {len(read.photos) + read.missed}", "all"),
        ("  large and sharp enough to be recognised at home", f"{passing} of {len(read.photos)}", ""),
        ("  equal error rate", f"{result.equal_error_rate:.4f}", ""),
    ]
    low, high = sorted(result.chosen)
    for title, outcome in (
        (f"threshold {low:.3f} and {high:.3f}, each from the other half", result.held_out),
        (f"shipped threshold {shipped.match:.2f}, margin {shipped.margin:.2f}", result.shipped),
        (f"reference's rule, mean cosine {FACE_THRESHOLD}", result.reference),
    ):
        rows += [
            (f"{label}, {title}: true accept", f"{outcome.true_accept:.4f}", "≥ 0.98"),
            ("  false accept (pairs)", f"{outcome.false_accept:.5f}", "≤ 0.002"),
            ("  taken for another resident", f"{outcome.taken_for_another} of {outcome.own}", "0"),
            (
                "  strangers called a resident",
                f"{outcome.strangers_taken} of {outcome.strangers}",
                "0",
            ),
        ]
    return rows
