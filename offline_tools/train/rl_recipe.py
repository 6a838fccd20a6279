"""A recipe of reinforcement learning, read strictly from YAML: algorithm, rounds, reward, machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, ValidationError, model_validator

from offline_tools.train.errors import TrainingError
from runtime.config_section import Section

RECIPES = Path(__file__).parent / "recipes"


class AlgorithmSettings(Section):
    """The policy loss. DAPO (arXiv 2503.14476) as M3-Agent trains with it (arXiv 2508.09736), or GRPO.

    group: episodes of one question, whose rewards are normalised together; clip_low, clip_high: how far a token's
    probability may move, ε; kl: weight of the divergence from the first model; loss: mean over the tokens of all
    episodes, or of each episode's mean; dynamic_sampling: groups of equal reward are replaced, by at most `waves`
    draws, and teach nothing where that does not suffice.
    """

    name: Literal["dapo", "grpo"]
    group: int = Field(4, ge=2)
    clip_low: PositiveFloat = 0.2
    clip_high: PositiveFloat = 0.28
    kl: NonNegativeFloat = 0.0
    loss: Literal["token", "episode"] = "token"
    dynamic_sampling: bool = True
    waves: PositiveInt = 3

    @model_validator(mode="after")
    def _is_what_it_is_called(self) -> AlgorithmSettings:
        grpo = (self.clip_low == self.clip_high, self.loss == "episode", not self.dynamic_sampling)
        if self.name == "grpo" and not all(grpo):
            raise ValueError("grpo clips alike on both sides, means by episode and samples once")
        if self.name == "dapo" and (self.kl or self.loss != "token" or not self.dynamic_sampling):
            raise ValueError("dapo has kl: 0, loss: token and dynamic_sampling: true")
        return self


class ScheduleSettings(Section):
    """How much is learned from. questions: of one draw; steps: draws; updates: of the weights after each draw."""

    questions: PositiveInt = 32
    steps: PositiveInt = 180
    updates: PositiveInt = 1
    learning_rate: PositiveFloat = 1e-6
    warmup_steps: int = Field(0, ge=0)
    gradient_norm: PositiveFloat = 1.0
    save_every: PositiveInt = 20
    seed: int = 1

    @model_validator(mode="after")
    def _divides(self) -> ScheduleSettings:
        if self.questions % self.updates:
            raise ValueError(f"questions = {self.questions} cannot be split into updates = {self.updates}")
        return self


class EpisodeSettings(Section):
    """The rounds. most: H; reply_tokens: of one round; shown: memories of one prompt; context_tokens: prompt and reply.

    template: more for the chat template, such as enable_thinking: false.
    """

    most: PositiveInt = 5
    reply_tokens: PositiveInt = 140
    shown: PositiveInt = 8
    context_tokens: PositiveInt = 4096
    temperature: PositiveFloat = 1.0
    top_p: float = Field(1.0, gt=0.0, le=1.0)
    template: dict[str, bool | int | float | str] = Field(default_factory=dict)


class GradedSettings(Section):
    """Partial credit of an answer that is not right: shares of its token F1 and of the evidence that was found."""

    words: float = Field(0.3, ge=0.0, le=1.0)
    evidence: float = Field(0.2, ge=0.0, le=1.0)

    @model_validator(mode="after")
    def _stays_below_right(self) -> GradedSettings:
        if self.words + self.evidence >= 1.0:
            raise ValueError("words and evidence together must stay below 1, which a right answer earns")
        return self


class BonusSettings(Section):
    """What the published script of M3-Agent adds without saying so; off by default, its own values in brackets.

    id_tag: each literal id tag in an answer (-0.2); unreadable: a turn without an action (-0.3); search: each search
    (0.1); empty_search: each that found nothing new (-0.15).
    """

    id_tag: float = 0.0
    unreadable: float = 0.0
    search: float = 0.0
    empty_search: float = 0.0


class RewardSettings(Section):
    """What an episode is worth. judge: a model of the command line's --judge, or the same set of words.

    grounded: an answer that the robot would not tell, since no memory bears it out, is worth nothing. overlong_from,
    overlong_to: tokens written in an episode beyond which the penalty grows from 0 to -1 (DAPO's soft punishment).
    """

    kind: Literal["binary", "graded"] = "binary"
    judge: Literal["model", "exact"] = "model"
    grounded: bool = True
    graded: GradedSettings = GradedSettings()
    bonus: BonusSettings = BonusSettings()
    overlong_from: PositiveInt | None = None
    overlong_to: PositiveInt | None = None

    @model_validator(mode="after")
    def _grows(self) -> RewardSettings:
        if (self.overlong_from is None) != (self.overlong_to is None):
            raise ValueError("overlong_from and overlong_to go together")
        if (self.overlong_from or 0) >= (self.overlong_to or 1):
            raise ValueError("overlong_to must be more than overlong_from")
        return self


class MachineSettings(Section):
    """What it runs on. gpus: in all; gpus_per_node; gpu_memory_gb: of one. 0 GPUs: the CPU, for tests."""

    gpus: int = Field(0, ge=0)
    gpus_per_node: PositiveInt = 8
    gpu_memory_gb: PositiveInt = 80

    @property
    def nodes(self) -> int:
        return max(1, -(-self.gpus // self.gpus_per_node))


class TrlSettings(Section):
    """One machine with TRL. episodes_per_device: in one pass; lora_rank: 0 trains all weights.

    arguments: more of GRPOConfig, such as use_vllm and fsdp.
    """

    episodes_per_device: PositiveInt = 1
    gpus: int = Field(0, ge=0)
    attention: Literal["sdpa", "eager", "flash_attention_2"] = "sdpa"
    bf16: bool = False
    lora_rank: int = Field(0, ge=0)
    arguments: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _packs(self) -> TrlSettings:
        if self.attention == "flash_attention_2" and self.episodes_per_device != 1:
            raise ValueError("flash_attention_2 keeps rounds apart in one row only: episodes_per_device: 1")
        return self


class VerlSettings(Section):
    """Many machines with verl. overrides: further keys of its configuration, such as actor_rollout_ref.rollout.name."""

    tensor_parallel: PositiveInt = 1
    overrides: dict[str, str | int | float | bool] = Field(default_factory=dict)


class RlRecipe(Section):
    """All of it. model: where --model is left out."""

    model: str = ""
    algorithm: AlgorithmSettings
    schedule: ScheduleSettings = ScheduleSettings()
    episode: EpisodeSettings = EpisodeSettings()
    reward: RewardSettings = RewardSettings()
    machine: MachineSettings = MachineSettings()
    trl: TrlSettings = TrlSettings()
    verl: VerlSettings = VerlSettings()


def recipe_path(name: str) -> Path:
    """The file of a recipe: one of this package by its name, or any."""
    path = RECIPES / f"{name}.yaml"
    return path if path.is_file() else Path(name)


def read_recipe(path: Path) -> RlRecipe:
    """Raises TrainingError, which lists every fault with its key."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        known = ", ".join(sorted(one.stem for one in RECIPES.glob("*po_*.yaml")))
        raise TrainingError(f"there is no recipe {path}: give a file or one of {known}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise TrainingError(f"{path} is no YAML that can be read: {' '.join(str(error).split())}") from error
    if not isinstance(raw, dict):
        raise TrainingError(f"{path} must be a mapping of sections, found {type(raw).__name__}")
    try:
        return RlRecipe.model_validate(raw)
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, item['loc']))}: {item['msg'].removeprefix('Value error, ')}"
            + ("" if item["type"] in ("missing", "value_error") else f", found {item['input']!r}")
            for item in error.errors()
        ]
        raise TrainingError(f"{path} is no recipe: " + "; ".join(faults)) from error
