"""Who asks, by the voice: only a voice proves it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from memory_store.store import MemoryStore
from runtime.exemplars import gallery_of
from runtime.gallery import MatchRule, usable
from runtime.hear import SAMPLE_RATE_HZ, SHORTEST_VOICE_S
from runtime.workers import Worker


class AskerByVoice:
    """Finds the person whose voice speaks.

    embed: a stretch of speech (n,), 16 kHz, to its voice vector, called on `hearing`; the store is used on
    `answering`, the thread that owns it.
    """

    def __init__(
        self,
        embed: Callable[[NDArray[np.float32]], NDArray[np.float32]],
        store: MemoryStore,
        rule: MatchRule,
        *,
        hearing: Worker,
        answering: Worker,
    ) -> None:
        self._embed = embed
        self._store = store
        self._rule = rule
        self._hearing = hearing
        self._answering = answering

    async def of(self, samples: NDArray[np.float32]) -> int | None:
        """The id of the person; None where nobody is known for sure, or too little was said. Raises ModelError."""
        if samples.size < SHORTEST_VOICE_S * SAMPLE_RATE_HZ or not np.any(samples):
            return None
        vector = await self._hearing.call(self._embed, samples)
        return await self._answering.call(self._who, vector) if usable(vector) else None

    def _who(self, vector: NDArray[np.float32]) -> int | None:
        gallery = gallery_of(self._store, "voice")
        match = gallery.decide(gallery.scores(vector[np.newaxis]), self._rule)
        if match.verdict != "known" or match.node_id is None:
            return None
        return self._store.owner_of(match.node_id)
