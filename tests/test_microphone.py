"""The microphone's contract: order, counted losses, gaps, other rates, and what is said without PortAudio."""

import threading
from ctypes.util import find_library

import numpy as np
import pytest

from drivers.media import DriverError
from drivers.microphone import Microphone
from tests.fake_devices import FakePortAudio, ManualClock
from tests.recordings import tone

HALF_S = 8000


def rig(**settings: float) -> tuple[Microphone, FakePortAudio, ManualClock]:
    backend, clock = FakePortAudio(), ManualClock()
    ring_s = settings.get("ring_s", 60.0)
    return Microphone(None, ring_s=ring_s, backend=backend, clock=clock), backend, clock


def hear(backend: FakePortAudio, clock: ManualClock, value: float) -> None:
    clock.now_s += 0.5
    backend.streams[-1].hear(np.full(HALF_S, value, np.float32))


def test_blocks_come_in_order_with_their_times() -> None:
    microphone, backend, clock = rig()
    microphone.open()
    for value in (0.1, 0.2, 0.3):
        hear(backend, clock, value)
    blocks = [microphone.read(0.0) for _ in range(4)]
    assert blocks[3] is None
    heard = [block for block in blocks if block is not None]
    assert [block.time_s for block in heard] == [pytest.approx(100.0 + k / 2) for k in range(3)]
    assert [float(block.samples.mean()) for block in heard] == [pytest.approx(v) for v in (0.1, 0.2, 0.3)]
    assert all(b.samples.dtype == np.float32 and b.samples.shape == (HALF_S,) for b in heard)
    assert microphone.dropped_samples == 0 and microphone.state == "ok"


def test_read_waits_no_longer_than_told_and_wakes_for_a_block() -> None:
    microphone, backend, clock = rig()
    microphone.open()
    assert microphone.read(0.01) is None
    later = threading.Timer(0.05, hear, (backend, clock, 0.1))
    later.start()
    assert microphone.read(5.0) is not None
    later.join()


def test_a_full_ring_drops_the_oldest_and_counts() -> None:
    microphone, backend, clock = rig(ring_s=1.0)
    microphone.open()
    for value in (0.1, 0.2, 0.3, 0.4):
        hear(backend, clock, value)
    assert microphone.dropped_samples == 2 * HALF_S
    block = microphone.read(0.0)
    assert block is not None and block.time_s == pytest.approx(101.0)


def test_jitter_leaves_no_holes_and_lost_sound_does() -> None:
    microphone, backend, clock = rig()
    microphone.open()
    for jitter_s in (0.0, 0.04, -0.05, 0.02, -0.01):
        clock.now_s += jitter_s
        hear(backend, clock, 0.1)
    blocks = [block for _ in range(5) if (block := microphone.read(0.0)) is not None]
    steps = np.diff([block.time_s for block in blocks])
    assert np.abs(steps - 0.5).max() < 0.002
    clock.now_s += 2.0
    hear(backend, clock, 0.1)
    block = microphone.read(0.0)
    assert block is not None and block.time_s - blocks[-1].time_s == pytest.approx(2.5, abs=0.06)
    assert microphone.dropped_samples == pytest.approx(2.0 * 16000, abs=1000)


def test_a_device_with_another_rate_is_resampled() -> None:
    backend, clock = FakePortAudio(rates_hz=(44100,)), ManualClock()
    microphone = Microphone(None, backend=backend, clock=clock)
    microphone.open()
    sound = tone(2.0, 44100)
    for piece in np.split(sound, 4):
        clock.now_s += 0.5
        backend.streams[-1].hear(piece)
    heard = np.concatenate([block.samples for _ in range(4) if (block := microphone.read(0.0)) is not None])
    assert heard.size == pytest.approx(32000, abs=64)
    spectrum = np.abs(np.fft.rfft(heard * np.hanning(heard.size)))
    assert spectrum.argmax() * 16000 / heard.size == pytest.approx(440, abs=1)


def test_silence_from_the_device_is_lost_and_opening_again_helps() -> None:
    microphone, backend, clock = rig()
    assert microphone.state == "lost"
    microphone.open()
    hear(backend, clock, 0.1)
    clock.now_s += 4.0
    assert microphone.state == "lost"
    microphone.close()
    microphone.open()
    assert microphone.state == "ok" and backend.streams[0].state == "closed" and len(backend.streams) == 2


def test_close_from_any_state_keeps_what_was_heard() -> None:
    microphone, backend, clock = rig()
    microphone.close()
    microphone.open()
    microphone.open()
    hear(backend, clock, 0.1)
    microphone.close()
    microphone.close()
    assert microphone.read(0.0) is not None and len(backend.streams) == 1


@pytest.mark.parametrize(
    ("device", "devices", "words"), [(None, 0, "none"), (5, 2, "card 1"), ("usb", 1, "card 0")]
)
def test_a_device_that_is_not_there_is_named(device: int | str | None, devices: int, words: str) -> None:
    microphone = Microphone(device, backend=FakePortAudio(devices=devices))
    with pytest.raises(DriverError) as caught:
        microphone.open()
    message = str(caught.value)
    assert f"microphone {'default' if device is None else device}" in message and words in message
    assert "\n" not in message


@pytest.mark.skipif(find_library("portaudio") is not None, reason="PortAudio is installed here")
def test_without_portaudio_one_sentence_says_what_to_install() -> None:
    with pytest.raises(DriverError, match="install libportaudio2"):
        Microphone(None).open()


@pytest.mark.skipif(find_library("portaudio") is None, reason="PortAudio is not installed here")
def test_a_real_device() -> None:
    microphone = Microphone(None)
    try:
        microphone.open()
    except DriverError as error:
        pytest.skip(f"no recording device: {error}")
    block = microphone.read(5.0)
    microphone.close()
    assert block is not None and block.samples.dtype == np.float32
