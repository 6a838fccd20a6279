"""Camera and microphone as one stream: order, one clock, and going on when a device is missing or vanishes."""

import itertools
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from drivers.camera import Camera
from drivers.live import LiveSource
from drivers.media import AudioBlock, DriverError, Frame
from drivers.microphone import Microphone
from tests.fake_devices import FakeCapture, FakePortAudio

BLOCK_S = 0.1


class Household:
    """A scripted camera and a scripted microphone that speaks from a thread in real time."""

    def __init__(self, *, camera_present: bool = True, devices: int = 1) -> None:
        self.captures: list[FakeCapture] = []
        self.camera_present = camera_present
        self.backend = FakePortAudio(devices=devices)
        self.mute = threading.Event()
        self.stop = threading.Event()
        camera = Camera(0, width=64, height=48, rate_hz=30, open_capture=self._capture, retry_s=(0.05,))
        microphone = Microphone(None, block_s=BLOCK_S, backend=self.backend, lost_after_s=0.4)
        self.source = LiveSource(camera, microphone, 10.0, hold_s=0.3, retry_s=(0.05, 0.1))
        self._speaker = threading.Thread(target=self._speak, daemon=True)
        self._speaker.start()

    def items(self, duration_s: float) -> list[Frame | AudioBlock]:
        timer = threading.Timer(duration_s, self.stop.set)
        timer.start()
        items = list(self.source.items(self.stop))
        timer.join()
        self._speaker.join(timeout=5.0)
        return items

    def _capture(self, device: int | str) -> FakeCapture:
        self.captures.append(FakeCapture(device, present=self.camera_present))
        return self.captures[-1]

    def _speak(self) -> None:
        while not self.stop.wait(BLOCK_S):
            started = [stream for stream in self.backend.streams if stream.state == "started"]
            if started and not self.mute.is_set():
                started[-1].hear(np.zeros(round(16000 * BLOCK_S), np.float32))


def in_order(items: list[Frame | AudioBlock]) -> bool:
    return all(a.time_s <= b.time_s for a, b in itertools.pairwise(items))


def test_both_devices_in_order_on_one_clock() -> None:
    house = Household()
    at_once: list[Frame | AudioBlock] = []
    house.source.overhear(at_once.append)
    house.source.oversee(at_once.append)
    begin_s = time.monotonic()
    items = house.items(1.5)
    took_s = time.monotonic() - begin_s
    pictures = [item for item in items if isinstance(item, Frame)]
    sounds = [item for item in items if isinstance(item, AudioBlock)]
    assert in_order(items) and items[0].time_s >= 0.0 and items[-1].time_s <= took_s
    assert 8 <= len(pictures) <= 16 and 8 <= len(sounds) <= 16
    assert house.source.late_items == 0
    assert {id(item) for item in items} <= {id(item) for item in at_once}
    assert not [thread for thread in threading.enumerate() if thread.name == "camera"]
    assert all(stream.state == "closed" for stream in house.backend.streams)


def test_goes_on_without_a_camera_and_says_so() -> None:
    house = Household(camera_present=False)
    items = house.items(1.0)
    assert items and all(isinstance(item, AudioBlock) for item in items)
    assert "camera 0" in house.source.state()["camera"] and len(house.captures) > 3


def test_goes_on_without_a_microphone_and_says_so() -> None:
    house = Household(devices=0)
    items = house.items(1.0)
    assert items and all(isinstance(item, Frame) for item in items)
    assert "microphone default" in house.source.state()["microphone"]


def test_a_camera_plugged_in_later_is_used() -> None:
    house = Household(camera_present=False)
    threading.Timer(0.4, lambda: setattr(house, "camera_present", True)).start()
    pictures = [item for item in house.items(1.5) if isinstance(item, Frame)]
    assert pictures and pictures[0].time_s > 0.3


def test_a_microphone_that_falls_silent_is_opened_again() -> None:
    house = Household()
    threading.Timer(0.4, house.mute.set).start()
    threading.Timer(1.0, house.mute.clear).start()
    items = house.items(2.0)
    times = [item.time_s for item in items if isinstance(item, AudioBlock)]
    assert len(house.backend.streams) > 1 and max(np.diff(times)) > 0.4 and times[-1] > 1.2
    assert in_order(items)


def consume_slowly(items: Iterator[Frame | AudioBlock]) -> list[Frame | AudioBlock]:
    taken = [next(items)]
    time.sleep(1.0)
    return taken + list(items)


def test_a_slow_reader_loses_pictures_but_no_sound() -> None:
    house = Household()
    threading.Timer(2.2, house.stop.set).start()
    items = consume_slowly(house.source.items(house.stop))
    times = [item.time_s for item in items if isinstance(item, AudioBlock)]
    assert in_order(items) and max(np.diff(times)) < 2.5 * BLOCK_S


def test_no_device_at_all_is_refused() -> None:
    with pytest.raises(DriverError, match="at least one"):
        LiveSource(None, None)
