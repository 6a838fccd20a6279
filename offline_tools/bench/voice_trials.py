"""Many one-to-one comparisons of voices: every cut of everybody's speech with every enrolment of everybody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from offline_tools.bench.spoiled_sound import SAMPLE_RATE_HZ, Sound
from offline_tools.bench.verification import Trials, Vectors, chosen_threshold, equal_error_rate, joined

ONE_SIDED_95 = 1.645


@dataclass(frozen=True, eq=False)
class Enrolment:
    """Some utterances of one person, as vectors (n, d)."""

    person: str
    utterances: frozenset[str]
    vectors: Vectors


@dataclass(frozen=True, eq=False)
class Cut:
    """A few seconds of one utterance, as a vector (d,)."""

    person: str
    utterance: str
    length_s: float
    vector: Vectors


@dataclass(frozen=True)
class Bounded:
    """Errors among comparisons; `upper`: the share they stay under with 95 % confidence (Wilson, one-sided).

    people: pairs of people (of false accepts), or people, in whose comparisons there was any error, and of how many.
    Comparisons of the same people are not independent, so the truth lies between both shares.
    """

    errors: int
    comparisons: int
    upper: float
    people: int
    all_people: int


@dataclass(frozen=True)
class Verified:
    """Both kinds of error at thresholds, and the equal error rate."""

    equal_error_rate: float
    false_accept: Bounded
    false_reject: Bounded


def wilson_upper(errors: int, comparisons: int, z: float = ONE_SIDED_95) -> float:
    """The upper end of Wilson's score interval for a share; 1 where nothing was compared."""
    if comparisons == 0:
        return 1.0
    share, spread = errors / comparisons, z * z / comparisons
    middle = share + spread / 2
    return (middle + z * sqrt(share * (1 - share) / comparisons + spread / comparisons / 4)) / (1 + spread)


def cuts(sound: Sound, length_s: float) -> list[Sound]:
    """The sound in parts of that length one after another; what is left over is dropped."""
    size = round(length_s * SAMPLE_RATE_HZ)
    return [sound[first : first + size] for first in range(0, len(sound) - size + 1, size)]


def verified(
    enrolments: Sequence[Enrolment], probes: Sequence[Cut], thresholds: Mapping[str, float]
) -> Verified:
    """Each cut with each enrolment of an utterance that it is no part of, at the threshold of the enrolled person."""
    scores = _scores(enrolments, probes)
    accepts, rejects = [], []
    for enrolled, row in zip(enrolments, scores, strict=True):
        passed = row >= thresholds[enrolled.person]
        for probe, accepted in zip(probes, passed, strict=True):
            if probe.person != enrolled.person:
                accepts.append(((probe.person, enrolled.person), bool(accepted)))
            elif probe.utterance not in enrolled.utterances:
                rejects.append(((probe.person,), not accepted))
    return Verified(
        equal_error_rate(_trials(enrolments, probes, scores)), _bounded(accepts), _bounded(rejects)
    )


def chosen_for_others(
    enrolments: Sequence[Enrolment], probes: Sequence[Cut], false_accept: float, false_reject: float
) -> dict[str, float]:
    """For each person the threshold that the other half of the people asks for."""
    people = sorted({one.person for one in enrolments} | {probe.person for probe in probes})
    halves = (set(people[::2]), set(people[1::2]))
    chosen: dict[str, float] = {}
    for mine, others in (halves, halves[::-1]):
        enrolled = [one for one in enrolments if one.person in others]
        tested = [probe for probe in probes if probe.person in others]
        scores = _trials(enrolled, tested, _scores(enrolled, tested))
        threshold = chosen_threshold(scores, false_accept, false_reject)
        chosen |= dict.fromkeys(mine, threshold)
    return chosen


def _scores(enrolments: Sequence[Enrolment], probes: Sequence[Cut]) -> NDArray[np.float32]:
    heard = np.stack([probe.vector for probe in probes])
    return np.stack([(one.vectors @ heard.T).max(axis=0) for one in enrolments])


def _trials(enrolments: Sequence[Enrolment], probes: Sequence[Cut], scores: NDArray[np.float32]) -> Trials:
    parts = []
    for enrolled, row in zip(enrolments, scores, strict=True):
        own = np.array([probe.person == enrolled.person for probe in probes])
        new = np.array([probe.utterance not in enrolled.utterances for probe in probes])
        parts.append(Trials(row[own & new].astype(np.float64), row[~own].astype(np.float64)))
    return joined(parts)


def _bounded(outcomes: Sequence[tuple[tuple[str, ...], bool]]) -> Bounded:
    errors = sum(wrong for _, wrong in outcomes)
    people = {who for who, _ in outcomes}
    failing = {who for who, wrong in outcomes if wrong}
    return Bounded(errors, len(outcomes), wilson_upper(errors, len(outcomes)), len(failing), len(people))
