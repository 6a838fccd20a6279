"""A Chinese-English dictionary on disk: which words a Chinese text holds, and what they are in English.

The file is mapped, not loaded: a robot that never hears Chinese pays nothing for it, another a few pages.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from models.errors import ModelError

LONGEST_WORD = 8  # characters; longer ones are sayings


@dataclass(frozen=True)
class Word:
    """A word of a Chinese text, from character `start` to before `end`, with its English senses."""

    start: int
    end: int
    senses: tuple[str, ...]


class Dictionary:
    """The table that models/convert_cedict.py writes. Raises ModelError where it cannot be read."""

    def __init__(self, table: Path) -> None:
        try:
            with table.open("rb") as file:
                self._table = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: an empty file
            raise ModelError(f"the dictionary {table} cannot be read: {error}") from error
        ends = np.flatnonzero(np.frombuffer(self._table, np.uint8) == ord("\n"))
        self._starts = np.concatenate(([0], ends + 1))[:-1]
        self._known = lru_cache(4096)(self._find)

    def senses(self, word: str) -> tuple[str, ...]:
        """What a Chinese word is in English; nothing where it is unknown."""
        return self._known(word)

    def words_in(self, text: str) -> Iterator[Word]:
        """The words of a text, the longest at each place; characters that begin none are skipped.

        What ends in 了 has the senses of what stands before it as well, which it most often is the past of.
        """
        at = 0
        while at < len(text):
            for end in range(min(len(text), at + LONGEST_WORD), at, -1):
                word = text[at:end]
                if senses := self.senses(word):
                    past = self.senses(word[:-1]) if word.endswith("了") else ()
                    yield Word(at, end, senses + past)
                    at = end
                    break
            else:
                at += 1

    def _find(self, word: str) -> tuple[str, ...]:
        wanted = word.encode()
        low, high = 0, len(self._starts)
        while low < high:
            middle = (low + high) // 2
            found, *senses = self._line(middle)
            if found == wanted:
                return tuple(sense.decode() for sense in senses)
            low, high = (middle + 1, high) if found < wanted else (low, middle)
        return ()

    def _line(self, number: int) -> list[bytes]:
        start = int(self._starts[number])
        return self._table[start : self._table.find(b"\n", start)].split(b"\t")
