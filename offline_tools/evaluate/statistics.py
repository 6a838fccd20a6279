"""Means with intervals: bootstrap over whole memories, as questions about the same memory are not independent.

A resample draws as many memories as there are, with replacement, and takes the mean over all questions of theirs; the
interval holds the middle 95 % of such means (percentile bootstrap of clusters: Field and Welsh 2007). Of a single
memory the questions are drawn, which tells nothing of other memories; with fewer than about ten memories intervals are
too narrow. Differences are paired: taken question by question first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 4000
LEVEL = 0.95
_AT_ONCE = 500
METHOD = (
    f"percentile bootstrap, {RESAMPLES} resamples of whole memories (of questions where there is one memory), "
    "seed 0"
)


@dataclass(frozen=True)
class Estimate:
    """A mean over n questions of some memories, and its interval; all in the unit of the values."""

    mean: float
    low: float
    high: float
    n: int
    memories: int

    @property
    def told(self) -> str:
        """In per cent."""
        return f"{100 * self.mean:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


def estimate(values: Sequence[float], memories: Sequence[str], *, seed: int = 0) -> Estimate | None:
    """The mean of values, each of a question about a memory; None where there are none."""
    if not values:
        return None
    told = np.asarray(values, np.float64)
    names, cluster = np.unique(np.asarray(memories), return_inverse=True)
    count = len(names)
    if count == 1:
        cluster = np.arange(len(told))
    clusters = int(cluster.max()) + 1
    sums = np.bincount(cluster, told, clusters)
    sizes = np.bincount(cluster, minlength=clusters).astype(np.float64)
    chance = np.random.default_rng(seed)
    means = np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, _AT_ONCE):
        drawn = chance.integers(clusters, size=(min(_AT_ONCE, RESAMPLES - start), clusters))
        means[start : start + len(drawn)] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(told.mean()), float(low), float(high), len(told), count)


def difference(
    ours: Mapping[str, float], base: Mapping[str, float], memory_of: Mapping[str, str]
) -> Estimate | None:
    """The mean of ours minus base over the questions, by id, that both have; None where there are none."""
    shared = [name for name in ours if name in base]
    return estimate([ours[name] - base[name] for name in shared], [memory_of[name] for name in shared])
