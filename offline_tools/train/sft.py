"""`python -m offline_tools.train sft`: supervised fine-tuning of the memory model on rows in ChatML."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from offline_tools.chatml import Row, read_rows
from offline_tools.chatml_media import file_sha256
from offline_tools.train.sft_recipe import SftRecipe, read_recipe

if TYPE_CHECKING:
    from offline_tools.train.sft_model import Loaded
    from offline_tools.train.sft_run import TrainingData


def main(arguments: Sequence[str]) -> int:
    """Train, or go on with a run that was interrupted, and print a table and one JSON line."""
    options = _options(arguments)
    recipe = read_recipe(options.recipe)
    rows = read_rows(options.data)  # every broken line is named before a model is loaded
    from offline_tools.train.sft_model import load_model
    from offline_tools.train.sft_run import run_sft

    _compare_machine(recipe)
    # whole weights are kept in float32 beside the reckoning in dtype: steps of 1e-5 would be lost in bfloat16
    loaded = load_model(options.model, "float32" if recipe.method == "full" else recipe.dtype)
    data, dropped = _data(loaded, rows, recipe, options.data)
    report = run_sft(loaded, data, recipe, options.out, max_steps=options.max_steps)
    print(f"{report.rows} rows, {len(dropped)} dropped as too long; resumed at step {report.resumed_at}")
    print(
        f"loss {report.first_loss:.4f} -> {report.last_loss:.4f} in {report.steps} steps, {report.duration_s} s"
    )
    print(json.dumps({"sft": asdict(report), "dropped": dropped}))
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m offline_tools.train sft",
        description="The same command again goes on from the last checkpoint in --out, to the same result.",
    )
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help="rows, see offline_tools/chatml.py"
    )
    parser.add_argument("--model", type=Path, required=True, metavar="DIR|GGUF", help="where to start from")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the run's own folder")
    parser.add_argument(
        "--recipe", default="sft_omni_7b", metavar="NAME|FILE", help="of offline_tools/train/recipes"
    )
    parser.add_argument("--max-steps", type=int, metavar="N", help="in place of the recipe's epochs")
    return parser.parse_args(arguments)


def _compare_machine(recipe: SftRecipe) -> None:
    """Say where the recipe was reckoned for another machine; whether it fits will show."""
    import torch

    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if recipe.gpus > (processes if torch.cuda.is_available() else 0):
        print(
            f"note: the recipe was reckoned for {recipe.gpus} GPUs of {recipe.gpu_memory_gb} GB",
            file=sys.stderr,
        )


def _data(
    loaded: Loaded, rows: Sequence[Row], recipe: SftRecipe, path: Path
) -> tuple[TrainingData, list[str]]:
    """The rows as the model's own kind of input, and the ids of those dropped."""
    from offline_tools.train.sft_run import TrainingData
    from offline_tools.train.sft_tokens import encode_rows, plain_text

    if loaded.has_senses:
        from offline_tools.train.omni_data import omni_data

        return omni_data(loaded, rows, recipe, file_sha256(path))
    encoded, dropped = encode_rows(
        loaded.tokenizer,
        rows,
        max_tokens=recipe.max_tokens,
        drop_too_long=recipe.drop_too_long,
        content=plain_text(loaded.tokenizer),
    )
    tokens = [{"input_ids": list(row.input_ids), "labels": list(row.labels)} for row in encoded]
    return TrainingData(tokens, file_sha256(path)), dropped
