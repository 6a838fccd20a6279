"""How narrow a face may be before it is no longer recognised, and whether it is then taken for somebody else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from offline_tools.bench.face_photos import Photo, PhotoReader, PhotoSet
from offline_tools.bench.report import media
from offline_tools.bench.verification import Outcome, Probe, identified
from runtime.gallery import MatchRule

WIDTHS_PX = (16, 20, 24, 32, 40, 48, 72)
ENROLLED = 3


@dataclass(frozen=True)
class AtWidth:
    """What becomes of faces so wide, all others enrolled as they were photographed.

    found: share of the photographs in which a face is found; outcome: one that is not found is not recognised.
    """

    width_px: int
    found: float
    outcome: Outcome


def by_width(reader: PhotoReader, rule: MatchRule, middle: float, draws: int) -> list[AtWidth]:
    """LFW shrunk step by step. One half of the people is enrolled, the other and the singles are strangers."""
    whole = reader.read(media("faces/lfw"))
    results = []
    for width_px in WIDTHS_PX:
        small = reader.read(media("faces/lfw"), width_px)
        singles = reader.read(media("faces/lfw_singles"), width_px)
        found = len(small.photos) + len(singles.photos)
        outcome = Outcome()
        for seed in range(draws):
            for half in (0, 1):
                outcome += recognised_small(whole, small, singles.photos, seed, half, rule, middle)
        results.append(AtWidth(width_px, found / (found + small.missed + singles.missed), outcome))
    return results


def recognised_small(
    whole: PhotoSet,
    small: PhotoSet,
    singles: Sequence[Photo],
    seed: int,
    half: int,
    rule: MatchRule,
    middle: float,
) -> Outcome:
    """One draw: three whole photos of each resident enrolled, small ones of their others and of strangers tested."""
    lot = random.Random(seed)
    residents = sorted(whole.people)[half::2]
    enrolled, probes = {}, [Probe(None, photo.vector) for photo in singles]
    unseen = 0
    for person in sorted(whole.people):
        shown = {photo.name: photo.vector for photo in small.people.get(person, ())}
        if person not in residents:
            probes += [Probe(None, vector) for vector in shown.values()]
            continue
        photos = list(whole.people[person])
        lot.shuffle(photos)
        enrolled[person] = np.stack([photo.vector for photo in photos[:ENROLLED]])
        tested = [photo.name for photo in photos[ENROLLED:]]
        probes += [Probe(person, shown[name]) for name in tested if name in shown]
        unseen += sum(name not in shown for name in tested)
    return identified(enrolled, probes, rule, middle) + Outcome(own=unseen)


def width_rows(results: Sequence[AtWidth], gate_px: float) -> list[tuple[str, str, str]]:
    """A row for each width; the gate is where faces are no longer compared at home."""
    return [
        (
            f"LFW {one.width_px} px wide{'' if one.width_px >= gate_px else ', below the gate'}",
            f"accepted {one.outcome.true_accept:.3f}, for another {one.outcome.taken_for_another} of "
            f"{one.outcome.own}, strangers taken {one.outcome.strangers_taken} of {one.outcome.strangers}",
            "0 and 0",
        )
        for one in results
    ]
