"""Draws the same sample each time: the same share of each type, memories in turn."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def drawn(
    items: Sequence[T], count: int, seed: int, *, type_of: Callable[[T], Any], memory_of: Callable[[T], str]
) -> list[T]:
    """`count` items in the order in which they came; a smaller draw is mostly part of a larger one by the same seed."""
    groups: dict[Any, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, item in enumerate(items):
        groups[type_of(item)][memory_of(item)].append(place)
    sizes = {name: sum(map(len, memories.values())) for name, memories in groups.items()}
    chance = random.Random(seed)
    chosen = [
        place
        for name, share in sorted(_shares(sizes, count).items())
        for place in _in_turn(groups[name], share, chance)
    ]
    return [items[place] for place in sorted(chosen)]


def _shares(sizes: dict[Any, int], count: int) -> dict[Any, int]:
    """`count` divided in proportion to the sizes; what is left over goes to the largest remainders."""
    whole = sum(sizes.values())
    exact = {name: min(count, whole) * size / whole for name, size in sizes.items()}
    shares = {name: int(value) for name, value in exact.items()}
    left = min(count, whole) - sum(shares.values())
    for name in sorted(exact, key=lambda name: (shares[name] - exact[name], name))[:left]:
        shares[name] += 1
    return shares


def _in_turn(groups: dict[str, list[int]], count: int, chance: random.Random) -> list[int]:
    """Places drawn from the memories one after the other, beginning with any."""
    names = sorted(groups)
    chance.shuffle(names)
    queues = [chance.sample(groups[name], len(groups[name])) for name in names]
    rounds = max(map(len, queues))
    return [queue[turn] for turn in range(rounds) for queue in queues if turn < len(queue)][:count]
