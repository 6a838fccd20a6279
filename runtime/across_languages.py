"""Finds memories in another language than the question's, which share no word with it and lie far from it as vectors.

A multilingual text model holds each language in a place of its own. The mean difference between sentences that say the
same moves a question over, so that it lies among the memories of the other language as its translation would (the
language-specific mean of Libovicky et al., "How language-neutral is multilingual BERT?", 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from memory_store.records import Hit
from runtime.grounding import Language, language_of
from runtime.quotes import only_asks, quote_in

BACKGROUND = 8  # memories of that language whose mean likeness is what any memory has
LEAST_BACKGROUND = 3


@dataclass(frozen=True)
class AcrossHit:
    """A memory of the other language; lead: how much more like the question it is than others of its language."""

    hit: Hit
    lead: float


class LanguageShift:
    """Moves questions from English to Chinese and back. The sentences are embedded when first needed."""

    def __init__(self, embed_query: Callable[[list[str]], NDArray[np.float32]]) -> None:
        self._embed_query = embed_query

    @cached_property
    def _to_chinese(self) -> NDArray[np.float32]:
        path = Path(__file__).parent / "prompts" / "parallel.yaml"
        pairs = yaml.safe_load(path.read_text(encoding="utf-8"))
        english, chinese = (self._embed_query([pair[side] for pair in pairs]) for side in (0, 1))
        difference: NDArray[np.float32] = chinese.mean(axis=0) - english.mean(axis=0)
        return difference

    def moved(self, vector: NDArray[np.float32], language: Language) -> NDArray[np.float32]:
        """The vector of a question of this language as it would be in the other one, of length 1."""
        there = vector + self._to_chinese * (1.0 if language == "en" else -1.0)
        return np.asarray(there / max(float(np.linalg.norm(there)), 1e-9), np.float32)


def others(hits: Sequence[Hit], language: Language) -> list[AcrossHit]:
    """The hits in another language than this one, most alike first, with their leads; none where too few are there."""
    found = [hit for hit in hits if hit.similarity is not None and _language(hit) not in (None, language)]
    found.sort(key=lambda hit: (-(hit.similarity or 0.0), hit.node.id))
    around = [hit.similarity or 0.0 for hit in found[1 : 1 + BACKGROUND]]
    if len(around) < LEAST_BACKGROUND:
        return []
    usual = sum(around) / len(around)
    return [AcrossHit(hit, (hit.similarity or 0.0) - usual) for hit in found]


def _language(hit: Hit) -> Language | None:
    """The language of what was said or concluded; None for a question, and for what code writes."""
    quote = quote_in(hit.node.text)
    if (quote is None and hit.node.kind != "semantic") or only_asks(hit.node.text):
        return None
    return language_of(quote or hit.node.text)
