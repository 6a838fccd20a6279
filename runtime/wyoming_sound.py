"""Sound in the Wyoming protocol: 16-bit samples in events, in and out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.event import Event

from drivers.resample import Resampler
from runtime.hear import SAMPLE_RATE_HZ
from runtime.wyoming_wire import BadMessage

_CHUNK_S = 0.1
_RATES_HZ = (8000, 48_000)
_MOST_CHANNELS = 8


class SoundCollector:
    """Gathers the audio-chunk events of one stream into mono sound at one rate; at most `longest_s` seconds."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._pieces: list[NDArray[np.float32]] = []
        self._rate_hz = 0
        self._samples = 0

    def add(self, event: Event) -> None:
        """Take one audio-chunk. Raises BadMessage for sound of another kind than 16 bit, and for too much of it."""
        rate_hz, channels = _kind(event)
        if self._rate_hz not in (0, rate_hz):
            raise BadMessage(f"sound whose rate changes from {self._rate_hz} to {rate_hz} Hz")
        self._rate_hz = rate_hz
        payload = event.payload or b""
        if len(payload) % (2 * channels):
            raise BadMessage(f"{len(payload)} bytes are no whole samples of {channels} channels of 16 bits")
        whole = np.frombuffer(payload, dtype="<i2").astype(np.float32) / 32768.0
        self._pieces.append(whole.reshape(-1, channels).mean(axis=1))
        self._samples += len(self._pieces[-1])
        if self._samples > self._longest_s * rate_hz:
            raise BadMessage(f"more than {self._longest_s:g} s of sound in one piece")

    @property
    def rate_hz(self) -> int:
        """Of what was added; 0 before."""
        return self._rate_hz

    def whole(self) -> NDArray[np.float32]:
        """All of it (n,), in [-1, 1], at its own rate."""
        return np.concatenate([np.zeros(0, dtype=np.float32), *self._pieces])

    def at_16_khz(self) -> NDArray[np.float32]:
        """All of it (n,), in [-1, 1], at 16 kHz."""
        samples = self.whole()
        if self._rate_hz in (0, SAMPLE_RATE_HZ) or not samples.size:
            return samples
        resampler = Resampler(self._rate_hz, SAMPLE_RATE_HZ)
        sound = np.concatenate([resampler.push(samples), resampler.flush()])
        return np.asarray(np.clip(sound, -1.0, 1.0), dtype=np.float32)


def sound_start(rate_hz: int) -> Event:
    """The event before mono sound of 16 bits."""
    return AudioStart(rate=rate_hz, width=2, channels=1).event()


def sound_chunks(samples: NDArray[np.float32], rate_hz: int) -> Iterator[Event]:
    """Mono sound (n,) in [-1, 1] as events of a tenth of a second."""
    pcm = (np.clip(samples, -1.0, 1.0) * 32767).astype("<i2")
    size = round(_CHUNK_S * rate_hz)
    for at in range(0, len(pcm), size):
        yield AudioChunk(rate=rate_hz, width=2, channels=1, audio=pcm[at : at + size].tobytes()).event()


def sound_stop() -> Event:
    """The event after it."""
    return AudioStop().event()


def _kind(event: Event) -> tuple[int, int]:
    """Rate and channels."""
    rate_hz, width, channels = (event.data.get(key) for key in ("rate", "width", "channels"))
    if not isinstance(rate_hz, int) or not _RATES_HZ[0] <= rate_hz <= _RATES_HZ[1]:
        raise BadMessage(
            f"sound at rate {rate_hz!r}: from {_RATES_HZ[0]} to {_RATES_HZ[1]} Hz are understood"
        )
    if width != 2:
        raise BadMessage(f"sound of width {width!r}: only 2 bytes a sample are understood")
    if not isinstance(channels, int) or not 1 <= channels <= _MOST_CHANNELS:
        raise BadMessage(f"sound of {channels!r} channels: from 1 to {_MOST_CHANNELS} are understood")
    return rate_hz, channels
