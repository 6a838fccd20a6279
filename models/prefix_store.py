"""Remembers evaluated prompt heads of several callers, so that each finds its instructions evaluated already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.prompt_items import PromptItem, common_prefix


@dataclass(frozen=True, eq=False)
class KeptPrefix:
    """The items of a prompt's head and the saved state of the model after them."""

    items: tuple[PromptItem, ...]
    state: NDArray[np.uint8]


class PrefixStore:
    """The newest `capacity` heads; a head that mostly repeats a kept one takes its place."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: list[KeptPrefix] = []

    @property
    def capacity(self) -> int:
        return self._capacity

    def keep(self, prefix: KeptPrefix) -> None:
        self._kept = [kept for kept in self._kept if not _alike(kept.items, prefix.items)]
        self._kept.append(prefix)
        del self._kept[: -self._capacity]

    def best(self, items: Sequence[PromptItem]) -> tuple[KeptPrefix | None, int]:
        """The kept head that shares most with these items, and how many it shares; it becomes the newest."""
        if not self._kept:
            return None, 0
        found = max(self._kept, key=lambda kept: common_prefix(kept.items, items))
        return found, common_prefix(found.items, items)

    def touch(self, prefix: KeptPrefix) -> None:
        """This one was used just now."""
        self._kept.sort(key=lambda kept: kept is prefix)


def _alike(first: Sequence[PromptItem], second: Sequence[PromptItem]) -> bool:
    return 2 * common_prefix(first, second) >= min(len(first), len(second))
