"""A recipe as verl's configuration: the keys that differ from its defaults, and the questions as its data.

verl trains over many machines. What it plays is the same episode (verl_agent.py): every round is an output of its own,
with the prompt that the robot shows in it, and verl gives all rounds of an episode the advantage of the last one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from offline_tools.train.errors import TrainingError
from offline_tools.train.rl_questions import TrainingQuestion
from offline_tools.train.rl_recipe import RlRecipe

AGENT = "hearsight"
_LOSSES = {"token": "token-mean", "episode": "seq-mean-token-mean"}


@dataclass(frozen=True)
class VerlFiles:
    """What verl reads: the questions as its data, and where its workers find agent, memories, recipe and judge."""

    data: Path
    agent: Path

    @classmethod
    def under(cls, out: Path) -> VerlFiles:
        return cls(out / "questions.parquet", out / "agent.yaml")


def verl_overrides(recipe: RlRecipe, model: str, files: VerlFiles, out: Path) -> list[str]:
    """The command line of verl.trainer.main_ppo. Raises TrainingError where the recipe names no GPUs."""
    if recipe.machine.gpus < 1:
        raise TrainingError("the recipe names no GPUs for verl: set machine.gpus")
    keys = {
        **_algorithm_keys(recipe),
        **_data_keys(recipe, files),
        **_actor_keys(recipe, model),
        **_rollout_keys(recipe, files),
        **_trainer_keys(recipe, out),
        **recipe.verl.overrides,
    }
    return [f"{key}={_hydra(value)}" for key, value in keys.items()]


def _algorithm_keys(recipe: RlRecipe) -> dict[str, Any]:
    algorithm = recipe.algorithm
    return {
        "algorithm.adv_estimator": "grpo",
        "algorithm.norm_adv_by_std_in_grpo": True,
        "algorithm.use_kl_in_reward": False,
        "algorithm.filter_groups.enable": algorithm.dynamic_sampling,
        "algorithm.filter_groups.metric": "judged",
        "algorithm.filter_groups.max_num_gen_batches": algorithm.waves,
        "algorithm.filter_groups.max_inflight_gen_batches": algorithm.waves,
    }


def _data_keys(recipe: RlRecipe, files: VerlFiles) -> dict[str, Any]:
    episode = recipe.episode
    return {
        "data.train_files": str(files.data),
        "data.val_files": str(files.data),
        "data.train_batch_size": recipe.schedule.questions,
        "data.return_raw_chat": True,
        "data.seed": recipe.schedule.seed,
        "data.max_prompt_length": episode.context_tokens - episode.reply_tokens,
        "data.max_response_length": episode.reply_tokens,
    }


def _actor_keys(recipe: RlRecipe, model: str) -> dict[str, Any]:
    algorithm, schedule = recipe.algorithm, recipe.schedule
    actor = {
        "optim.lr": schedule.learning_rate,
        "optim.lr_warmup_steps": schedule.warmup_steps,
        "grad_clip": schedule.gradient_norm,
        "ppo_mini_batch_size": schedule.questions // schedule.updates,
        "use_dynamic_bsz": True,
        "clip_ratio": algorithm.clip_low,
        "clip_ratio_low": algorithm.clip_low,
        "clip_ratio_high": algorithm.clip_high,
        "loss_agg_mode": _LOSSES[algorithm.loss],
        "use_kl_loss": algorithm.kl > 0.0,
        "kl_loss_coef": algorithm.kl,
    }
    return {
        "actor_rollout_ref.model.path": model,
        "actor_rollout_ref.model.use_remove_padding": True,
        "actor_rollout_ref.model.enable_gradient_checkpointing": True,
        **{f"actor_rollout_ref.actor.{key}": value for key, value in actor.items()},
    }


def _rollout_keys(recipe: RlRecipe, files: VerlFiles) -> dict[str, Any]:
    rollout = {
        "name": "vllm",
        "n": recipe.algorithm.group,
        "temperature": recipe.episode.temperature,
        "top_p": recipe.episode.top_p,
        "tensor_model_parallel_size": recipe.verl.tensor_parallel,
        "multi_turn.max_assistant_turns": recipe.episode.most,
        "agent.default_agent_loop": AGENT,
        "agent.agent_loop_config_path": str(files.agent),
    }
    return {f"actor_rollout_ref.rollout.{key}": value for key, value in rollout.items()}


def _trainer_keys(recipe: RlRecipe, out: Path) -> dict[str, Any]:
    machine = recipe.machine
    return {
        "trainer.use_v1": True,
        "trainer.v1.trainer_mode": "sync",
        "trainer.nnodes": machine.nodes,
        "trainer.n_gpus_per_node": min(machine.gpus, machine.gpus_per_node),
        "trainer.total_training_steps": recipe.schedule.steps,
        "trainer.save_freq": recipe.schedule.save_every,
        "trainer.test_freq": -1,
        "trainer.val_before_train": False,
        "trainer.resume_mode": "auto",
        "trainer.default_local_dir": str(out),
        "trainer.logger": ["console"],
    }


def _hydra(value: Any) -> str:
    """A value as hydra's command line reads it."""
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return json.dumps(value)


def write_files(files: VerlFiles, questions: Sequence[TrainingQuestion], agent: Mapping[str, Any]) -> None:
    """Write what verl reads. agent: the arguments of verl_agent.EpisodeLoop. Needs `datasets`."""
    import datasets

    files.data.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "data_source": AGENT,
            "prompt": [{"role": "user", "content": one.question}],
            "reward_model": {"style": "model", "ground_truth": one.answer},
            "extra_info": {"index": number, "question": one.id},
        }
        for number, one in enumerate(questions)
    ]
    datasets.Dataset.from_list(rows).to_parquet(str(files.data))
    loop = {"name": AGENT, "_target_": "offline_tools.train.verl_agent.EpisodeLoop", **agent}
    files.agent.write_text(yaml.safe_dump([loop], sort_keys=False), encoding="utf-8")


def composed(overrides: Sequence[str]) -> str:
    """verl's whole configuration as YAML, checked by verl itself. Raises TrainingError with what verl says."""
    from hydra import compose, initialize_config_module
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    try:
        with initialize_config_module(config_module="verl.trainer.config", version_base=None):
            config = compose(config_name="ppo_trainer", overrides=list(overrides))
        validate_config(
            config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config)
        )
    except (HydraException, OmegaConfBaseException, AssertionError, ValueError) as error:
        raise TrainingError(f"verl refuses this recipe: {error}") from error
    return str(OmegaConf.to_yaml(config))
