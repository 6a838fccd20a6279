"""Another day with the same visitors: a stream's segments in another order, light, sharpness and loudness."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.media import Frame
from drivers.replay import Replay
from offline_tools.bench.attribution import TrueSegment
from offline_tools.media_writer import write_mp4

RATE_HZ = 5
SAMPLE_RATE_HZ = 16000


@dataclass(frozen=True, eq=False)
class Footage:
    """What one segment showed, (h, w, 3) at RATE_HZ, and let hear, (n,) at 16 kHz."""

    segment: TrueSegment
    pictures: tuple[NDArray[np.uint8], ...]
    samples: NDArray[np.float32]


@dataclass(frozen=True)
class Conditions:
    """How a segment is changed: light added after a gain and a gamma, blur in pixels, loudness."""

    contrast: float
    gamma: float
    brightness: float
    blur_px: float
    loudness: float


def footage(stream: Path, truth: Sequence[TrueSegment]) -> list[Footage]:
    """Cut a stream along its segments."""
    pictures: list[tuple[float, NDArray[np.uint8]]] = []
    sound: list[NDArray[np.float32]] = []
    for item in Replay(stream, frame_rate_hz=RATE_HZ, sample_rate_hz=SAMPLE_RATE_HZ).items():
        if isinstance(item, Frame):
            pictures.append((item.time_s, item.image))
        else:
            sound.append(item.samples)
    samples = np.concatenate(sound)
    cut = []
    for segment in truth:
        wanted = round((segment.end_s - segment.start_s) * RATE_HZ)
        shown = tuple(
            image for time_s, image in pictures if segment.start_s - 1e-3 <= time_s < segment.end_s - 1e-3
        )
        first = round(segment.start_s * SAMPLE_RATE_HZ)
        heard = samples[first : first + wanted * SAMPLE_RATE_HZ // RATE_HZ]
        cut.append(Footage(segment, (shown + shown[-1:] * wanted)[:wanted], heard))
    return cut


def conditions(day: int, count: int, seed: int) -> list[Conditions]:
    """One light for the day, its own blur and loudness for each segment; day 0 is as it was filmed."""
    if day == 0:
        return [Conditions(1.0, 1.0, 0.0, 0.0, 1.0)] * count
    draw = random.Random(f"{seed}/{day}")
    contrast, gamma = draw.uniform(0.6, 1.15), draw.uniform(0.7, 1.5)
    brightness = draw.uniform(-15.0, 15.0)
    return [
        Conditions(
            contrast,
            gamma,
            brightness,
            draw.choice((0.0, 0.0, 0.6, 1.0, 1.5)),
            10 ** (draw.uniform(-12.0, 4.0) / 20),
        )
        for _ in range(count)
    ]


def compose_day(cut: Sequence[Footage], day: int, seed: int, path: Path) -> list[TrueSegment]:
    """Write the day to `path`; who is in it when. The same seed and day give the same bytes."""
    order = list(range(len(cut)))
    if day:
        random.Random(f"{seed}/order/{day}").shuffle(order)
    changes = conditions(day, len(cut), seed)
    truth, sound, now_s = [], [], 0.0
    for index, change in zip(order, changes, strict=True):
        piece = cut[index]
        length_s = len(piece.pictures) / RATE_HZ
        heard = np.zeros(round(length_s * SAMPLE_RATE_HZ), dtype=np.float32)
        heard[: len(piece.samples)] = piece.samples
        sound.append(np.clip(heard * change.loudness, -1.0, 1.0).astype(np.float32))
        truth.append(TrueSegment(now_s, now_s + length_s, piece.segment.person, piece.segment.transcript))
        now_s += length_s
    write_mp4(
        path,
        _pictures([cut[index] for index in order], changes),
        RATE_HZ,
        np.concatenate(sound),
        SAMPLE_RATE_HZ,
    )
    return truth


def changed(image: NDArray[np.uint8], change: Conditions) -> NDArray[np.uint8]:
    """The picture under other conditions."""
    levels = 255.0 * (np.arange(256) / 255.0) ** change.gamma * change.contrast + change.brightness
    lit = cv2.LUT(image, np.clip(levels, 0, 255).astype(np.uint8))
    if change.blur_px > 0:
        lit = cv2.GaussianBlur(lit, (0, 0), change.blur_px)
    return np.asarray(lit, dtype=np.uint8)


def _pictures(cut: Sequence[Footage], changes: Sequence[Conditions]) -> Iterator[NDArray[np.uint8]]:
    for piece, change in zip(cut, changes, strict=True):
        for image in piece.pictures:
            yield changed(image, change)
