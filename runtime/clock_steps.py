"""Dates the clips of this boot anew when the clock is set or jumps after they were taken (DESIGN section 4)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from memory_store.store import MemoryStore
from runtime.clips import ClipSpan, live_prefix, monotonic_start_s
from runtime.clock import Clock, asleep_s, is_believable

log = logging.getLogger("hearsight.clock")
STEP_S = 5.0  # a clock that is kept in time is never moved by so much at once


class ClockSteps:
    """Compares what the wall clock says with the monotonic clock, which nobody sets.

    Within one boot the difference of the two changes only when the wall clock is set. The later setting is
    believed: all clips of the boot are then dated by it. A clip of an earlier boot that ended before the clock
    was set stays "time unknown"; so do all of a boot in which the machine slept, since the monotonic clock stood
    still meanwhile.
    """

    def __init__(
        self, store: MemoryStore, clock: Clock, boot_id: str, *, asleep_s: Callable[[], float] = asleep_s
    ) -> None:
        self._asleep_s = asleep_s
        self._store = store
        self._clock = clock
        self._boot_id = boot_id
        self._boot_began_utc_s: float | None = None  # as the clips of this boot are dated

    def after_clip(self, span: ClipSpan) -> int:
        """To be called after each clip is written; how many clips were dated anew, in one transaction."""
        now_s = self._clock.utc_s()
        began_s = now_s - self._clock.monotonic_s()
        if not is_believable(now_s) or self._asleep_s() >= STEP_S:
            return 0
        wanted = self._start_of(span.key, span.media_start_s, began_s)
        here_is_right = span.time_known and (wanted is None or abs(wanted - span.start_utc_s) < STEP_S)
        if (
            here_is_right
            and self._boot_began_utc_s is not None
            and abs(began_s - self._boot_began_utc_s) < STEP_S
        ):
            return 0
        starts: dict[int, float] = {}
        for clip in self._store.clips_by_key(live_prefix(self._boot_id)):
            start_s = self._start_of(clip.source_key, clip.media_start_s, began_s)
            if start_s is None:
                continue
            if not clip.time_known or abs(start_s - clip.start_utc_s) >= STEP_S:
                starts[clip.id] = start_s
        jumped = self._boot_began_utc_s is not None and abs(began_s - self._boot_began_utc_s) >= STEP_S
        if starts or jumped:
            with self._store.transaction():
                self._store.redate_clips(starts, now_s)
            log.warning("The clock was set: %d clips of this boot were dated anew.", len(starts))
        self._boot_began_utc_s = began_s
        return len(starts)

    def _start_of(self, key: str, media_start_s: float, began_s: float) -> float | None:
        """When a live clip of this boot began, where the boot began at `began_s`; None for every other clip."""
        if not key.startswith(live_prefix(self._boot_id)):
            return None
        monotonic_s = monotonic_start_s(key, media_start_s)
        return None if monotonic_s is None else began_s + monotonic_s
