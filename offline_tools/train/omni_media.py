"""Pictures, frames and sound of a training row, read from their files as Qwen2.5-Omni's encoders take them.

The patches are those of transformers' own image processor without torchvision (which does not import beside every
torch); pairing frames into a video's patches, for which there is no such processor, is done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import av.error
import cv2
import numpy as np
from numpy.typing import NDArray

from offline_tools.train.errors import TrainingError
from offline_tools.train.sft_recipe import MediaRecipe

SOUND_RATE_HZ = 16_000
STRETCH_S = 30  # of sound that llama.cpp's encoder takes at once, filled up with silence
STRETCH_TOKENS = 750
Picture = NDArray[np.uint8]  # (height, width, 3), RGB


@dataclass(frozen=True)
class Patches:
    """values: (patches, channels * 2 * side * side); grid: temporal patches, rows and columns of patches."""

    values: NDArray[np.float32]
    grid: tuple[int, int, int]

    def tokens(self, merge: int) -> int:
        """How many tokens of the language model they become; merge: patches merged along each side."""
        return self.grid[0] * self.grid[1] * self.grid[2] // merge**2


class VisionPatches:
    """Turns pictures into patches. Sizes in pixels; `pixels`: the most of one picture."""

    def __init__(self, *, side: int, frames: int, merge: int, pixels: int) -> None:
        from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

        self._side, self._frames = side, frames
        self.merge = merge
        self._processor: Any = Qwen2VLImageProcessorPil(
            patch_size=side,
            temporal_patch_size=frames,
            merge_size=merge,
            max_pixels=pixels,
            min_pixels=56 * 56,
        )

    def picture(self, picture: Picture) -> Patches:
        """One picture; in time it is shown twice, as Qwen's processor does."""
        made = self._processor(images=[picture], return_tensors="np")
        rows, columns = (int(number) for number in made["image_grid_thw"][0][1:])
        return Patches(np.asarray(made["pixel_values"], np.float32), (1, rows, columns))

    def video(self, frames: Sequence[Picture]) -> Patches:
        """Frames of one size, paired; the last one is repeated where they do not come out even."""
        short = -len(frames) % self._frames
        single = [self.picture(frame) for frame in [*frames, *([frames[-1]] * short)]]
        shape = (len(single[0].values), -1, self._frames, self._side, self._side)
        first = [one.values.reshape(shape)[:, :, 0] for one in single]  # its repetition in time is left out
        pairs = [
            np.stack(first[at : at + self._frames], axis=2).reshape(shape[0], -1)
            for at in range(0, len(first), self._frames)
        ]
        return Patches(np.concatenate(pairs), (len(pairs), *single[0].grid[1:]))


def picture_of(path: Path) -> Picture:
    """An image file. Raises TrainingError where it cannot be decoded."""
    try:
        found = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
    except (OSError, cv2.error) as error:
        raise TrainingError(f"the picture {path} cannot be read: {error}") from error
    if found is None:
        raise TrainingError(f"the picture {path} cannot be decoded")
    return np.ascontiguousarray(found[:, :, ::-1])


def frames_of(path: Path, recipe: MediaRecipe) -> list[Picture]:
    """Frames of a video at the recipe's rate, thinned out evenly where they are more than it allows."""
    frames: list[Picture] = []
    try:
        with av.open(str(path)) as container:
            next_s = 0.0
            for frame in container.decode(video=0):
                time_s = frame.time or 0.0
                if time_s + 1e-6 >= next_s:
                    frames.append(frame.to_ndarray(format="rgb24").astype(np.uint8, copy=False))
                    next_s += 1.0 / recipe.frame_rate_hz
    except (av.error.FFmpegError, OSError, IndexError, ValueError) as error:
        raise TrainingError(f"the video {path} cannot be read: {error}") from error
    if not frames:
        raise TrainingError(f"the video {path} holds no picture")
    if len(frames) <= recipe.frames:
        return frames
    kept = np.linspace(0, len(frames) - 1, recipe.frames).round().astype(int)
    return [frames[at] for at in kept]


def sound_of(path: Path, most_s: float) -> NDArray[np.float32]:
    """Sound as float32 mono at 16 kHz in [-1, 1], its beginning where it is longer than most_s."""
    most = int(most_s * SOUND_RATE_HZ)
    parts: list[NDArray[np.float32]] = []
    count = 0
    try:
        with av.open(str(path)) as container:
            resampler = av.AudioResampler(format="flt", layout="mono", rate=SOUND_RATE_HZ)
            for frame in [*container.decode(audio=0), None]:
                for piece in resampler.resample(frame):
                    parts.append(piece.to_ndarray().reshape(-1).astype(np.float32, copy=False))
                    count += len(parts[-1])
                if count >= most:
                    break
    except (av.error.FFmpegError, OSError, IndexError, ValueError) as error:
        raise TrainingError(f"the sound {path} cannot be read: {error}") from error
    if not count:
        raise TrainingError(f"the sound {path} is empty")
    return np.concatenate(parts)[:most]


def filled_up(sound: NDArray[np.float32]) -> NDArray[np.float32]:
    """Silence after it, up to whole stretches of 30 s."""
    return np.pad(sound, (0, -len(sound) % (STRETCH_S * SOUND_RATE_HZ)))


def sound_tokens(mel_frames: int) -> int:
    """Tokens of so many log-mel frames (Qwen2.5-Omni's audio encoder: two convolutions and a pooling)."""
    return ((mel_frames - 1) // 2 + 1 - 2) // 2 + 1
