"""Which pieces of one clip's speech are one voice: average-linkage clustering of their voice vectors.

Cutting speech into pieces is left to models/speaker_turns.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Weights = NDArray[np.float32]


def speakers_of(vectors: Vectors, weights: Weights, *, same_voice: float, least_s: float) -> list[int]:
    """A speaker number for each piece, in the order in which speakers are first heard.

    vectors: (n, d), length 1; weights: (n,), seconds of speech that nobody else spoke over. Clusters are joined while
    the weighted mean cosine between two is at least `same_voice`. A cluster of less than `least_s` seconds is no
    speaker of its own: its pieces go to the nearest one that is, if there is any.
    """
    if not len(vectors):
        return []
    members = _linked(vectors, weights, same_voice)
    sums = np.stack([(weights[rows, np.newaxis] * vectors[rows]).sum(axis=0) for rows in members])
    seconds = np.array([weights[rows].sum() for rows in members])
    centres = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    whole = np.flatnonzero(seconds >= least_s)
    if not len(whole):
        whole = np.array([int(np.argmax(seconds))])
    nearest = whole[np.argmax(vectors @ centres[whole].T, axis=1)]
    numbers: dict[int, int] = {}
    return [numbers.setdefault(int(cluster), len(numbers)) for cluster in nearest]


def _linked(vectors: Vectors, weights: Weights, same_voice: float) -> list[list[int]]:
    """Clusters as lists of rows. A weighted mean of cosines is the product of the two weighted sums."""
    heavy = np.maximum(weights, 1e-3).astype(np.float64)
    sums = vectors * heavy[:, np.newaxis]
    members = [[row] for row in range(len(vectors))]
    while len(members) > 1:
        likeness = (sums @ sums.T) / np.outer(heavy, heavy)
        np.fill_diagonal(likeness, -2.0)
        first, second = sorted(int(at) for at in np.unravel_index(np.argmax(likeness), likeness.shape))
        if likeness[first, second] < same_voice:
            break
        members[first] += members.pop(second)
        sums[first] += sums[second]
        heavy[first] += heavy[second]
        sums, heavy = np.delete(sums, second, axis=0), np.delete(heavy, second)
    return members
