"""Builds what answers questions; the rest of the composition root is runtime/compose.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from memory_store.store import MemoryStore
from models.language import LanguageModel
from models.text import TextEmbedder
from runtime import compose
from runtime.across_languages import LanguageShift
from runtime.clock import SystemClock
from runtime.compose import Parts, household_of, text_embedder
from runtime.control import Control
from runtime.control_rounds import ControlLimits
from runtime.conversation import Conversations
from runtime.recall import EmbedQuery, Recall, RecallLimits
from runtime.shown_reader import ShownReader


def conversations(
    parts: Parts, store: MemoryStore, answerer: Control, shown: ShownReader | None = None
) -> Conversations:
    """Answers with what was said before in mind; `shown` looks at what comes with a question."""
    privacy = parts.settings.privacy
    return Conversations(answerer, store, household_of(parts), SystemClock().utc_s, privacy, shown)


def control(
    parts: Parts,
    store: MemoryStore,
    language: LanguageModel | None,
    embedder: TextEmbedder | None = None,
    *,
    clock: Callable[[], float] | None = None,
    limits: ControlLimits | None = None,
) -> Control:
    """The answerer over a store; an embedder may be shared, else one is loaded by the first question that searches.

    clock: when it is asked, UTC seconds; now, where it is left out.
    """
    loaded = cache(lambda: text_embedder(parts))

    def embed_query(texts: list[str]) -> NDArray[np.float32]:
        return (embedder or loaded()).embed_query(texts)

    household = household_of(parts)
    return Control(
        recall(parts, store, embed_query),
        language,
        clock=clock or SystemClock().utc_s,
        zone=household.zone,
        household=household,
        max_rounds=parts.settings.control.max_rounds,
        policy=parts.settings.control.policy,
        limits=limits,
    )


def recall(parts: Parts, store: MemoryStore, embed_query: EmbedQuery) -> Recall:
    """The search of a store with the text model's thresholds, across languages where it has some for that."""
    thresholds = parts.text_entry.thresholds
    limits = RecallLimits(
        similarity_floor=thresholds["about"],
        similarity_floor_zh=thresholds.get("about_zh", thresholds["about"]),
        across_strong=thresholds.get("across_strong", 1.0),
        across_near=thresholds.get("across_near", 1.0),
    )
    if "across_strong" not in thresholds:
        return Recall(store, embed_query, limits=limits)
    shift, words = LanguageShift(embed_query), compose.across_words(parts)
    return Recall(store, embed_query, limits=limits, shift=shift, words=words)
