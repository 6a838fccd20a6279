"""A loudspeaker behind PortAudio: plays mono samples to their end, or until it is stopped."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.media import DriverError
from drivers.portaudio import known_devices, load_portaudio


class Speaker:
    """One output device, None for the default; opened for each piece of sound."""

    def __init__(self, device: int | str | None = None, *, backend: Any = None) -> None:
        self._device = device
        self._backend = backend

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
