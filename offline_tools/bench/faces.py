"""Faces of photographs: three enrolled, the rest and strangers tested, thresholds from one half of the people."""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from models.face_quality import FaceQuality, face_quality
from models.faces import FaceBox, FaceDetector, FaceEmbedder, align_face
from models.images import Image
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
from runtime.compose import Parts
from runtime.gallery import MatchRule

ENROLLED = 3
ALLOWED_FALSE_ACCEPT = 0.002
ALLOWED_FALSE_REJECT = 0.02
PHOTO_SUFFIXES = (".jpg", ".png", ".pgm")


@dataclass(frozen=True, eq=False)
class Photo:
    """One photographed face: whose, its unit vector (128,), how good the picture is."""

    person: str
    vector: Vectors
    quality: FaceQuality


@dataclass(frozen=True, eq=False)
class PhotoSet:
    """People with several photographs each; `missed`: photographs in which no face was found."""

    people: Mapping[str, Sequence[Photo]]
    missed: int

    @property
    def photos(self) -> list[Photo]:
        return [photo for photos in self.people.values() for photo in photos]


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
    reader = _Reader(parts)
    strangers = reader.read(media("faces/lfw_singles"))
    entry = parts.entry("face_embedding")
    shipped = MatchRule(entry.thresholds["match"], entry.thresholds["unsure"], entry.thresholds["margin"])
    rows: list[tuple[str, str, str]] = []
    figures: dict[str, Any] = {"draws": options.draws, "shipped": asdict(shipped)}
    for name in ("lfw", "orl"):
        read = reader.read(media(f"faces/{name}"))
        result = evaluated(read.people, [photo.vector for photo in strangers.photos], shipped, options.draws)
        passing = sum(_passes_gates(photo.quality, entry.thresholds) for photo in read.photos)
        rows += _rows(name, read, passing, result, shipped)
        figures[name] = {
            "photos": len(read.photos),
            "missed": read.missed,
            "passing_quality_gates": passing,
            **asdict(result),
        }
    print_report("faces", rows, figures)
    return 0


def evaluated(
    people: Mapping[str, Sequence[Photo]], strangers: Sequence[Vectors], shipped: MatchRule, draws: int
) -> SetResult:
    """Enrol each person's photos by lot, `draws` times; each half of the people gives the other its threshold."""
    names = sorted(people)
    halves = (names[::2], names[1::2])
    stranger_halves = (list(strangers[::2]), list(strangers[1::2]))
    chosen, pooled = [], []
    held_out, by_rule, by_reference = Outcome(), Outcome(), Outcome()
    drawn = [_drawn(people, names, seed) for seed in range(draws)]
    for half in (0, 1):
        scores = joined([_half_trials(draw, halves[half], stranger_halves[half]) for draw in drawn])
        pooled.append(scores)
        chosen.append(chosen_threshold(scores, ALLOWED_FALSE_ACCEPT, ALLOWED_FALSE_REJECT))
        rule = MatchRule(chosen[half], chosen[half], shipped.margin)
        for enrolled, probes in drawn:
            others = {name: enrolled[name] for name in halves[1 - half]}
            tests = _tests(probes, halves[1 - half], stranger_halves[1 - half])
            held_out += identified(others, tests, rule)
    for enrolled, probes in drawn:
        tests = _tests(probes, names, strangers)
        by_rule += identified(enrolled, tests, shipped)
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


def _half_trials(draw: _Draw, names: Sequence[str], strangers: Sequence[Vectors]) -> Trials:
    enrolled, probes = draw
    return trials({name: enrolled[name] for name in names}, _tests(probes, names, strangers))


def _tests(probes: Sequence[Probe], names: Sequence[str], strangers: Sequence[Vectors]) -> list[Probe]:
    kept = [probe for probe in probes if probe.person in names]
    return kept + [Probe(None, vector) for vector in strangers]


class _Reader:
    """Finds, aligns and embeds the face that each photograph is of: the largest near its middle."""

    def __init__(self, parts: Parts) -> None:
        self._detector = FaceDetector(parts.directory(parts.entry("face_detection")))
        self._embedder = FaceEmbedder(parts.directory(parts.entry("face_embedding")))

    def read(self, folder: Path) -> PhotoSet:
        people: dict[str, list[Photo]] = {}
        missed = 0
        for path in sorted(folder.rglob("*")):
            if path.suffix not in PHOTO_SUFFIXES:
                continue
            image: Image = np.asarray(cv2.imread(str(path)), dtype=np.uint8)
            boxes = self._detector.detect(image)
            if not boxes:
                missed += 1
                continue
            box = max(boxes, key=lambda box: _prominence(box, image))
            crop = align_face(image, box.landmarks)
            person = path.stem if path.parent == folder else path.parent.name
            photo = Photo(person, self._embedder.embed([crop])[0], face_quality(crop, box))
            people.setdefault(person, []).append(photo)
        return PhotoSet(people, missed)


def _prominence(box: FaceBox, image: Image) -> float:
    height, width = image.shape[:2]
    off_x, off_y = box.x + box.width / 2 - width / 2, box.y + box.height / 2 - height / 2
    return float(box.width * box.height - 4 * (off_x**2 + off_y**2))


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
