"""A run of reinforcement learning with TRL from begin to end: load, go on where it stopped, train, save, report."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from offline_tools.train.errors import TrainingError
from offline_tools.train.memory_limit import is_out_of_memory
from offline_tools.train.rl_accuracy import Accuracy, accuracy, greedy_player
from offline_tools.train.rl_questions import read_questions
from offline_tools.train.rl_recipe import RlRecipe
from offline_tools.train.rl_setting import Setting
from offline_tools.train.rl_trl import (
    RECIPE_FILE,
    last_checkpoint,
    make_encoder,
    make_trainer,
    trl_arguments,
)
from offline_tools.train.rollouts import Rollouts


@dataclass(frozen=True)
class Report:
    """What a run came to. by_code: questions left out since code answers them; before, after: on held-out questions."""

    model: str
    questions: int
    by_code: int
    steps: int
    resumed_at: int
    before: Accuracy | None
    after: Accuracy | None


def train(setting: Setting, model_path: str, out: Path, *, held_out: Path | None = None) -> Report:
    """Train, or go on training. The model goes to `out`/final, the report to `out`/report.json, what was played to
    `out`/rollouts. Raises TrainingError.
    """
    recipe = setting.recipe
    checkpoint = last_checkpoint(out, recipe)
    kept, by_code = setting.memories.for_a_model(setting.questions.questions)
    tokenizer, model = load_model(model_path, recipe, checkpoint)
    encoder = make_encoder(recipe, tokenizer)
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    arguments = _grpo_config(trl_arguments(recipe, out, processes))
    rollouts = Rollouts(
        recipe,
        {one.id: one for one in kept},
        setting.memories,
        encoder,
        setting.judge,
        judged_at_once=setting.judged_at_once,
        log=out / "rollouts",
    )
    with _clear_faults(out):
        trainer = make_trainer(recipe, model, tokenizer, rollouts, sorted(one.id for one in kept), arguments)
        before = _before(setting, held_out, trainer, encoder, out, checkpoint)
        _begin(out, recipe, trainer)
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        trainer.save_model(str(out / "final"))
        after = _held_out(setting, held_out, trainer, encoder)
    report = Report(
        model=model_path,
        questions=len(kept),
        by_code=by_code,
        steps=trainer.state.global_step,
        resumed_at=int(checkpoint.name.partition("-")[2]) if checkpoint else 0,
        before=before,
        after=after,
    )
    if trainer.accelerator.is_main_process:
        (out / "report.json").write_text(json.dumps(asdict(report), indent=2) + "\n", encoding="utf-8")
    return report


def load_model(path: str, recipe: RlRecipe, checkpoint: Path | None = None) -> tuple[Any, Any]:
    """Tokenizer and model. Raises TrainingError for what is no causal language model, or a checkpoint of another."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    try:
        config = AutoConfig.from_pretrained(path)
        if checkpoint is not None and not recipe.trl.lora_rank:
            _same_shape(config, AutoConfig.from_pretrained(checkpoint), path, checkpoint)
        model = AutoModelForCausalLM.from_pretrained(
            path,
            # whole weights stay in float32 beside the reckoning in bfloat16, in which steps of 1e-6 would be lost
            dtype=torch.bfloat16 if recipe.trl.bf16 and recipe.trl.lora_rank else torch.float32,
            attn_implementation=recipe.trl.attention,
        )
        tokenizer = AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError, ImportError) as error:
        reason = " ".join(str(error).split())[:300]
        raise TrainingError(f"{path} cannot be trained as a causal language model: {reason}") from error
    return tokenizer, model


def _same_shape(config: Any, other: Any, path: str, checkpoint: Path) -> None:
    for name in ("model_type", "hidden_size", "num_hidden_layers", "vocab_size"):
        mine, theirs = getattr(config, name, None), getattr(other, name, None)
        if mine != theirs:
            raise TrainingError(
                f"{checkpoint} is of another model than {path} ({name}: {theirs}, not {mine}): "
                "give the model that the run was begun with, or another --out"
            )


def _grpo_config(arguments: dict[str, Any]) -> Any:
    from trl import GRPOConfig

    try:
        return GRPOConfig(**arguments)
    except (TypeError, ValueError, ImportError) as error:
        raise TrainingError(f"TRL refuses this recipe: {' '.join(str(error).split())}") from error


@contextmanager
def _clear_faults(out: Path) -> Iterator[None]:
    """Memory that runs out, as one sentence; what was saved stays."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise TrainingError(
            f"out of memory ({str(error).splitlines()[0][:120]}): lower trl.episodes_per_device or "
            f"episode.context_tokens, or use more GPUs; what was saved in {out} stays, and the same command "
            "goes on from it"
        ) from error


def _begin(out: Path, recipe: RlRecipe, trainer: Any) -> None:
    """Note the recipe, so that a run goes on with no other."""
    if trainer.accelerator.is_main_process:
        out.mkdir(parents=True, exist_ok=True)
        (out / RECIPE_FILE).write_text(json.dumps(recipe.model_dump(mode="json"), indent=2), encoding="utf-8")


def _before(
    setting: Setting, held_out: Path | None, trainer: Any, encoder: Any, out: Path, checkpoint: Path | None
) -> Accuracy | None:
    """The accuracy before training, which is measured once and kept for when the run goes on."""
    kept = out / "before.json"
    if checkpoint is not None and kept.is_file():
        return Accuracy(**json.loads(kept.read_text(encoding="utf-8")))
    measured = _held_out(setting, held_out, trainer, encoder)
    if measured is not None and trainer.accelerator.is_main_process:
        out.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(asdict(measured)), encoding="utf-8")
    return measured


def _held_out(setting: Setting, held_out: Path | None, trainer: Any, encoder: Any) -> Accuracy | None:
    """Asked by every process alike, as a model that is spread over them answers only together."""
    if held_out is None:
        return None
    read = read_questions(held_out, setting.memories.root)
    questions, _ = setting.memories.for_a_model(read.questions)
    model = trainer.accelerator.unwrap_model(trainer.model)
    player = greedy_player(model, trainer.processing_class, encoder, setting.recipe.episode.reply_tokens)
    return accuracy(setting.recipe, questions, setting.memories, encoder, player, setting.judge)
