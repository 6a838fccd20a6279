"""The speaker's contract, and what is said without a device or without PortAudio."""

from ctypes.util import find_library

import numpy as np
import pytest

from drivers.media import DriverError
from drivers.speaker import Speaker
from tests.fake_devices import FakePortAudio
from tests.recordings import tone


def test_plays_what_it_is_given_within_bounds() -> None:
    backend = FakePortAudio()
    loud = tone(0.1, 22050) * 4
    loud[0] = np.nan
    Speaker(backend=backend).play(loud, 22050)
    played, rate_hz = backend.played[0]
    assert rate_hz == 22050 and played.dtype == np.float32 and played.size == loud.size
    assert np.all(np.abs(played) <= 1.0)


def test_what_is_played_is_told_with_the_time_at_which_it_begins() -> None:
    told: list[tuple[int, int, float]] = []
    speaker = Speaker(
        backend=FakePortAudio(),
        on_play=lambda samples, rate_hz, start_s: told.append((samples.size, rate_hz, start_s)),
        clock=lambda: 12.5,
    )
    speaker.play(tone(0.1, 22050), 22050)
    speaker.play(np.zeros(0, np.float32), 22050)
    assert told == [(2205, 22050, 12.5)]


def test_nothing_to_say_needs_no_device() -> None:
    Speaker().play(np.zeros(0, np.float32), 16000)


def test_stereo_is_refused() -> None:
    with pytest.raises(DriverError, match=r"\(100, 2\)"):
        Speaker(backend=FakePortAudio()).play(np.zeros((100, 2), np.float32), 16000)


@pytest.mark.parametrize(("device", "devices"), [(None, 0), (4, 1), ("usb", 2)])
def test_a_device_that_is_not_there_is_named(device: int | str | None, devices: int) -> None:
    with pytest.raises(DriverError, match=f"speaker {'default' if device is None else device}: cannot play"):
        Speaker(device, backend=FakePortAudio(devices=devices)).play(tone(0.1), 16000)


def test_stop_reaches_the_device() -> None:
    backend = FakePortAudio()
    Speaker(backend=backend).stop()
    assert backend.stopped == 1


@pytest.mark.skipif(find_library("portaudio") is not None, reason="PortAudio is installed here")
def test_without_portaudio_one_sentence_says_what_to_install() -> None:
    with pytest.raises(DriverError, match="install libportaudio2"):
        Speaker().play(tone(0.1), 16000)
