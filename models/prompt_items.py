"""A prompt as a list of tokens and media pieces, and where in it an earlier evaluation may be reused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

EXACT_ROWS = 64
ROW_GROUP = 4


@dataclass(frozen=True)
class MediaPiece:
    """A picture or a stretch of sound: how many tokens it takes and how many positions it moves on.

    key: what it is (hash of the bytes), by which pieces are compared; chunk: the native object, if still held.
    """

    key: str
    tokens: int
    positions: int
    chunk: object | None = field(default=None, compare=False, repr=False)


PromptItem = int | MediaPiece


def token_count(items: Sequence[PromptItem]) -> int:
    return sum(1 if isinstance(item, int) else item.tokens for item in items)


def position_count(items: Sequence[PromptItem]) -> int:
    return sum(1 if isinstance(item, int) else item.positions for item in items)


def common_prefix(first: Sequence[PromptItem], second: Sequence[PromptItem]) -> int:
    """How many items the two begin with alike."""
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return min(len(first), len(second))


def text_runs(items: Sequence[PromptItem]) -> Iterator[tuple[int, int]]:
    """[start, end) of each stretch of text between media pieces."""
    start = 0
    for index, item in enumerate(items):
        if not isinstance(item, int):
            if index > start:
                yield start, index
            start = index + 1
    if len(items) > start:
        yield start, len(items)


def reusable_prefix(items: Sequence[PromptItem], common: int) -> int:
    """How many of the common items may be kept so that the rest evaluates to the very same numbers.

    llama.cpp computes a batch of fewer than 64 rows, and rows that do not start at a multiple of four, along
    other paths with other rounding (measured: logits differ by up to 0.4, enough to change an answer). So what
    is left of a stretch of text is at least 64 tokens long, and at least the last one is always evaluated.
    """
    for start, end in text_runs(items):
        if start <= common < end or (common == end == len(items)):
            kept = min(common - start, end - start - EXACT_ROWS) // ROW_GROUP * ROW_GROUP
            return start + max(0, kept)
    return common


def batches(length: int, most: int) -> list[int]:
    """Split a stretch of text into even batches of at most `most` rows, all but the last multiples of four."""
    count = -(-length // most)
    size = -(-length // (count * ROW_GROUP)) * ROW_GROUP
    sizes = [size] * (count - 1)
    return [*sizes, length - sum(sizes)]
