"""A camera behind OpenCV: the newest frame or none, lost and frozen told apart, opened again by itself."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.media import DriverError, Frame, StaleFrame

CameraState = Literal["ok", "lost", "frozen"]
_IDLE_S = 0.005  # between two reads that failed
_FAILED_READS = 10


class Capture(Protocol):
    """The part of cv2.VideoCapture that is used."""

    def isOpened(self) -> bool: ...
    def read(self) -> tuple[bool, Any]: ...
    def set(self, propId: int, value: float) -> bool: ...
    def release(self) -> None: ...


def _open_video(device: int | str) -> Capture:
    return cv2.VideoCapture(device)


class Camera:
    """One camera read by a thread of its own; `Frame.time_s` is the clock's reading when it was grabbed.

    A camera that gives no frame for `lost_after_s` is "lost", one that gives the same bytes for
    `frozen_after_s` is "frozen"; both are opened again, waiting `retry_s` seconds before each attempt.
    """

    def __init__(
        self,
        device: int | str,
        *,
        width: int,
        height: int,
        rate_hz: float,
        open_capture: Callable[[int | str], Capture] = _open_video,
        clock: Callable[[], float] = time.monotonic,
        lost_after_s: float = 3.0,
        frozen_after_s: float = 10.0,
        retry_s: Sequence[float] = (1.0, 2.0, 5.0, 10.0, 30.0),
    ) -> None:
        self._device = int(device) if isinstance(device, str) and device.isdecimal() else device
        self._settings = {
            cv2.CAP_PROP_FRAME_WIDTH: float(width),
            cv2.CAP_PROP_FRAME_HEIGHT: float(height),
            cv2.CAP_PROP_FPS: float(rate_hz),
            cv2.CAP_PROP_BUFFERSIZE: 1.0,
        }
        self._open_capture = open_capture
        self._clock = clock
        self._lost_after_s = lost_after_s
        self._frozen_after_s = frozen_after_s
        self._retry_s = tuple(retry_s)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._newest: Frame | None = None
        self._changed_s = 0.0
        self._seen_s = 0.0

    def open(self) -> None:
        """Open the device and start reading; nothing happens when it is open. Raises DriverError."""
        if self._thread is not None:
            return
        capture = self._connect()
        self._newest = None
        self._stop = threading.Event()
        self._seen_s = self._changed_s = self._clock()
        arguments = (capture, self._stop)
        self._thread = threading.Thread(target=self._run, args=arguments, name="camera", daemon=True)
        self._thread.start()

    def latest(self, max_age_s: float) -> Frame:
        """Return the newest frame. Raises StaleFrame when it is older than `max_age_s`, lost or frozen."""
        if self._thread is None:
            raise DriverError(f"camera {self._device}: is not open; call open() first")
        state, newest = self.state, self._newest
        if newest is None:
            raise StaleFrame(f"camera {self._device}: no frame yet ({state}); wait, or check its cable")
        age_s = self._clock() - newest.time_s
        if state != "ok" or age_s > max_age_s:
            raise StaleFrame(
                f"camera {self._device}: newest frame is {age_s:.2f} s old ({state}), allowed {max_age_s:.2f} s; "
                "check its cable if this lasts"
            )
        return newest

    @property
    def state(self) -> CameraState:
        """Whether frames come and change; a camera that is not open is "lost"."""
        with self._lock:
            now_s = self._clock()
            if self._thread is None or now_s - self._seen_s > self._lost_after_s:
                return "lost"
            return "frozen" if now_s - self._changed_s > self._frozen_after_s else "ok"

    def close(self) -> None:
        """Stop reading and release the device, in whatever state it is."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(timeout=15.0)  # V4L2 gives up on a dead device after 10 s

    def _connect(self) -> Capture:
        cv2.utils.logging.setLogLevel(
            cv2.utils.logging.LOG_LEVEL_SILENT
        )  # OpenCV writes warnings about a missing device to stderr
        capture = self._open_capture(self._device)
        if not capture.isOpened():
            capture.release()
            raise DriverError(_why_absent(self._device))
        for key, value in self._settings.items():
            capture.set(key, value)
        return capture

    def _run(self, capture: Capture, stop: threading.Event) -> None:
        attempt = 0
        while not stop.is_set():
            if self._read_until_bad(capture, stop):
                attempt = 0
            capture.release()
            while not stop.wait(self._retry_s[min(attempt, len(self._retry_s) - 1)]):
                attempt += 1
                try:
                    capture = self._connect()
                except DriverError:
                    continue
                break
        capture.release()

    def _read_until_bad(self, capture: Capture, stop: threading.Event) -> bool:
        """Read until stopped, lost or frozen; return whether any changed frame came."""
        failed, changed = 0, False
        with self._lock:
            self._changed_s = max(self._changed_s, self._seen_s)
        opened_s = self._clock()
        while not stop.is_set():
            good, image = capture.read()
            now_s = self._clock()
            if not good or image is None:
                failed += 1
                if failed >= _FAILED_READS and now_s - max(self._seen_s, opened_s) > self._lost_after_s / 2:
                    return changed
                stop.wait(_IDLE_S)
                continue
            failed = 0
            changed |= self._store(image, now_s)
            if now_s - max(self._changed_s, opened_s) > self._frozen_after_s:
                return changed
        return changed

    def _store(self, image: NDArray[np.uint8], now_s: float) -> bool:
        same = self._newest is not None and np.array_equal(self._newest.image, image)
        with self._lock:
            self._seen_s = now_s
            self._newest = Frame(now_s, image if not same or self._newest is None else self._newest.image)
            if not same:
                self._changed_s = now_s
        return not same


def _why_absent(device: int | str) -> str:
    if "://" in str(device):
        return f"camera {device}: gives no picture; check the address and that the camera is switched on"
    path = Path(f"/dev/video{device}") if isinstance(device, int) else Path(device)
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        return f"camera {device}: {path} may not be used by this user; add the user to the group video"
    present = sorted(str(found) for found in Path("/dev").glob("video*"))
    if not present:
        return f"camera {device}: cannot be opened, and there is no /dev/video* at all; plug a camera in"
    names = ", ".join(present)
    if path.exists():
        return f"camera {device}: cannot be opened; another program may hold it (present: {names})"
    return f"camera {device}: there is no such camera; choose one of {names}"
