"""One run of supervised fine-tuning in a folder of its own: begun, resumed to the same result, and finished.

The trainer is TRL's; checkpoints, data order and random states are its own and the seed's. The folder holds run.json
(what was trained on what), checkpoints/, losses.jsonl, model/ and report.json.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from offline_tools.train.errors import TrainingError
from offline_tools.train.memory_limit import is_out_of_memory
from offline_tools.train.sft_losses import LossLog, rewrite_losses
from offline_tools.train.sft_model import Loaded, adapter_settings, freeze_encoders
from offline_tools.train.sft_recipe import SftRecipe

CHECKPOINTS, MODEL, RUN, REPORT, LOSSES = "checkpoints", "model", "run.json", "report.json", "losses.jsonl"
_STATE = "trainer_state.json"


@dataclass(frozen=True)
class TrainingData:
    """What the trainer is given. rows: mappings, as many as there are training rows; collator: None for TRL's own."""

    rows: Sequence[Mapping[str, Any]]
    sha256: str
    collator: Any = None


@dataclass(frozen=True)
class SftReport:
    """What came of a run: steps of the optimizer, mean losses of the first and last step, where the model lies."""

    steps: int
    rows: int
    first_loss: float
    last_loss: float
    resumed_at: int
    duration_s: float
    model: str


def run_sft(
    loaded: Loaded, data: TrainingData, recipe: SftRecipe, out: Path, *, max_steps: int | None = None
) -> SftReport:
    """Train, from the last whole checkpoint of `out` where there is one, and save the model.

    Raises TrainingError where `out` belongs to another run, the devices do not fit the recipe, the loss is no number,
    or memory runs out; the checkpoints until then are kept.
    """
    started = time.monotonic()
    accumulation = recipe.accumulation(_devices())
    _claim(out, loaded, data, recipe, max_steps)
    checkpoint = last_checkpoint(out / CHECKPOINTS)
    resumed_at = _step(checkpoint) if checkpoint else 0
    rewrite_losses(out / LOSSES, until=resumed_at)
    if recipe.method == "full" and loaded.has_senses and not recipe.media.train_encoders:
        freeze_encoders(loaded)
    trainer = _trainer(loaded, data, recipe, out, accumulation, max_steps)
    try:
        result = trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        _save(trainer, loaded, out / MODEL)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise TrainingError(_memory_sentence(recipe, out)) from error
    losses = [
        row["loss"] for row in trainer.state.log_history if "loss" in row
    ]  # those before a resumption too
    report = SftReport(
        steps=result.global_step,
        rows=len(data.rows),
        first_loss=losses[0],
        last_loss=losses[-1],
        resumed_at=resumed_at,
        duration_s=round(time.monotonic() - started, 1),
        model=str(out / MODEL),
    )
    if trainer.is_world_process_zero():
        (out / REPORT).write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="utf-8")
    return report


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that is whole: the trainer writes its state last, so one without it was cut off."""
    found = sorted(folder.glob("checkpoint-*"), key=_step, reverse=True)
    return next((path for path in found if _is_whole(path)), None)


def _is_whole(checkpoint: Path) -> bool:
    try:
        state = json.loads((checkpoint / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(state, dict) and state.get("global_step") == _step(checkpoint)


def _step(checkpoint: Path) -> int:
    number = checkpoint.name.rpartition("-")[2]
    return int(number) if number.isdigit() else -1


def _devices() -> int:
    """Processes of this run. Raises TrainingError for several GPUs in one process, which torch would split slowly."""
    import torch

    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if processes == 1 and torch.cuda.device_count() > 1:
        raise TrainingError(
            f"{torch.cuda.device_count()} GPUs are visible to one process: start one process for each with "
            "`torchrun --nproc_per_node N -m offline_tools.train sft …`, or show it one with CUDA_VISIBLE_DEVICES"
        )
    return processes


def _claim(out: Path, loaded: Loaded, data: TrainingData, recipe: SftRecipe, max_steps: int | None) -> None:
    """Write what this run is, or compare it with what the folder already holds."""
    import torch

    told: dict[str, Any] = {
        "architecture": loaded.architecture,
        "model": _weights_id(loaded.source),
        "rows_sha256": data.sha256,
        "recipe": recipe.model_dump(mode="json"),
        "max_steps": max_steps,
        "processes": int(os.environ.get("WORLD_SIZE", "1")),
    }
    path = out / RUN
    try:
        out.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            part = path.with_name(f"{RUN}.{os.getpid()}.part")
            part.write_text(
                json.dumps({**told, "torch": torch.__version__}, indent=1) + "\n", encoding="utf-8"
            )
            os.replace(part, path)
            return
        before = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TrainingError(f"cannot write into {out}: {error.strerror}") from error
    except ValueError as error:
        raise TrainingError(f"{path} is damaged: give another --out") from error
    other = [key for key, value in told.items() if before.get(key) != value]
    if other:
        shown = "; ".join(f"{key}: {_short(before.get(key))} there, {_short(told[key])} now" for key in other)
        raise TrainingError(
            f"{out} holds a run of something else ({shown}): give another --out, or the same again"
        )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else f"{text[:117]}…"


def _weights_id(source: Path) -> str:
    """A short name for the weights: of their files' names and sizes, since hashing many gigabytes takes minutes."""
    files = (
        [source] if source.is_file() else sorted([*source.glob("*.safetensors"), *source.glob("config.json")])
    )
    told = "".join(f"{file.name} {file.stat().st_size}\n" for file in files)
    return f"{source.name} {hashlib.sha256(told.encode()).hexdigest()[:16]}"


