"""Fakes at the edge: a capture as OpenCV gives it, PortAudio as sounddevice gives it, and a clock set by hand."""

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class ManualClock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class FakeCapture:
    """cv2.VideoCapture over a scripted camera: each read takes 5 ms and gives the next picture."""

    def __init__(self, device: int | str, *, present: bool = True) -> None:
        self.device = device
        self.present = present
        self.unplugged = False
        self.frozen = False
        self.released = False
        self.settings: dict[int, float] = {}
        self._number = 0

    def isOpened(self) -> bool:
        return self.present and not self.released

    def set(self, propId: int, value: float) -> bool:
        self.settings[propId] = value
        return True

    def read(self) -> tuple[bool, NDArray[np.uint8] | None]:
        time.sleep(0.005)
        if self.unplugged or self.released:
            return False, None
        self._number += not self.frozen
        return True, np.full((48, 64, 3), self._number % 251, np.uint8)

    def release(self) -> None:
        self.released = True


class FakePortAudioError(Exception):
    """Stands for sounddevice.PortAudioError."""


class FakeStream:
    """sounddevice.InputStream whose callback is called by the test."""

    def __init__(self, backend: "FakePortAudio", **settings: Any) -> None:
        self.settings = settings
        self.state = "made"
        if settings["samplerate"] not in backend.rates_hz:
            raise FakePortAudioError("Invalid sample rate [PaErrorCode -9997]")

    def start(self) -> None:
        self.state = "started"

    def abort(self) -> None:
        self.state = "stopped"

    def close(self) -> None:
        self.state = "closed"

    def hear(self, samples: NDArray[np.float32]) -> None:
        """Deliver samples as PortAudio's thread does: (frames, channels), in a buffer that is reused."""
        buffer = samples.reshape(-1, 1).copy()
        self.settings["callback"](buffer, samples.size, None, None)
        buffer[:] = 9.0


class FakePortAudio:
    """The part of the sounddevice module that the drivers use."""

    PortAudioError = FakePortAudioError

    def __init__(self, *, devices: int = 1, rates_hz: tuple[int, ...] = (16000,)) -> None:
        self.devices = devices
        self.rates_hz = rates_hz
        self.streams: list[FakeStream] = []
        self.played: list[tuple[NDArray[np.float32], int]] = []
        self.stopped = 0

    def InputStream(self, **settings: Any) -> FakeStream:
        self._check(settings["device"])
        stream = FakeStream(self, **settings)
        self.streams.append(stream)
        return stream

    def play(self, samples: NDArray[np.float32], rate_hz: int, *, device: Any, blocking: bool) -> None:
        assert blocking
        self._check(device)
        self.played.append((samples, rate_hz))

    def stop(self) -> None:
        self.stopped += 1

    def query_devices(self, device: Any = None, kind: str | None = None) -> Any:
        if kind is not None:
            self._check(device)
        rows = [
            {
                "index": index,
                "name": f"card {index}",
                "max_input_channels": 1,
                "max_output_channels": 2,
                "default_samplerate": float(self.rates_hz[0]),
            }
            for index in range(self.devices)
        ]
        return rows if kind is None else rows[device or 0]

    def _check(self, device: Any) -> None:
        if self.devices == 0:
            raise FakePortAudioError("Error querying device -1")
        if isinstance(device, str):
            raise ValueError(f"No device matching {device!r}")
        if device is not None and device >= self.devices:
            raise FakePortAudioError(f"Error querying device {device}")


def wait_until(condition: Callable[[], bool], timeout_s: float = 5.0) -> None:
    """Return once `condition` holds; fail the test when it does not in time."""
    pause = threading.Event()
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, "what the test waits for did not happen"
        pause.wait(0.005)
