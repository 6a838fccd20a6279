"""A wake word service elsewhere, over the Wyoming protocol: sound goes out as it is heard, detections come back."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from wyoming.wake import Detect

from runtime.hear import SAMPLE_RATE_HZ
from runtime.stand_in import AGAIN_S
from runtime.wyoming_sound import sound_chunks, sound_start
from runtime.wyoming_wire import BadMessage, PeerConnection, PeerGone

log = logging.getLogger(__name__)
CONNECT_S = 1.0  # the ear waits so long
TAKE_S = 1.0


class WyomingWake:
    """Streams sound to the service. While it is gone no wake word is heard; that is said once, and it is tried again.

    Used from one thread. clock: seconds that never run backwards.
    """

    def __init__(self, host: str, port: int, clock: Callable[[], float]) -> None:
        self._host = host
        self._port = port
        self._clock = clock
        self._again_s = -1.0
        self._peer: PeerConnection | None = None
        self.state = "ok"

    def hear(self, samples: NDArray[np.float32]) -> str | None:
        """Send the next sound (n,), 16 kHz; the name of a wake word where the service has just told of one."""
        if self._peer is None and self._clock() < self._again_s:
            return None
        try:
            return self._streamed(samples)
        except (PeerGone, BadMessage) as error:
            self.close()
            self._again_s = self._clock() + AGAIN_S
            if self.state == "ok":
                log.warning(
                    "the wake word service cannot be used, and no wake word is heard meanwhile: %s", error
                )
            self.state = str(error)
            return None

    def close(self) -> None:
        """Leave the service."""
        if self._peer is not None:
            self._peer.close()
            self._peer = None

    def _streamed(self, samples: NDArray[np.float32]) -> str | None:
        if self._peer is None:
            self._peer = PeerConnection(self._host, self._port, connect_s=CONNECT_S, deadline_s=TAKE_S)
            self._peer.send(Detect().event())
            self._peer.send(sound_start(SAMPLE_RATE_HZ))
        self._peer.wait_until(TAKE_S)
        for chunk in sound_chunks(samples, SAMPLE_RATE_HZ):
            self._peer.send(chunk)
        if self.state != "ok":
            log.warning("the wake word service can be used again")
            self.state = "ok"
        found = None
        while self._peer.has_come():
            event = self._peer.receive()
            if event.type == "detection":
                found = str(event.data.get("name") or "wake word")
            elif event.type == "error":
                raise BadMessage(f"the wake word service refused: {event.data.get('text')!s:.200}")
        return found
