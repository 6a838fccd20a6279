"""The camera's contract, over a scripted capture and over a real device where there is one."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from drivers.camera import Camera
from drivers.media import DriverError, StaleFrame
from tests.fake_devices import FakeCapture, ManualClock, wait_until

DEVICES = sorted(Path("/dev").glob("video*"))


class Bench:
    """Cameras on scripted captures; the newest capture is `captures[-1]`."""

    def __init__(self) -> None:
        self.captures: list[FakeCapture] = []
        self.clock = ManualClock()
        self.plugged = True

    def open_capture(self, device: int | str) -> FakeCapture:
        self.captures.append(FakeCapture(device, present=self.plugged))
        return self.captures[-1]

    def camera(self) -> Camera:
        return Camera(
            0,
            width=64,
            height=48,
            rate_hz=30,
            open_capture=self.open_capture,
            clock=self.clock,
            lost_after_s=3.0,
            frozen_after_s=10.0,
            retry_s=(0.01, 0.02),
        )


@pytest.fixture
def bench() -> Bench:
    return Bench()


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "camera"]


@pytest.fixture(params=["scripted", "real"])
def any_camera(request: pytest.FixtureRequest, bench: Bench) -> Iterator[Camera]:
    if request.param == "real" and not DEVICES:
        pytest.skip("no /dev/video* on this machine")
    number = int(DEVICES[0].name.removeprefix("video")) if DEVICES else 0
    camera = (
        bench.camera() if request.param == "scripted" else Camera(number, width=640, height=480, rate_hz=15)
    )
    yield camera
    camera.close()


def has_frame(camera: Camera) -> Callable[[], bool]:
    def check() -> bool:
        try:
            camera.latest(10.0)
        except StaleFrame:
            return False
        return True

    return check


def test_gives_the_newest_frame(any_camera: Camera) -> None:
    any_camera.open()
    wait_until(has_frame(any_camera), 20.0)
    frame = any_camera.latest(10.0)
    assert frame.image.dtype == np.uint8 and frame.image.ndim == 3 and frame.image.shape[2] == 3
    assert any_camera.state == "ok"
    wait_until(lambda: not np.array_equal(any_camera.latest(10.0).image, frame.image), 20.0)
    assert any_camera.latest(10.0).time_s >= frame.time_s


def test_open_and_close_from_any_state(any_camera: Camera) -> None:
    any_camera.close()
    with pytest.raises(DriverError, match="is not open"):
        any_camera.latest(1.0)
    for _ in range(2):
        any_camera.open()
        any_camera.open()
        assert len(threads()) == 1
        any_camera.close()
        any_camera.close()
        assert not threads() and any_camera.state == "lost"


def test_a_stale_frame_is_refused(bench: Bench) -> None:
    camera = bench.camera()
    camera.open()
    wait_until(has_frame(camera))
    bench.captures[-1].unplugged = True
    wait_until(lambda: bench.clock.now_s > 0)
    bench.clock.now_s += 1.0
    pause = threading.Event()
    pause.wait(0.05)
    with pytest.raises(StaleFrame, match=r"1\.00 s old"):
        camera.latest(0.5)
    assert camera.latest(1.5).image.shape == (48, 64, 3)
    camera.close()


def test_an_unplugged_camera_is_lost_and_comes_back(bench: Bench) -> None:
    camera = bench.camera()
    camera.open()
    wait_until(has_frame(camera))
    bench.plugged = False
    bench.captures[-1].unplugged = True
    threading.Event().wait(0.05)
    bench.clock.now_s += 4.0
    wait_until(lambda: len(bench.captures) > 3)
    assert camera.state == "lost"
    with pytest.raises(StaleFrame, match="lost"):
        camera.latest(60.0)
    bench.plugged = True
    wait_until(lambda: camera.state == "ok")
    assert all(capture.released for capture in bench.captures[:-1])
    camera.close()
    assert bench.captures[-1].released


def test_the_same_bytes_for_long_are_frozen_and_the_camera_is_opened_again(bench: Bench) -> None:
    camera = bench.camera()
    camera.open()
    wait_until(has_frame(camera))
    first = bench.captures[-1]
    first.frozen = True
    threading.Event().wait(0.05)
    for _ in range(5):
        assert camera.state == "ok"
        bench.clock.now_s += 2.0
        threading.Event().wait(0.03)
    bench.clock.now_s += 0.5
    wait_until(lambda: first.released)
    wait_until(lambda: len(bench.captures) > 1 and camera.state == "ok")
    camera.close()


def test_frozen_is_a_state_and_its_frames_are_refused(bench: Bench) -> None:
    camera = bench.camera()
    camera._retry_s = (60.0,)  # stay in the state
    camera.open()
    wait_until(has_frame(camera))
    bench.captures[-1].frozen = True
    threading.Event().wait(0.05)
    for _ in range(6):
        bench.clock.now_s += 2.0
        threading.Event().wait(0.03)
    assert camera.state == "frozen"
    with pytest.raises(StaleFrame, match="frozen"):
        camera.latest(60.0)
    camera.close()
    assert not threads()


def test_settings_reach_the_device(bench: Bench) -> None:
    camera = bench.camera()
    camera.open()
    settings = bench.captures[-1].settings
    assert settings[cv2.CAP_PROP_FRAME_WIDTH] == 64 and settings[cv2.CAP_PROP_FPS] == 30
    camera.close()


def test_a_camera_that_is_not_there_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    camera = Camera(77, width=640, height=480, rate_hz=5)
    with pytest.raises(DriverError) as caught:
        camera.open()
    message = str(caught.value)
    assert "camera 77" in message and "/dev/video" in message and "\n" not in message
    assert all(str(device) in message for device in DEVICES)
    assert capfd.readouterr().err == "" and not threads()


def test_an_index_may_be_written_as_text(bench: Bench) -> None:
    camera = Camera("3", width=64, height=48, rate_hz=5, open_capture=bench.open_capture)
    camera.open()
    camera.close()
    assert bench.captures[0].device == 3
