"""How many seconds each stage of perceiving took."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class StageTimes:
    """Seconds by the name of the stage, summed up. Used from one thread."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Count what happens inside."""
        started = time.perf_counter()
        yield
        self.add({stage: time.perf_counter() - started})

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add other stages' seconds."""
        for stage, spent in seconds.items():
            self._seconds[stage] = self._seconds.get(stage, 0.0) + spent

    def as_dict(self) -> dict[str, float]:
        """All that was counted until now."""
        return dict(self._seconds)
