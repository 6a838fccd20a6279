"""The batch of Qwen2.5-Omni's thinker: TRL's collators know neither sound nor video, so this is the project's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offline_tools.chatml import MediaKind
from offline_tools.train.errors import TrainingError
from offline_tools.train.omni_media import (
    SOUND_RATE_HZ,
    Patches,
    VisionPatches,
    filled_up,
    frames_of,
    picture_of,
    sound_of,
    sound_tokens,
)
from offline_tools.train.sft_model import Loaded
from offline_tools.train.sft_recipe import MediaRecipe
from offline_tools.train.sft_tokens import IGNORED


@dataclass(frozen=True)
class OmniTokens:
    """Ids of the tokens that stand for media and of those around them."""

    image: int
    video: int
    audio: int
    vision_start: int
    vision_end: int
    audio_start: int
    audio_end: int
    texts: Mapping[int, str] = field(default_factory=dict)

    @staticmethod
    def of(loaded: Loaded) -> OmniTokens:
        """As the model's configuration names them. Raises TrainingError where it names none."""
        config = loaded.model.config
        try:
            ids = {
                "image": config.image_token_id,
                "video": config.video_token_id,
                "audio": config.audio_token_id,
                "vision_start": config.vision_start_token_id,
                "vision_end": config.vision_end_token_id,
                "audio_start": config.audio_start_token_id,
                "audio_end": config.audio_end_token_id,
            }
        except AttributeError as error:
            raise TrainingError(
                f"the configuration of {loaded.source} lacks a token of its media: {error}"
            ) from error
        return OmniTokens(
            **ids, texts={id: loaded.tokenizer.convert_ids_to_tokens(id) for id in ids.values()}
        )

    def place(self, kind: MediaKind) -> str:
        """The placeholder of a medium with its brackets, as text."""
        if kind == "audio":
            around: tuple[int, int, int] = (self.audio_start, self.audio, self.audio_end)
        else:
            around = (self.vision_start, self.video if kind == "video" else self.image, self.vision_end)
        return "".join(self.texts[id] for id in around)


@dataclass
class _Batch:
    """What fills up as the rows of a batch are read, in their order."""

    pictures: list[Patches] = field(default_factory=list)
    videos: list[Patches] = field(default_factory=list)
    sounds: list[NDArray[np.float32]] = field(default_factory=list)


class OmniCollator:
    """Turns prepared rows (omni_data.py) into the tensors that the thinker takes."""

    def __init__(self, loaded: Loaded, recipe: MediaRecipe) -> None:
        from transformers import WhisperFeatureExtractor

        vision, audio = loaded.model.config.vision_config, loaded.model.config.audio_config
        self._tokens = OmniTokens.of(loaded)
        self._recipe = recipe
        self._pad = loaded.tokenizer.pad_token_id
        self._patches = VisionPatches(
            side=vision.patch_size,
            frames=vision.temporal_patch_size,
            merge=vision.spatial_merge_size,
            pixels=recipe.pixels,
        )
        self._pair_s = vision.temporal_patch_size / recipe.frame_rate_hz
        self._mel = WhisperFeatureExtractor(feature_size=audio.num_mel_bins, chunk_length=300)

    def __call__(self, examples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        import torch

        batch = _Batch()
        filled = [self._filled(example, batch) for example in examples]
        longest = max(len(ids) for ids, _ in filled)
        shape = (len(filled), longest)
        tensors = {
            "input_ids": torch.full(shape, self._pad, dtype=torch.long),
            "labels": torch.full(shape, IGNORED, dtype=torch.long),
            "attention_mask": torch.zeros(shape, dtype=torch.long),
        }
        for at, (ids, labels) in enumerate(filled):
            tensors["input_ids"][at, : len(ids)] = torch.tensor(ids)
            tensors["labels"][at, : len(ids)] = torch.tensor(labels)
            tensors["attention_mask"][at, : len(ids)] = 1
        return tensors | self._media_tensors(batch)

    def _media_tensors(self, batch: _Batch) -> dict[str, Any]:
        import torch

        made: dict[str, Any] = {}
        if batch.pictures:
            made["pixel_values"] = torch.from_numpy(np.concatenate([one.values for one in batch.pictures]))
            made["image_grid_thw"] = torch.tensor([one.grid for one in batch.pictures])
        if batch.videos:
            made["pixel_values_videos"] = torch.from_numpy(
                np.concatenate([one.values for one in batch.videos])
            )
            made["video_grid_thw"] = torch.tensor([one.grid for one in batch.videos])
            made["video_second_per_grid"] = torch.full((len(batch.videos),), self._pair_s)
        if batch.sounds:
            mel = self._mel(
                batch.sounds,
                sampling_rate=SOUND_RATE_HZ,
                padding="longest",
                return_attention_mask=True,
                return_tensors="pt",
            )
            made["input_features"] = mel["input_features"]
            made["feature_attention_mask"] = mel["attention_mask"]
        return made

    def _filled(self, example: Mapping[str, Any], batch: _Batch) -> tuple[list[int], list[int]]:
        """A row's ids and labels with each placeholder grown to the tokens of its medium."""
        media = iter(json.loads(example["media"]))
        places = {self._tokens.image, self._tokens.video, self._tokens.audio}
        ids: list[int] = []
        labels: list[int] = []
        for token, label in zip(example["input_ids"], example["labels"], strict=True):
            grown = [token]
            if token in places:
                medium = next(media, None)
                if medium is None:
                    raise TrainingError(
                        f"row {example['id']}: its text holds {self._tokens.texts[token]} itself"
                    )
                grown = self._grown(medium["kind"], Path(medium["path"]), batch)
            ids += grown
            labels += [label] if len(grown) == 1 and token not in places else [IGNORED] * len(grown)
        return ids, labels

    def _grown(self, kind: MediaKind, path: Path, batch: _Batch) -> list[int]:
        tokens, merge = self._tokens, self._patches.merge
        if kind == "audio":
            sound = sound_of(path, self._recipe.sound_s)
            batch.sounds.append(filled_up(sound) if self._recipe.sound_as == "robot" else sound)
            return [tokens.audio] * sound_tokens(len(batch.sounds[-1]) // self._mel.hop_length)
        if kind == "image":
            batch.pictures.append(self._patches.picture(picture_of(path)))
            return [tokens.image] * batch.pictures[-1].tokens(merge)
        frames = frames_of(path, self._recipe)
        if self._recipe.video_as == "video":
            batch.videos.append(self._patches.video(frames))
            return [tokens.video] * batch.videos[-1].tokens(merge)
        grown: list[int] = []
        for frame in frames:
            batch.pictures.append(self._patches.picture(frame))
            between = [tokens.vision_end, tokens.vision_start] if grown else []
            grown += [*between, *[tokens.image] * batch.pictures[-1].tokens(merge)]
        return grown
