"""How a memory model is trained: a recipe file in YAML, read strictly, with every fault reported together."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from offline_tools.train.errors import TrainingError

RECIPES = Path(__file__).with_name("recipes")


class Block(BaseModel):
    """A part of a recipe: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class LoraRecipe(Block):
    """Low-rank adapters (arXiv 2106.09685) in place of all weights; `targets`: names of the layers that get them."""

    rank: int = Field(64, ge=1, le=1024)
    alpha: int = Field(128, ge=1)
    dropout: float = Field(0.0, ge=0, lt=1)
    targets: tuple[str, ...] = Field(
        ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"), min_length=1
    )


class MediaRecipe(Block):
    """How a model with senses is shown a clip.

    video_as: "images" shows frames as pictures, as the robot's own process does; "video" pairs them, as Qwen2.5-Omni
    was trained, with half the tokens. pixels: most pixels of one picture.
    sound_as: "robot" fills sound up to whole stretches of 30 s, each attended to as one, as llama.cpp computes it;
    "qwen" keeps its length and the windows of 2 s that Qwen trained with, which the robot's process does not know.
    """

    video_as: Literal["images", "video"] = "images"
    frame_rate_hz: float = Field(1.0, gt=0, le=30)
    frames: int = Field(16, ge=2, le=768)
    pixels: int = Field(200_704, ge=3136)
    sound_as: Literal["robot", "qwen"] = "robot"
    sound_s: float = Field(30.0, gt=0, le=300)
    train_encoders: bool = False


class SftRecipe(Block):
    """The defaults are the paper's (arXiv 2508.09736, appendix on training): 3 epochs, lr 1e-5, batch 16.

    batch: rows of one step over all devices; batch_per_device: of these at once on each, the rest by accumulation.
    gpus, gpu_memory_gb: what the recipe was reckoned for, printed and compared with what is there.
    """

    method: Literal["full", "lora"] = "full"
    epochs: float = Field(3.0, gt=0)
    learning_rate: float = Field(1e-5, gt=0, lt=1)
    batch: int = Field(16, ge=1)
    batch_per_device: int = Field(1, ge=1)
    schedule: Literal["constant", "linear", "cosine"] = "cosine"
    warmup_share: float = Field(0.03, ge=0, lt=1)
    weight_decay: float = Field(0.0, ge=0)
    max_tokens: int = Field(8192, ge=16)
    drop_too_long: bool = False
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    gradient_checkpointing: bool = False
    save_steps: int = Field(100, ge=1)
    keep_checkpoints: int = Field(2, ge=1)
    seed: int = 17
    lora: LoraRecipe = LoraRecipe()
    media: MediaRecipe = MediaRecipe()
    gpus: int = Field(0, ge=0)
    gpu_memory_gb: int = Field(0, ge=0)

    def accumulation(self, devices: int) -> int:
        """Backward passes for one step on so many devices. Raises TrainingError where they cannot share the batch."""
        at_once = self.batch_per_device * devices
        if self.batch % at_once:
            raise TrainingError(
                f"a batch of {self.batch} rows cannot be shared by {devices} devices with {self.batch_per_device} "
                "each: change batch or batch_per_device in the recipe, or the number of processes"
            )
        return self.batch // at_once


def read_recipe(name: str) -> SftRecipe:
    """A recipe of this package by its name, or a file. Raises TrainingError with all that is wrong with it."""
    path = RECIPES / f"{name}.yaml"
    if not path.is_file():
        path = Path(name)
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        known = ", ".join(sorted(file.stem for file in RECIPES.glob("sft_*.yaml")))
        raise TrainingError(
            f"cannot read the recipe {name} ({error.strerror}): give a file or one of {known}"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise TrainingError(f"the recipe {path} is no YAML: {error}") from error
    try:
        return SftRecipe.model_validate(document or {})
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or path}: {fault['msg']}" for fault in error.errors()
        )
        raise TrainingError(f"the recipe {path} has faults: {faults}") from error
