"""A loudspeaker behind PortAudio: plays mono samples to their end, or until it is stopped."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.media import DriverError
from drivers.portaudio import known_devices, load_portaudio


class Speaker:
    """One output device, None for the default; opened for each piece of sound.

    `on_play` is told what is about to be played, its rate in Hz, and the time by `clock` at which it begins, so that
    the robot can know its own voice when it hears it.
    """

    def __init__(
        self,
        device: int | str | None = None,
        *,
        backend: Any = None,
        on_play: Callable[[NDArray[np.float32], int, float], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._device = device
        self._backend = backend
        self._on_play = on_play
        self._clock = clock

    def play(self, samples: NDArray[np.float32], sample_rate_hz: int) -> None:
        """Play float32 mono (n,) in [-1, 1] and return when it is over. Raises DriverError."""
        if samples.ndim != 1:
            raise DriverError(
                f"speaker: expected mono samples (n,), got shape {samples.shape}; mix them down"
            )
        if samples.size == 0:
            return
        backend = self._backend or load_portaudio()
        sound = np.clip(np.nan_to_num(samples), -1.0, 1.0).astype(np.float32)
        if self._on_play is not None:
            self._on_play(sound, sample_rate_hz, self._clock())
        try:
            backend.play(sound, sample_rate_hz, device=self._device, blocking=True)
        except (backend.PortAudioError, ValueError, OSError) as error:
            name = "default" if self._device is None else self._device
            raise DriverError(
                f"speaker {name}: cannot play ({error}); present: {known_devices(backend, 'output')}; "
                "plug one in or choose one of these"
            ) from error

    def stop(self) -> None:
        """Fall silent at once; may be called from another thread, and when nothing plays."""
        backend = self._backend or load_portaudio()
        backend.stop()
