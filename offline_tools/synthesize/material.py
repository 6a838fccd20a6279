"""What there is of one remembered clip to make a training row from: frames, sound, faces and voices.

A replay has its video; a robot's own memory has the key frames and, with a model that hears, the sound it kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.media import Frame
from drivers.replay import Replay
from drivers.sound_file import decode_flac
from memory_store.records import Clip
from memory_store.store import MemoryStore
from memory_store.tags import Tag
from models.keyframes import encode_jpeg
from offline_tools.remembered import RememberedClip
from runtime.media_files import MediaFiles, portrait_name, sound_name

SAMPLE_RATE_HZ = 16000
FRAME_RATE_HZ = 5  # of a row's video; a model samples 1 or 2 of them a second
LONGEST_SIDE_PX = 640
MOST_FRAMES = 4  # that are captioned


@dataclass(frozen=True, eq=False)
class Sound:
    """Mono sound at 16 kHz, float32 (n,) in [-1, 1], the first sample heard at `start_s` of the clip's source."""

    start_s: float
    samples: NDArray[np.float32]

    def cut(self, start_s: float, end_s: float) -> NDArray[np.float32]:
        """The sound between two moments, as far as there is any."""
        first, last = (max(0, round((at - self.start_s) * SAMPLE_RATE_HZ)) for at in (start_s, end_s))
        return self.samples[first:last]


@dataclass(frozen=True, eq=False)
class Material:
    """One clip with its media. video: BGR pictures (h, w, 3) at FRAME_RATE_HZ, none of a memory; frames: JPEG."""

    told: RememberedClip
    frames: tuple[bytes, ...]
    video: tuple[NDArray[np.uint8], ...]
    sound: Sound | None
    faces: Mapping[Tag, bytes]
    voices: Mapping[Tag, NDArray[np.float32]]


class MemoryMaterial:
    """The clips of a memory with what the robot kept of them.

    clean: makes a picture one that may be used, since a face that was in view for a moment has no line.
    """

    def __init__(self, store: MemoryStore, data_dir: Path, clean: Callable[[bytes], bytes]) -> None:
        self._store = store
        self._files = MediaFiles(data_dir)
        self._clean = clean

    def of(self, told: RememberedClip) -> Material:
        """Raises MediaFileError, DriverError or OfflineToolError where a file is gone, damaged or cannot be used."""
        nodes = self._store.nodes(kinds=["image"], clip_id=told.clip.id)
        kept = [node for node in nodes if node.provenance.get("source") == "keyframe"]
        files = (self._files.read(str(node.provenance["file"]["path"])) for node in kept)
        frames = tuple(self._clean(jpeg) for jpeg in files)
        sound = self._sound(told.clip)
        return Material(told, frames, (), sound, portraits(self._files, told), spoken(told, sound))

    def _sound(self, clip: Clip) -> Sound | None:
        """A clip's sound ends where the clip ends; it may begin before it, with a sentence that was carried over."""
        data = self._files.find(sound_name(clip.id))
        if data is None:
            return None
        samples, rate_hz = decode_flac(data)
        return Sound(clip.media_end_s - len(samples) / rate_hz, samples)


class ReplayMaterial:
    """The clips of a video that was memorized, with the video's own pictures and sound."""

    def __init__(self, store: MemoryStore, data_dir: Path, video: Path) -> None:
        self._store = store
        self._files = MediaFiles(data_dir)
        self._replay = Replay(video, frame_rate_hz=FRAME_RATE_HZ)

    def of(self, told: RememberedClip) -> Material:
        """Raises DriverError where the video cannot be read any more."""
        start_s, end_s = told.clip.media_start_s, told.clip.media_end_s
        first_s = min([start_s, *(one.start_s for one in told.heard)])  # a sentence carried over began before
        pictures: list[NDArray[np.uint8]] = []
        sound = np.zeros(max(0, round((end_s - first_s) * SAMPLE_RATE_HZ)), np.float32)
        for item in self._replay.items(max(0.0, first_s - 0.5)):
            if item.time_s >= end_s:
                break
            if isinstance(item, Frame):
                if item.time_s >= start_s - 1e-6:
                    pictures.append(_small(item.image))
            else:
                _lay(sound, item.samples, round((item.time_s - first_s) * SAMPLE_RATE_HZ))
        heard = Sound(first_s, sound) if self._replay.info.has_audio and sound.size else None
        frames = tuple(encode_jpeg(one, longest_side_px=LONGEST_SIDE_PX) for one in _spread(pictures))
        faces = portraits(self._files, told)
        return Material(told, frames, tuple(pictures), heard, faces, spoken(told, heard))


def portraits(files: MediaFiles, told: RememberedClip) -> dict[Tag, bytes]:
    """The picture of each face in a clip's lines, where one was kept."""
    found = {tag: files.find(portrait_name(tag.node_id)) for tag in told.tags if tag.kind == "face"}
    return {tag: jpeg for tag, jpeg in found.items() if jpeg is not None}


def spoken(told: RememberedClip, sound: Sound | None) -> dict[Tag, NDArray[np.float32]]:
    """The longest utterance of each voice of a clip."""
    if sound is None:
        return {}
    longest: dict[Tag, NDArray[np.float32]] = {}
    for one in told.heard:
        if one.tag is None or one.tag.kind != "voice":
            continue
        samples = sound.cut(one.start_s, one.end_s)
        if samples.size > longest.get(one.tag, np.zeros(0)).size:
            longest[one.tag] = samples
    return longest


def _lay(sound: NDArray[np.float32], samples: NDArray[np.float32], at: int) -> None:
    """Put samples where they belong, as far as they fall inside."""
    first, last = max(0, at), min(sound.size, at + samples.size)
    if first < last:
        sound[first:last] = samples[first - at : last - at]


def _spread(pictures: list[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    """At most MOST_FRAMES pictures, from the middle of equal parts of the clip."""
    parts = min(MOST_FRAMES, len(pictures))
    for number in range(parts):
        yield pictures[(2 * number + 1) * len(pictures) // (2 * parts)]


def _small(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """At most LONGEST_SIDE_PX, with even sides, as H.264 wants them."""
    height, width = image.shape[:2]
    scale = min(1.0, LONGEST_SIDE_PX / max(height, width))
    size = (max(2, round(width * scale) // 2 * 2), max(2, round(height * scale) // 2 * 2))
    if size == (width, height):
        return image.copy()
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
