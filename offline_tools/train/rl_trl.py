"""Reinforcement learning on one machine with TRL's GRPOTrainer: its configuration from a recipe, and its rollouts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from offline_tools.train.episodes import Player, Reply
from offline_tools.train.errors import TrainingError
from offline_tools.train.packing import ChatEncoder, keep_rounds_apart
from offline_tools.train.rl_recipe import RlRecipe
from offline_tools.train.rollouts import Ranks, Rollouts

_LOSSES = {"token": "dapo", "episode": "grpo"}
RECIPE_FILE = "recipe.json"


def trl_arguments(recipe: RlRecipe, out: Path, processes: int) -> dict[str, Any]:
    """GRPOConfig's keyword arguments. Raises TrainingError where a draw cannot be split over processes in groups."""
    schedule, episode, trl = recipe.schedule, recipe.episode, recipe.trl
    return {
        "output_dir": str(out),
        **_batches(recipe, processes),
        **_loss(recipe),
        "max_steps": schedule.steps * schedule.updates,
        "learning_rate": schedule.learning_rate,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": schedule.warmup_steps,
        "max_grad_norm": schedule.gradient_norm,
        "weight_decay": 0.0,
        "max_completion_length": episode.reply_tokens,
        "temperature": episode.temperature,
        "top_p": episode.top_p,
        "bf16": trl.bf16,
        "use_cpu": trl.gpus == 0,
        "save_strategy": "steps",
        "save_steps": schedule.save_every * schedule.updates,
        "save_total_limit": 3,
        "logging_steps": 1,
        "report_to": [],
        "seed": schedule.seed,
        "remove_unused_columns": False,
        "disable_dropout": True,
        **trl.arguments,
    }


def _batches(recipe: RlRecipe, processes: int) -> dict[str, Any]:
    """How the episodes of a draw are split over processes, passes and updates."""
    schedule, group, at_once = recipe.schedule, recipe.algorithm.group, recipe.trl.episodes_per_device
    episodes = schedule.questions * group
    in_one_pass = processes * at_once * schedule.updates
    if episodes % in_one_pass or (episodes // processes) % group:
        raise TrainingError(
            f"{schedule.questions} questions × {group} episodes cannot be split over {processes} processes × "
            f"{at_once} episodes × {schedule.updates} updates with whole groups in each process: "
            "change schedule.questions or trl.episodes_per_device"
        )
    return {
        "num_generations": group,
        "per_device_train_batch_size": at_once,
        "gradient_accumulation_steps": episodes // in_one_pass,
        "steps_per_generation": episodes // in_one_pass * schedule.updates,
    }


def _loss(recipe: RlRecipe) -> dict[str, Any]:
    algorithm = recipe.algorithm
    return {
        "loss_type": _LOSSES[algorithm.loss],
        "scale_rewards": "group",
        "num_iterations": 1,
        "epsilon": algorithm.clip_low,
        "epsilon_high": algorithm.clip_high,
        "beta": algorithm.kl,
        "use_bias_correction_kl": False,  # GRPO's own estimate, not DeepSeek-V3.2's, which TRL takes by default
    }


def make_trainer(
    recipe: RlRecipe, model: Any, tokenizer: Any, rollouts: Rollouts, ids: Sequence[str], arguments: Any
) -> Any:
    """TRL's trainer over the questions with these ids. arguments: a GRPOConfig, as trl_arguments has it."""
    import datasets
    from trl import GRPOTrainer

    if len(ids) < recipe.schedule.questions:
        raise TrainingError(
            f"{len(ids)} questions are left for a model to answer, and a step draws {recipe.schedule.questions}: "
            "give more, or lower schedule.questions"
        )
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=episode_reward,
        args=arguments,
        train_dataset=datasets.Dataset.from_list([{"prompt": one} for one in ids]),
        processing_class=tokenizer,
        rollout_func=rollout_function(recipe, tokenizer, rollouts),
        peft_config=_adapter(recipe.trl.lora_rank),
    )
    keep_rounds_apart(trainer.accelerator.unwrap_model(trainer.model), tokenizer.pad_token_id)
    if trainer.ref_model is not None:
        keep_rounds_apart(trainer.accelerator.unwrap_model(trainer.ref_model), tokenizer.pad_token_id)
    return trainer


