"""`python -m offline_tools.train rl`: trains the control model on questions over memories, as a recipe says.

The same command goes on from the last checkpoint. On many GPUs of one machine it is started by torchrun; --engine verl
starts verl over a Ray cluster instead.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from offline_tools.train.errors import TrainingError
from offline_tools.train.rl_recipe import RlRecipe, read_recipe, recipe_path
from offline_tools.train.rl_setting import open_setting
from offline_tools.train.verl_config import VerlFiles, composed, verl_overrides, write_files


def main(arguments: Sequence[str]) -> int:
    """Raises TrainingError."""
    options = _options(arguments)
    recipe = read_recipe(options.recipe)
    model = options.model or recipe.model
    if not model:
        raise TrainingError("no model: give --model, or name one in the recipe")
    if options.dry_run:
        print(_told(options, recipe, model))
        return 0
    for name in ("questions", "memories", "out"):
        if getattr(options, name) is None:
            raise TrainingError(f"--{name} is missing")
    if options.engine == "verl":
        return _verl(options, recipe, model)
    from offline_tools.train.rl_run import train

    setting = open_setting(options.recipe, options.questions, options.memories, options.judge, options.config)
    try:
        report = train(setting, model, options.out, held_out=options.held_out)
    finally:
        setting.memories.close()
    print(json.dumps(asdict(report), ensure_ascii=False))
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="train rl", description=__doc__)
    parser.add_argument(
        "--recipe", type=recipe_path, required=True, help="NAME or FILE, see offline_tools/train/recipes"
    )
    parser.add_argument(
        "--questions", type=Path, help="JSON lines: id, memory, question, answer, before_clip …"
    )
    parser.add_argument(
        "--memories", type=Path, help="the folder with a memory for each `memory` of the questions"
    )
    parser.add_argument(
        "--model", default="", help="a checkpoint folder or hub name; the recipe's by default"
    )
    parser.add_argument("--out", type=Path, help="where checkpoints, records and the trained model go")
    parser.add_argument("--judge", default="", help="URL#MODEL, FILE.gguf or a name of models/manifest.yaml")
    parser.add_argument(
        "--held-out", type=Path, help="questions that are asked before and after, and not trained on"
    )
    parser.add_argument(
        "--config", type=Path, help="the robot.yaml whose text model the memories were made with"
    )
    parser.add_argument("--engine", choices=("trl", "verl"), default="trl")
    parser.add_argument("--dry-run", action="store_true", help="print what the engine would be told, and end")
    return parser.parse_args(arguments)


def _told(options: argparse.Namespace, recipe: RlRecipe, model: str) -> str:
    """What a run would be: the whole configuration as verl composes and checks it, or GRPOConfig's arguments."""
    out = options.out or Path("out")
    if options.engine == "verl":
        overrides = verl_overrides(recipe, model, VerlFiles.under(out), out)
        try:
            return composed(overrides)
        except ModuleNotFoundError:
            print("verl is not installed: its overrides as they stand, unchecked", file=sys.stderr)
            return "python -m verl.trainer.main_ppo \\\n  " + " \\\n  ".join(overrides)
    from offline_tools.train.rl_trl import trl_arguments

    processes = int(os.environ.get("WORLD_SIZE", max(1, recipe.trl.gpus)))
    start = f"torchrun --nproc-per-node {processes} -m offline_tools.train rl …" if processes > 1 else ""
    return json.dumps(
        {"model": model, "start": start, "GRPOConfig": trl_arguments(recipe, out, processes)}, indent=2
    )


def _verl(options: argparse.Namespace, recipe: RlRecipe, model: str) -> int:
    """Write what verl reads, and become verl's trainer."""
    setting = open_setting(options.recipe, options.questions, options.memories, options.judge, options.config)
    try:
        kept, answered = setting.memories.for_a_model(setting.questions.questions)
    finally:
        setting.memories.close()
    if answered:
        print(f"{answered} questions are answered by code and left out", file=sys.stderr)
    files = VerlFiles.under(options.out)
    overrides = verl_overrides(recipe, model, files, options.out)
    composed(overrides)
    agent = {
        "recipe": str(options.recipe.resolve()),
        "questions": str(options.questions.resolve()),
        "memories": str(options.memories.resolve()),
        "judge": options.judge,
        "config": str(options.config.resolve()) if options.config else "",
    }
    write_files(files, kept, agent)
    os.execv(sys.executable, [sys.executable, "-m", "verl.trainer.main_ppo", *overrides])
