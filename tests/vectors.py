"""Unit vectors with chosen similarities, for tests of matching."""

import numpy as np
from numpy.typing import NDArray


def axis(number: int, size: int = 128) -> NDArray[np.float32]:
    """The unit vector along one axis; different axes have similarity 0."""
    vector = np.zeros(size, dtype=np.float32)
    vector[number] = 1.0
    return vector


def near(base: NDArray[np.float32], similarity: float, towards: int) -> NDArray[np.float32]:
    """A unit vector with exactly that similarity to `base`, turned towards another axis."""
    other = axis(towards, base.size)
    other = other - float(other @ base) * base
    other /= np.linalg.norm(other)
    return (similarity * base + np.sqrt(1 - similarity**2) * other).astype(np.float32)
