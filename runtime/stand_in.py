"""An engine elsewhere, and the robot's own in its place while it is gone: said once when it goes and comes back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from runtime.wyoming_wire import BadMessage, PeerGone

log = logging.getLogger(__name__)
AGAIN_S = 30.0
Given = TypeVar("Given")
Made = TypeVar("Made")


class WithStandIn(Generic[Given, Made]):
    """Calls `elsewhere`; where that fails, `own`, and for AGAIN_S only that. From one thread at a time.

    name: of the engine and its address, for the log and the status; clock: seconds that never run backwards.
    """

    def __init__(
        self,
        name: str,
        elsewhere: Callable[[Given], Made],
        own: Callable[[Given], Made],
        clock: Callable[[], float],
    ) -> None:
        self._name = name
        self._elsewhere = elsewhere
        self._own = own
        self._clock = clock
        self._again_s = -1.0
        self._fault = ""

    def __call__(self, given: Given) -> Made:
        """What the engine makes of it. Raises what `own` raises."""
        if self._clock() >= self._again_s:
            try:
                made = self._elsewhere(given)
            except (PeerGone, BadMessage) as error:
                self._gone(str(error))
            else:
                self._back()
                return made
        return self._own(given)

    @property
    def state(self) -> str:
        """ "ok", or why the robot's own engine is used."""
        return self._fault or "ok"

    def _gone(self, fault: str) -> None:
        self._again_s = self._clock() + AGAIN_S
        before, self._fault = self._fault, fault
        if not before:
            log.warning(
                "%s cannot be used, and the robot's own does its work meanwhile: %s", self._name, fault
            )

    def _back(self) -> None:
        before, self._fault = self._fault, ""
        if before:
            log.warning("%s can be used again", self._name)
