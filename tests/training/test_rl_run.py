"""A whole run: stopped and gone on with it comes to the same, and what it cannot do it says in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the training extra: make setup-training")
pytestmark = pytest.mark.training

from safetensors.torch import load_file  # noqa: E402

from offline_tools.train.errors import TrainingError  # noqa: E402
from offline_tools.train.rewards import Judge, exact_judge  # noqa: E402
from offline_tools.train.rl_questions import read_questions  # noqa: E402
from offline_tools.train.rl_recipe import RlRecipe  # noqa: E402
from offline_tools.train.rl_run import load_model, train  # noqa: E402
from offline_tools.train.rl_setting import Setting  # noqa: E402
from tests.training.search_model import make_model, make_tokenizer  # noqa: E402
from tests.training.search_task import open_memories, write_memories  # noqa: E402


def recipe(**trl: Any) -> RlRecipe:
    return RlRecipe.model_validate(
        {
            "algorithm": {"name": "dapo", "waves": 2},
            "schedule": {"questions": 2, "steps": 4, "learning_rate": 1e-3, "save_every": 1},
            "episode": {"reply_tokens": 3, "context_tokens": 256},
            "reward": {"judge": "exact", "kind": "graded", "overlong_from": 3, "overlong_to": 15},
            "trl": {
                "episodes_per_device": 8,
                "arguments": {"gradient_checkpointing": False, "disable_tqdm": True},
                **trl,
            },
        }
    )


def setting(root: Path, recipe: RlRecipe, judge: Judge = exact_judge) -> Setting:
    asked = read_questions(root / "questions-4.jsonl", root)
    return Setting(recipe, asked, open_memories(root), judge, 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with memories and questions."""
    write_memories(tmp_path, 1, seed=4)
    return tmp_path


def weights(folder: Path) -> dict[str, Any]:
    return dict(load_file(folder / "model.safetensors"))


def judge_until(stop: Callable[[], bool], error: BaseException) -> Judge:
    """The exact judge, until it is time to raise."""

    def judge(question: str, truth: str, answer: str) -> bool:
        if stop():
            raise error
        return exact_judge(question, truth, answer)

    return judge


def test_a_run_that_was_stopped_and_goes_on_comes_to_the_same(root: Path, cold_model: Path) -> None:
    whole = train(
        setting(root, recipe()), str(cold_model), root / "whole", held_out=root / "questions-4.jsonl"
    )
    assert (whole.steps, whole.resumed_at) == (4, 0)
    assert whole.before is not None and whole.after is not None
    moved = [
        (value - weights(cold_model)[name]).abs().max()
        for name, value in weights(root / "whole/final").items()
    ]
    assert max(moved) > 1e-4

    second = root / "stopped" / "checkpoint-2" / "trainer_state.json"
    stopping = setting(root, recipe(), judge_until(second.is_file, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        train(stopping, str(cold_model), root / "stopped", held_out=root / "questions-4.jsonl")
    assert not (root / "stopped" / "final").exists()
    rest = train(
        setting(root, recipe()), str(cold_model), root / "stopped", held_out=root / "questions-4.jsonl"
    )
    assert rest.resumed_at == 2
    assert (rest.before, rest.after) == (whole.before, whole.after)
    after = weights(root / "stopped/final")
    assert all(torch.equal(value, after[name]) for name, value in weights(root / "whole/final").items())
    for path in (root / "whole" / "rollouts").iterdir():
        assert path.read_text() == (root / "stopped" / "rollouts" / path.name).read_text(), path.name

    changed = recipe().model_copy(update={"model": "another"})
    with pytest.raises(TrainingError, match="was begun with another recipe"):
        train(setting(root, changed), str(cold_model), root / "stopped")
    make_model(make_tokenizer(), width=32).save_pretrained(root / "narrow")
    make_tokenizer().save_pretrained(root / "narrow")
    with pytest.raises(
        TrainingError, match=r"checkpoint-4 is of another model than .* \(hidden_size: 64, not 32\)"
    ):
        train(setting(root, recipe()), str(root / "narrow"), root / "stopped")


def test_memory_that_runs_out_is_told_in_one_sentence(root: Path, cold_model: Path) -> None:
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
    full = setting(root, recipe(), judge_until(lambda: True, error))
    with pytest.raises(TrainingError, match=r"out of memory .*lower trl.episodes_per_device") as caught:
        train(full, str(cold_model), root / "out")
    assert "\n" not in str(caught.value)
    assert (root / "out" / "recipe.json").is_file()


def test_lora_trains_over_the_same_rows(root: Path, cold_model: Path) -> None:
    with_lora = recipe(lora_rank=4)
    report = train(setting(root, with_lora), str(cold_model), root / "lora")
    assert report.steps == 4
    assert (root / "lora/final/adapter_model.safetensors").is_file()


def test_what_is_no_language_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "vit"}')
    with pytest.raises(TrainingError, match=r"cannot be trained as a causal language model: .*ViTConfig"):
        load_model(str(tmp_path), recipe())
    with pytest.raises(TrainingError, match="cannot be trained as a causal language model"):
        load_model(str(tmp_path / "nowhere"), recipe())


def test_too_few_questions_are_refused(root: Path, cold_model: Path) -> None:
    big = recipe().model_copy(update={"schedule": recipe().schedule.model_copy(update={"questions": 40})})
    with pytest.raises(
        TrainingError, match="6 questions are left for a model to answer, and a step draws 40"
    ):
        train(setting(root, big), str(cold_model), root / "big")
