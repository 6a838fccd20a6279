"""DAPO teaches a tiny model to search on: over the real episode, a real memory and TRL's trainer, on a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the training extra: make setup-training")
pytestmark = pytest.mark.training

from offline_tools.train.rewards import exact_judge  # noqa: E402
from offline_tools.train.rl_questions import read_questions  # noqa: E402
from offline_tools.train.rl_recipe import RlRecipe  # noqa: E402
from offline_tools.train.rl_run import train  # noqa: E402
from offline_tools.train.rl_setting import Setting  # noqa: E402
from tests.training.search_task import open_memories, write_memories  # noqa: E402

STEPS = 75


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_held_out_accuracy_rises_from_below_a_half_to_four_fifths(
    seed: int, cold_model: Path, tmp_path: Path
) -> None:
    torch.set_num_threads(1)
    recipe = RlRecipe.model_validate(
        {
            "algorithm": {"name": "dapo", "waves": 2},
            "schedule": {
                "questions": 8,
                "steps": STEPS,
                "learning_rate": 3e-3,
                "save_every": STEPS,
                "seed": seed,
            },
            "episode": {"reply_tokens": 6, "shown": 4, "context_tokens": 256},
            "reward": {"judge": "exact"},
            "trl": {
                "episodes_per_device": 32,
                "arguments": {"gradient_checkpointing": False, "disable_tqdm": True},
            },
        }
    )
    questions = read_questions(write_memories(tmp_path, 30, seed=10 + seed), tmp_path)
    held_out = write_memories(tmp_path, 10, seed=20 + seed)
    setting = Setting(recipe, questions, open_memories(tmp_path), exact_judge, 1)
    report = train(setting, str(cold_model), tmp_path / "out", held_out=held_out)
    assert report.before is not None
    assert report.after is not None
    assert report.steps == STEPS
    assert report.before.right < 0.5
    assert report.after.right >= 0.8
    assert report.after.rounds > report.before.rounds
