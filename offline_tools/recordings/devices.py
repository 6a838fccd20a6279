"""The configured camera and microphone as a source for a recording that ends, also when no device gives anything."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from drivers.live import LiveSource
from drivers.media import AudioBlock, DriverError, Frame
from offline_tools.errors import OfflineToolError
from offline_tools.recordings.video import RATE_HZ
from runtime.commands.devices import camera_of, microphone_of
from runtime.config import Settings

log = logging.getLogger(__name__)
_LATE_S = 3.0  # a device may need that long to open, and sound comes a block late


def live_items(settings: Settings, stop: threading.Event) -> Iterator[Frame | AudioBlock]:
    """Frames and sound until `stop` is set. Raises OfflineToolError where no device can be opened."""
    camera = camera_of(settings) if settings.camera.enabled else None
    microphone = microphone_of(settings) if settings.microphone.enabled else None
    devices = [device for device in (camera, microphone) if device is not None]
    faults = []
    for device in devices:
        try:
            device.open()
        except DriverError as error:
            faults.append(str(error))
        device.close()
    if len(faults) == len(devices):
        raise OfflineToolError("no device to record with: " + ("; ".join(faults) or "both are disabled"))
    for fault in faults:
        log.warning("%s; recording without it", fault)
    return LiveSource(camera, microphone, RATE_HZ).items(stop)


@contextmanager
def stopped_after(seconds: float) -> Iterator[threading.Event]:
    """An event that is set some time after the recording should have ended, or at Ctrl-C: what was recorded is kept."""
    stop = threading.Event()
    timer = threading.Timer(seconds + _LATE_S, stop.set)
    timer.daemon = True

    def interrupted(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = signal.signal(signal.SIGINT, interrupted)
    timer.start()
    try:
        yield stop
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
