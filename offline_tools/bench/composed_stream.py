"""A visitors stream composed from photographs and read speech of people that no threshold was chosen on.

Every appearance of a person shows another photograph of theirs, taken on another day: harder than a camera that
watches one evening.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from offline_tools.bench.report import media
from offline_tools.media_writer import write_mp4

RATE_HZ = 10
SAMPLE_RATE_HZ = 16000
PAUSE_S = 0.6
LONGEST_S = 6.0


@dataclass(frozen=True)
class Appearance:
    """One photograph in view while one utterance is heard."""

    person: str
    photo: Path
    sound: Path
    transcript: str


def compose(directory: Path, seed: int) -> Path:
    """Write stream.mp4 and stream.gt.json; the same seed gives the same people in the same order."""
    draw = random.Random(seed)
    spoken = _read_speech()
    speakers = sorted(spoken)
    faces = sorted(path for path in media("faces/lfw").iterdir() if path.is_dir())
    people = dict(zip(speakers, draw.sample(faces, len(speakers)), strict=True))
    appearances = []
    for speaker, photos in people.items():
        pictures = draw.sample(sorted(photos.glob("*.jpg")), 4)
        for picture, (sound, text) in zip(pictures, draw.sample(spoken[speaker], 4), strict=True):
            appearances.append(Appearance(photos.name, picture, sound, text))
    draw.shuffle(appearances)
    pieces: list[NDArray[np.float32]] = []
    segments: list[dict[str, object]] = []
    now_s = 0.0
    for appearance in appearances:
        samples = _decoded(appearance.sound)
        whole = len(samples) <= LONGEST_S * SAMPLE_RATE_HZ
        samples = samples[: int(LONGEST_S * SAMPLE_RATE_HZ)]
        length = round((len(samples) / SAMPLE_RATE_HZ + 2 * PAUSE_S) * RATE_HZ) * SAMPLE_RATE_HZ // RATE_HZ
        piece = np.zeros(length, dtype=np.float32)
        piece[int(PAUSE_S * SAMPLE_RATE_HZ) :][: len(samples)] = samples
        pieces.append(piece)
        end_s = now_s + length / SAMPLE_RATE_HZ
        text = appearance.transcript if whole else ""
        segments.append(
            {"start_s": now_s, "end_s": end_s, "person": appearance.person, "transcript": text.lower()}
        )
        now_s = end_s
    stream = directory / "stream.mp4"
    write_mp4(stream, _pictures(appearances, pieces), RATE_HZ, np.concatenate(pieces), SAMPLE_RATE_HZ)
    stream.with_suffix(".gt.json").write_text(
        json.dumps({"duration_s": now_s, "segments": segments}), "utf-8"
    )
    return stream


def _pictures(
    appearances: list[Appearance], pieces: list[NDArray[np.float32]]
) -> Iterator[NDArray[np.uint8]]:
    for appearance, piece in zip(appearances, pieces, strict=True):
        read = np.asarray(cv2.imread(str(appearance.photo)), dtype=np.uint8)
        photo = cv2.resize(_middle(read), (360, 360), interpolation=cv2.INTER_CUBIC)
        for number in range(len(piece) * RATE_HZ // SAMPLE_RATE_HZ):
            canvas = np.full((360, 480, 3), 110, dtype=np.uint8)
            left = 60 + round(8 * np.sin(number / 7))
            canvas[:, left : left + 360] = photo
            yield canvas


def _middle(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The middle of a photograph, around the face that it is of: bystanders stand at the edge."""
    rows, columns = (slice(round(0.22 * size), round(0.78 * size)) for size in picture.shape[:2])
    return picture[rows, columns]


def _read_speech() -> dict[str, list[tuple[Path, str]]]:
    root = media("speech/librispeech")
    spoken: dict[str, list[tuple[Path, str]]] = {}
    for line in (root / "transcripts.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        name, speaker, _, text = line.split("\t")
        path = root / speaker / f"{name}.flac"
        if path.exists():
            spoken.setdefault(speaker, []).append((path, text))
    return spoken


def _decoded(path: Path) -> NDArray[np.float32]:
    resampler = av.AudioResampler("flt", "mono", SAMPLE_RATE_HZ)
    with av.open(str(path)) as container:
        frames = [out for frame in container.decode(audio=0) for out in resampler.resample(frame)]
    return np.concatenate([frame.to_ndarray().reshape(-1) for frame in frames])
