"""Which part of a prompt may be reused, how the rest is cut into batches, and which heads are kept."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.prefix_store import KeptPrefix, PrefixStore
from models.prompt_items import (
    EXACT_ROWS,
    ROW_GROUP,
    MediaPiece,
    PromptItem,
    batches,
    common_prefix,
    reusable_prefix,
    text_runs,
)

items_lists = st.lists(
    st.one_of(
        st.lists(st.integers(0, 9), min_size=1, max_size=200),
        st.builds(lambda key: [MediaPiece(key, 12, 4)], st.sampled_from("abc")),
    ),
    max_size=6,
).map(lambda parts: [item for part in parts for item in part] + [1])


@given(items_lists, st.data())
def test_the_rest_is_evaluated_as_if_nothing_had_been_kept(
    items: list[PromptItem], data: st.DataObject
) -> None:
    common = data.draw(st.integers(0, len(items)))
    kept = reusable_prefix(items, common)
    assert 0 <= kept <= common and kept < len(items)
    for start, end in text_runs(items):
        if start < kept < end:
            assert (kept - start) % ROW_GROUP == 0 and end - kept >= EXACT_ROWS


@given(st.integers(1, 5000), st.sampled_from([128, 256, 512]))
def test_batches_are_even(length: int, most: int) -> None:
    sizes = batches(length, most)
    assert sum(sizes) == length and max(sizes) <= most and min(sizes) > 0
    assert all(size % ROW_GROUP == 0 for size in sizes[:-1])
    if length >= EXACT_ROWS:
        assert min(sizes) >= EXACT_ROWS - ROW_GROUP * len(sizes)


def test_common_prefix_compares_media_by_what_they_are() -> None:
    one: list[PromptItem] = [1, 2, MediaPiece("a", 12, 4, chunk=object()), 3]
    assert common_prefix(one, [1, 2, MediaPiece("a", 12, 4), 4]) == 3
    assert common_prefix(one, [1, 2, MediaPiece("b", 12, 4), 3]) == 2


def _prefix(*items: int) -> KeptPrefix:
    return KeptPrefix(items, np.zeros(1, np.uint8))


def test_a_head_that_repeats_a_kept_one_takes_its_place() -> None:
    store = PrefixStore(2)
    memorizer, controller, longer = _prefix(1, 2, 3), _prefix(7, 8, 9), _prefix(7, 8, 9, 10)
    for prefix in (memorizer, controller, longer):
        store.keep(prefix)
    assert store.best([7, 8, 9, 10]) == (longer, 4)
    assert store.best([1, 2, 3, 4]) == (memorizer, 3)


def test_the_head_used_longest_ago_goes_first() -> None:
    store = PrefixStore(2)
    first, second = _prefix(1, 1), _prefix(2, 2)
    store.keep(first)
    store.keep(second)
    store.touch(first)
    store.keep(_prefix(3, 3))
    assert store.best([1, 1]) == (first, 2)
    assert store.best([2, 2])[1] == 0
