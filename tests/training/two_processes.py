"""What torchrun starts twice for the test of two processes: two steps of DAPO on the search task."""

from __future__ import annotations

import sys
from pathlib import Path

from offline_tools.train.rewards import exact_judge
from offline_tools.train.rl_questions import read_questions
from offline_tools.train.rl_recipe import RlRecipe
from offline_tools.train.rl_run import train
from offline_tools.train.rl_setting import Setting
from tests.training.search_task import open_memories


def main(root: Path, model: str) -> None:
    recipe = RlRecipe.model_validate(
        {
            "algorithm": {"name": "dapo", "waves": 2},
            "schedule": {"questions": 4, "steps": 2, "learning_rate": 1e-3, "save_every": 2},
            "episode": {"reply_tokens": 3, "context_tokens": 256},
            "reward": {"judge": "exact"},
            "trl": {
                "episodes_per_device": 8,
                "arguments": {"gradient_checkpointing": False, "disable_tqdm": True},
            },
        }
    )
    questions = read_questions(root / "questions-6.jsonl", root)
    train(Setting(recipe, questions, open_memories(root), exact_judge, 1), model, root / "out")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