def _adapter(rank: int) -> Any:
    if not rank:
        return None
    from peft import LoraConfig

    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def rollout_function(recipe: RlRecipe, tokenizer: Any, rollouts: Rollouts) -> Any:
    """What TRL calls with the ids of the questions, each `group` times, for rows of tokens."""
    encoder = make_encoder(recipe, tokenizer)

    def rolled_out(prompts: list[str], trainer: Any) -> dict[str, Any]:
        draw = rollouts.draw(
            prompts[:: recipe.algorithm.group],
            _player(trainer, encoder),
            trainer.state.global_step,
            _ranks(trainer.accelerator),
        )
        rows = draw.rows
        told = all(row.logprobs is not None for row in rows)
        shares = {name: count / max(1, draw.counts["episodes"]) for name, count in draw.counts.items()}
        return {
            "prompt_ids": [row.prompt for row in rows],
            "completion_ids": [row.completion for row in rows],
            "env_mask": [row.mask for row in rows],
            "logprobs": [row.logprobs for row in rows] if told else None,
            "episode_reward": draw.rewards,
            "shares": [shares] * len(rows),
        }

    return rolled_out


def make_encoder(recipe: RlRecipe, tokenizer: Any) -> ChatEncoder:
    """The recipe's prompts in the tokenizer's chat template. Raises TrainingError."""
    return ChatEncoder(tokenizer, recipe.episode.context_tokens, recipe.episode.template)


def episode_reward(
    episode_reward: list[float], shares: list[dict[str, float]], log_metric: Any, **_: Any
) -> list[float]:
    """The rewards that the rollouts already know, as one of TRL's reward functions; notes shares of the episodes."""
    for name, share in shares[0].items():
        log_metric(f"episodes/{name}", share)
    return episode_reward


def _player(trainer: Any, encoder: ChatEncoder) -> Player:
    """Turns as the trainer samples them, be it with vLLM or with transformers."""

    def played(prompts: Sequence[Sequence[int]]) -> list[Reply]:
        ids, logprobs = trainer._generate_single_turn([list(one) for one in prompts], None, {}, 1)
        known = logprobs or [None] * len(ids)
        return [encoder.reply(*one) for one in zip(ids, known, strict=True)]

    return played


def _ranks(accelerator: Any) -> Ranks:
    if accelerator.num_processes == 1:
        return Ranks()

    def anybody(here: bool) -> bool:
        import torch

        return bool(accelerator.gather(torch.tensor([here], device=accelerator.device)).any().item())

    return Ranks(accelerator.process_index, anybody)


def last_checkpoint(out: Path, recipe: RlRecipe) -> Path | None:
    """The newest whole checkpoint of a run that was stopped; None where nothing was begun.

    Raises TrainingError where the folder holds a run of another recipe.
    """
    begun = out / RECIPE_FILE
    if not begun.is_file():
        if any(out.glob("checkpoint-*")):
            raise TrainingError(f"{out} holds checkpoints of something else: name another --out")
        return None
    if json.loads(begun.read_text(encoding="utf-8")) != recipe.model_dump(mode="json"):
        raise TrainingError(
            f"{out} was begun with another recipe: go on with that one, or name another --out"
        )
    whole = [path for path in out.glob("checkpoint-*") if _is_whole(path)]
    return max(whole, key=lambda path: int(path.name.removeprefix("checkpoint-")), default=None)


def _is_whole(checkpoint: Path) -> bool:
    """Whether a checkpoint was written to its end, which its state is."""
    if not checkpoint.name.removeprefix("checkpoint-").isdigit():
        return False
    try:
        json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True
