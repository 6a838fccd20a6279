"""Cuts long speech into pieces that fit a recogniser's window, and groups pieces of like length into batches."""

from collections.abc import Sequence

import numpy as np

from models.waveform import SAMPLE_RATE_HZ, Samples

_EARLIEST_CUT = 0.6
_PAUSE = SAMPLE_RATE_HZ // 5
_UNEVEN_S = 0.5
_UNEVEN = 1.3


def pieces(samples: Samples, longest_s: float) -> list[Samples]:
    """Consecutive pieces of at most `longest_s`, cut where 0.2 s are quietest in the last 40 % of a piece."""
    longest = round(longest_s * SAMPLE_RATE_HZ)
    found: list[Samples] = []
    while samples.size > longest:
        end = _quietest(samples, round(longest * _EARLIEST_CUT), longest)
        found.append(samples[:end])
        samples = samples[end:]
    return [*found, samples]


def _quietest(samples: Samples, start: int, end: int) -> int:
    energy = np.concatenate(([0.0], np.cumsum(np.square(samples[start:end], dtype=np.float64))))
    return start + int(np.argmin(energy[_PAUSE:] - energy[:-_PAUSE])) + _PAUSE // 2


def batches(durations_s: Sequence[float], most_s: float) -> list[list[int]]:
    """Indices grouped so that a group padded to its longest stays within `most_s` and wastes little on padding.

    A duration above `most_s` makes a group of its own.
    """
    groups: list[list[int]] = []
    for index in sorted(range(len(durations_s)), key=lambda index: durations_s[index]):
        duration_s = durations_s[index]
        group = groups[-1] if groups else []
        shortest_s = durations_s[group[0]] if group else 0.0
        if (
            group
            and (len(group) + 1) * duration_s <= most_s
            and duration_s <= _UNEVEN * shortest_s + _UNEVEN_S
        ):
            group.append(index)
        else:
            groups.append([index])
    return groups