def _trainer(
    loaded: Loaded, data: TrainingData, recipe: SftRecipe, out: Path, accumulation: int, max_steps: int | None
) -> Any:
    from datasets import Dataset
    from trl import SFTTrainer

    return SFTTrainer(
        model=loaded.model,
        args=_settings(recipe, out, accumulation, max_steps, reads_media=data.collator is not None),
        train_dataset=Dataset.from_list([dict(row) for row in data.rows]),
        processing_class=loaded.tokenizer,
        data_collator=data.collator,
        peft_config=adapter_settings(recipe.lora, loaded) if recipe.method == "lora" else None,
        callbacks=[LossLog(out / LOSSES)],
    )


def _settings(
    recipe: SftRecipe, out: Path, accumulation: int, max_steps: int | None, *, reads_media: bool
) -> Any:
    import torch
    from trl import SFTConfig

    return SFTConfig(
        output_dir=str(out / CHECKPOINTS),
        num_train_epochs=recipe.epochs,
        max_steps=max_steps or -1,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type=recipe.schedule,
        warmup_steps=recipe.warmup_share,
        weight_decay=recipe.weight_decay,
        per_device_train_batch_size=recipe.batch_per_device,
        gradient_accumulation_steps=accumulation,
        gradient_checkpointing=recipe.gradient_checkpointing,
        bf16=recipe.dtype == "bfloat16",
        use_cpu=not torch.cuda.is_available(),
        seed=recipe.seed,
        data_seed=recipe.seed,
        save_steps=recipe.save_steps,
        save_total_limit=recipe.keep_checkpoints,
        logging_steps=1,
        logging_nan_inf_filter=False,  # a loss that is no number is to be seen
        report_to="none",
        disable_tqdm=True,
        max_length=None,
        remove_unused_columns=not reads_media,
        dataset_kwargs={"skip_prepare_dataset": True},
        dataloader_pin_memory=torch.cuda.is_available(),
    )


def _save(trainer: Any, loaded: Loaded, folder: Path) -> None:
    """The model (or its adapters) with its tokenizer and, of a model with senses, what prepares its media."""
    trainer.save_model(str(folder))
    if not trainer.is_world_process_zero():
        return
    loaded.tokenizer.save_pretrained(folder)
    if loaded.source.is_dir():
        for name in ("preprocessor_config.json", "processor_config.json", "generation_config.json"):
            if (loaded.source / name).is_file() and not (folder / name).exists():
                shutil.copy2(loaded.source / name, folder / name)


def _memory_sentence(recipe: SftRecipe, out: Path) -> str:
    checkpoint = last_checkpoint(out / CHECKPOINTS)
    kept = f"{checkpoint} is kept" if checkpoint else "no checkpoint was written yet"
    return (
        f"memory ran out ({kept}): lower batch_per_device ({recipe.batch_per_device}) or max_tokens "
        f"({recipe.max_tokens}), set gradient_checkpointing, use method: lora, or more devices"
    )
