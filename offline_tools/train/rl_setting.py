"""What every engine opens before it plays: recipe, questions, the memories with the robot's control, and the judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from models.errors import ModelError
from models.language import LanguageModel
from models.manifest import Manifest
from offline_tools.chosen_model import open_model
from offline_tools.endpoint import Endpoint
from offline_tools.errors import OfflineToolError
from offline_tools.train.episodes import MakeControl, Memories
from offline_tools.train.errors import TrainingError
from offline_tools.train.rewards import Judge, exact_judge, model_judge
from offline_tools.train.rl_questions import QuestionFile, read_questions
from offline_tools.train.rl_recipe import EpisodeSettings, RlRecipe, read_recipe
from runtime.compose import Parts, text_embedder, vector_spaces
from runtime.compose_answers import control as robot_control
from runtime.config import Settings, load_settings
from runtime.control import Control
from runtime.control_rounds import ControlLimits
from runtime.errors import HearsightError

_JUDGE_TIMEOUT_S = 120.0
_ENDPOINT_CALLS_AT_ONCE = 8


@dataclass(frozen=True)
class Setting:
    """All that an episode needs but the model. judged_at_once: how many calls the judge bears side by side."""

    recipe: RlRecipe
    questions: QuestionFile
    memories: Memories
    judge: Judge
    judged_at_once: int


def open_setting(recipe: Path, questions: Path, memories: Path, judge: str, config: Path | None) -> Setting:
    """judge: as open_model takes it, "" with an exact one; config: a robot.yaml. Raises TrainingError."""
    read = read_recipe(recipe)
    asked = read_questions(questions, memories)
    try:
        spaces, make = robot_memories(config, read.episode)
        judging, at_once = _judge(read, judge)
    except (HearsightError, ModelError, OfflineToolError) as error:
        raise TrainingError(str(error)) from error
    return Setting(read, asked, Memories(memories, spaces, make), judging, at_once)


def robot_memories(
    config: Path | None, episode: EpisodeSettings
) -> tuple[Sequence[VectorSpace], MakeControl]:
    """The robot's vector spaces and its control as it is configured, with the recipe's rounds.

    Raises HearsightError and ModelError.
    """
    settings = load_settings(config) if config else Settings()
    rounds = settings.control.model_copy(update={"max_rounds": episode.most})
    parts = Parts(settings.model_copy(update={"control": rounds}), Manifest.load())
    loaded = cache(lambda: text_embedder(parts))
    limits = ControlLimits(reply_tokens=episode.reply_tokens, shown=episode.shown)

    def make(store: MemoryStore, clock: Callable[[], float]) -> Control:
        return robot_control(parts, store, None, loaded(), clock=clock, limits=limits)

    return vector_spaces(parts), make


def _judge(recipe: RlRecipe, choice: str) -> tuple[Judge, int]:
    if recipe.reward.judge == "exact":
        return exact_judge, 1
    if not choice:
        raise TrainingError(
            "the recipe's reward.judge is a model: name it with --judge URL#MODEL or FILE.gguf"
        )
    language: LanguageModel = open_model(choice)
    many = _ENDPOINT_CALLS_AT_ONCE if isinstance(language, Endpoint) else 1
    return model_judge(language, _JUDGE_TIMEOUT_S), many
