"""Whether a language model's line goes on telling of an event that the clip before told of already.

Vectors alone do not tell: "opens the window" and "closes the window" have a cosine of 0.97. So the words must agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from memory_store.continuation import MOST_CLIPS, UNBROKEN_S
from memory_store.records import Clip, Node, Vector
from memory_store.store import MemoryStore
from memory_store.tags import find_tags, replace_tags
from runtime.grounding import content_terms, coverage, stem
from runtime.quotes import quote_in

RETOLD = 0.5  # the share of a line's words that stand in what was said

_GOING_ON = frozenset(map(stem, ("continue", "continues", "keep", "keeps", "still", "again")))
_TURNING = re.compile(r"\b(?:not|no|never|off|out|down|away|back)\b|n't|不|没|别", re.IGNORECASE)
_ORDER = re.compile(r"<(?:face|voice)_\d+>")


def continued_event(
    store: MemoryStore, clip: Clip, text: str, vector: Vector, same_event: float
) -> Node | None:
    """The model's event of the clip right before that this line goes on with, or None.

    Both name the same people in the same order, hold the same content words, and have a cosine of same_event or more.
    """
    if not find_tags(text):
        return None
    for before in _clips_before(store, clip):
        for node in store.nodes(kinds=["episodic"], clip_id=before.id):
            if node.provenance.get("source") != "model" or not is_told_again(text, node.text):
                continue
            spans, theirs = store.spans(node.id), store.vector(node.id, "text")
            free = len(spans) < MOST_CLIPS and all(span.clip_id != clip.id for span in spans)
            if free and theirs is not None and float(np.dot(vector, theirs)) >= same_event:
                return node
    return None


def is_retold(text: str, heard: Sequence[Node]) -> bool:
    """Whether a line tells what somebody said in the clip: each time it was said stays a memory of its own."""
    terms = content_terms(replace_tags(text, lambda tag: " "))
    return any(coverage(terms, quote_in(line.text) or "") >= RETOLD for line in heard)


def is_told_again(text: str, earlier: str) -> bool:
    """Whether two lines tell of the same people doing the same."""
    if _ORDER.findall(text) != _ORDER.findall(earlier):
        return False
    if sorted(_TURNING.findall(text.casefold())) != sorted(_TURNING.findall(earlier.casefold())):
        return False
    words = _stems(text)
    return bool(words) and words == _stems(earlier)


def _stems(text: str) -> frozenset[str]:
    plain = replace_tags(text, lambda tag: " ")
    return frozenset(stem(term) for term in content_terms(plain)) - _GOING_ON


def _clips_before(store: MemoryStore, clip: Clip) -> list[Clip]:
    near = store.clips(
        after_utc_s=clip.start_utc_s - UNBROKEN_S, before_utc_s=clip.start_utc_s + UNBROKEN_S, limit=8
    )
    return [
        one
        for one in near
        if one.source_name == clip.source_name
        and one.start_utc_s < clip.start_utc_s
        and one.end_utc_s >= clip.start_utc_s - UNBROKEN_S
    ]
