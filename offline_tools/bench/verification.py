"""Accepting and refusing by similarity: error rates, the threshold that scores ask for, who is taken for whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_store.records import Exemplar
from offline_tools.bench.reference_rule import ReferenceGallery
from runtime.gallery import Gallery, MatchRule, to_the_middle

Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Probe:
    """A test: the vector (d,) of somebody enrolled, or of a stranger (person None)."""

    person: str | None
    vector: Vectors


@dataclass(frozen=True, eq=False)
class Trials:
    """Scores of one-to-one comparisons: probes with their own person, and with everybody else."""

    genuine: NDArray[np.float64]
    impostor: NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """Counts of one-of-many identification, and of one-to-one comparisons above the match threshold."""

    own: int = 0
    recognised: int = 0
    taken_for_another: int = 0
    strangers: int = 0
    strangers_taken: int = 0
    pairs: int = 0
    pairs_accepted: int = 0

    def __add__(self, other: Outcome) -> Outcome:
        mine, theirs = vars(self), vars(other)
        return Outcome(**{name: mine[name] + theirs[name] for name in mine})

    @property
    def true_accept(self) -> float:
        """Share of the residents' probes that were recognised as who they are."""
        return self.recognised / self.own if self.own else 0.0

    @property
    def false_accept(self) -> float:
        """Share of the comparisons of a probe with another person that passed the match threshold."""
        return self.pairs_accepted / self.pairs if self.pairs else 0.0


def trials(enrolled: Mapping[str, Vectors], probes: Sequence[Probe], middle: float = 0.0) -> Trials:
    """Each probe against each person enrolled with vectors (n, d), scored as the runtime's gallery does."""
    genuine: list[float] = []
    impostor: list[float] = []
    for probe in probes:
        for person, vectors in enrolled.items():
            nearest = float((vectors @ probe.vector).max())
            score = nearest + middle * (to_the_middle(probe.vector[np.newaxis], vectors) - nearest)
            (genuine if person == probe.person else impostor).append(score)
    return Trials(np.array(genuine), np.array(impostor))


def joined(parts: Sequence[Trials]) -> Trials:
    """All comparisons of several draws together."""
    return Trials(
        np.concatenate([part.genuine for part in parts]), np.concatenate([part.impostor for part in parts])
    )


def equal_error_rate(scores: Trials) -> float:
    """Where false accepts and false rejects are equally frequent: the mean of both at the nearest threshold."""
    thresholds = np.unique(np.concatenate([scores.genuine, scores.impostor]))
    rejects = np.searchsorted(np.sort(scores.genuine), thresholds, side="left") / len(scores.genuine)
    accepts = 1 - np.searchsorted(np.sort(scores.impostor), thresholds, side="left") / len(scores.impostor)
    at = int(np.argmin(np.abs(rejects - accepts)))
    return float((rejects[at] + accepts[at]) / 2)


def chosen_threshold(scores: Trials, false_accept: float, false_reject: float) -> float:
    """Halfway between the impostors' and the genuine scores, each less the share that may be decided wrongly.

    With few comparisons an allowed share may be less than one of them, and then none of that kind is left out.
    """
    impostor, genuine = np.sort(scores.impostor)[::-1], np.sort(scores.genuine)
    highest = impostor[int(false_accept * len(impostor))]
    lowest = genuine[int(false_reject * len(genuine))]
    return float(max((highest + lowest) / 2, highest + 1e-6))


def identified(
    enrolled: Mapping[str, Vectors], probes: Sequence[Probe], rule: MatchRule, middle: float = 0.0
) -> Outcome:
    """What the runtime's own gallery says of each probe under a rule: threshold and margin."""
    people = list(enrolled)
    exemplars = [
        Exemplar(0, number, number, "probe", vector, 0.0, None)
        for number, person in enumerate(people)
        for vector in enrolled[person]
    ]
    gallery = Gallery(exemplars, middle=middle)
    answers = []
    for probe in probes:
        match = gallery.decide(gallery.scores(probe.vector[np.newaxis]), rule)
        known = match.verdict == "known" and match.node_id is not None
        answers.append(people[match.node_id] if known and match.node_id is not None else None)
    pairs = trials(enrolled, probes, middle).impostor
    return _counted(probes, answers, len(pairs), int((pairs >= rule.match).sum()))


def identified_by_reference(
    enrolled: Mapping[str, Vectors], probes: Sequence[Probe], threshold: float
) -> Outcome:
    """What the reference's published rule says: the highest mean cosine above its threshold."""
    gallery: ReferenceGallery[str] = ReferenceGallery(threshold, cap=100)
    for person, vectors in enrolled.items():
        gallery.enroll(person, vectors)
    answers = [gallery.best(probe.vector[np.newaxis]) for probe in probes]
    pairs = [
        float((vectors @ probe.vector).mean()) >= threshold
        for probe in probes
        for person, vectors in enrolled.items()
        if person != probe.person
    ]
    return _counted(probes, answers, len(pairs), sum(pairs))


def _counted(probes: Sequence[Probe], answers: Sequence[str | None], pairs: int, accepted: int) -> Outcome:
    told = list(zip(probes, answers, strict=True))
    return Outcome(
        own=sum(probe.person is not None for probe, _ in told),
        recognised=sum(probe.person is not None and answer == probe.person for probe, answer in told),
        taken_for_another=sum(
            probe.person is not None and answer not in (None, probe.person) for probe, answer in told
        ),
        strangers=sum(probe.person is None for probe, _ in told),
        strangers_taken=sum(probe.person is None and answer is not None for probe, answer in told),
        pairs=pairs,
        pairs_accepted=accepted,
    )
