"""A microphone behind PortAudio: blocks in order from a bounded ring, whose losses are counted."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from drivers.media import AudioBlock, DriverError
from drivers.portaudio import known_devices, load_portaudio
from drivers.resample import Resampler

MicrophoneState = Literal["ok", "lost"]
_GAP_S = 0.2  # a callback this much later than its predecessor promised means lost sound
_SLEW = 0.01  # share of the distance to the clock that each block corrects


class Microphone:
    """One microphone, mono; `AudioBlock.time_s` is the clock's reading at the block's first sample.

    The ring holds `ring_s` seconds; when it is full the oldest block is dropped and counted in
    `dropped_samples`, as is sound the device itself lost. A device that cannot record at
    `sample_rate_hz` is opened at its own rate and resampled.
    """

    def __init__(
        self,
        device: int | str | None,
        *,
        sample_rate_hz: int = 16000,
        ring_s: float = 60.0,
        block_s: float = 0.5,
        backend: Any = None,
        clock: Callable[[], float] = time.monotonic,
        lost_after_s: float = 3.0,
    ) -> None:
        self._device = device
        self._rate_hz = sample_rate_hz
        self._ring_samples = max(1, round(ring_s * sample_rate_hz))
        self._block_s = block_s
        self._backend = backend
        self._clock = clock
        self._lost_after_s = lost_after_s
        self._ready = threading.Condition()
        self._ring: deque[AudioBlock] = deque()
        self._held = 0
        self._stream: Any = None
        self._resampler: Resampler | None = None
        self._device_rate_hz = sample_rate_hz
        self._expected_s: float | None = None
        self._heard_s = 0.0
        self.dropped_samples = 0

    def open(self) -> None:
        """Open the device and start recording; nothing happens when it is open. Raises DriverError."""
        if self._stream is not None:
            return
        backend = self._backend or load_portaudio()
        self._expected_s, self._heard_s = None, self._clock()
        try:
            self._stream = self._start(backend)
        except (backend.PortAudioError, ValueError, OSError) as error:
            name = "default" if self._device is None else self._device
            raise DriverError(
                f"microphone {name}: cannot be opened ({error}); present: {known_devices(backend, 'input')}; "
                "plug one in or choose one of these"
            ) from error

    def read(self, timeout_s: float) -> AudioBlock | None:
        """Return the next block in order, None when none came within `timeout_s`."""
        with self._ready:
            self._ready.wait_for(lambda: bool(self._ring), timeout=timeout_s)
            if not self._ring:
                return None
            block = self._ring.popleft()
            self._held -= block.samples.size
            return block

    @property
    def state(self) -> MicrophoneState:
        """Whether sound comes in; a microphone that is not open is "lost"."""
        silent = self._clock() - self._heard_s > self._lost_after_s
        return "lost" if self._stream is None or silent else "ok"

    def close(self) -> None:
        """Stop recording and release the device, in whatever state it is; what was heard stays readable."""
        stream, self._stream = self._stream, None
        if stream is None:
            return
        backend = self._backend or load_portaudio()
        try:
            stream.abort()
            stream.close()
        except (backend.PortAudioError, OSError) as error:
            raise DriverError(
                f"microphone {self._device}: could not be closed ({error}); replug it"
            ) from error

    def _start(self, backend: Any) -> Any:
        try:
            return self._start_at(backend, self._rate_hz)
        except backend.PortAudioError:
            own_rate_hz = int(backend.query_devices(self._device, "input")["default_samplerate"])
            if own_rate_hz == self._rate_hz:
                raise
            return self._start_at(backend, own_rate_hz)

    def _start_at(self, backend: Any, rate_hz: int) -> Any:
        self._device_rate_hz = rate_hz
        self._resampler = Resampler(rate_hz, self._rate_hz) if rate_hz != self._rate_hz else None
        stream = backend.InputStream(
            samplerate=rate_hz,
            blocksize=round(self._block_s * rate_hz),
            device=self._device,
            channels=1,
            dtype="float32",
            callback=self._heard,
        )
        try:
            stream.start()
        except backend.PortAudioError:
            stream.close()
            raise
        return stream

    def _heard(self, data: NDArray[np.float32], count: int, _time: Any, _status: Any) -> None:
        """Take one block on PortAudio's own thread."""
        self._heard_s = self._clock()
        begin_s = self._heard_s - count / self._device_rate_hz
        late_s = 0.0 if self._expected_s is None else begin_s - self._expected_s
        if self._expected_s is not None and late_s <= _GAP_S:
            begin_s = self._expected_s + _SLEW * late_s
            late_s = 0.0
        self._expected_s = begin_s + count / self._device_rate_hz
        samples = np.array(data, np.float32).reshape(-1)
        if self._resampler is not None:
            samples = self._resampler.push(samples)
        self._keep(AudioBlock(begin_s, np.clip(samples, -1.0, 1.0)), round(late_s * self._rate_hz))

    def _keep(self, block: AudioBlock, missed_samples: int) -> None:
        with self._ready:
            self.dropped_samples += missed_samples
            self._ring.append(block)
            self._held += block.samples.size
            while self._held > self._ring_samples and len(self._ring) > 1:
                gone = self._ring.popleft().samples.size
                self._held -= gone
                self.dropped_samples += gone
            self._ready.notify_all()
