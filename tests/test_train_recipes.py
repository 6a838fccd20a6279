"""Recipes and questions of reinforcement learning: those that are here, and what is said of broken ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from offline_tools.train.__main__ import main
from offline_tools.train.errors import TrainingError
from offline_tools.train.rl_questions import read_questions
from offline_tools.train.rl_recipe import RECIPES, RlRecipe, read_recipe
from offline_tools.train.rl_trl import last_checkpoint, trl_arguments
from offline_tools.train.verl_config import VerlFiles, verl_overrides
from tests.training.search_task import write_memories

FILES = sorted(RECIPES.glob("*po_*.yaml"))  # those of SFT lie beside them


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_recipe_is_the_papers_and_fits_its_machine(path: Path) -> None:
    recipe = read_recipe(path)
    name, size = path.stem.split("_")
    assert recipe.algorithm.name == name
    assert f"Qwen3-{size.upper()}" in recipe.model
    assert recipe.machine.gpus == {"8b": 16, "14b": 16, "32b": 32}[size]
    assert (recipe.algorithm.group, recipe.episode.most) == (4, 5)
    assert (recipe.schedule.questions, recipe.schedule.steps) == (32, 180)
    assert recipe.schedule.learning_rate == 1e-6
    clips = (recipe.algorithm.clip_low, recipe.algorithm.clip_high, recipe.algorithm.kl)
    assert clips == ((0.2, 0.28, 0.0) if name == "dapo" else (0.2, 0.2, 0.01))
    arguments = trl_arguments(recipe, Path("out"), recipe.trl.gpus)
    episodes = arguments["per_device_train_batch_size"] * arguments["gradient_accumulation_steps"]
    assert episodes * recipe.trl.gpus == 32 * 4
    keys = dict(
        one.split("=", 1) for one in verl_overrides(recipe, "m", VerlFiles.under(Path("o")), Path("o"))
    )
    assert int(keys["trainer.nnodes"]) * int(keys["trainer.n_gpus_per_node"]) == recipe.machine.gpus
    assert keys["actor_rollout_ref.actor.clip_ratio_high"] == str(clips[1])
    assert keys["algorithm.filter_groups.enable"] == ("true" if name == "dapo" else "false")


def test_all_sizes_have_both_algorithms() -> None:
    assert [path.stem for path in FILES] == [
        f"{name}_{size}" for name in ("dapo", "grpo") for size in ("14b", "32b", "8b")
    ]


def test_every_fault_of_a_recipe_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(
        "algorithm: {name: dapo, kl: 0.1}\nschedule: {questions: 6, updates: 4, lr: 1}\nepisode: {most: 0}\n"
    )
    with pytest.raises(TrainingError) as caught:
        read_recipe(path)
    for part in ("algorithm: dapo has kl: 0", "schedule.lr: Extra inputs", "episode.most", "found 0"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a", "must be a mapping"),
        ("a: [", "is no YAML"),
        ("algorithm: {name: grpo}", "grpo clips alike on both sides"),
        ("algorithm: {name: dapo}\nreward: {overlong_from: 9}", "go together"),
        ("algorithm: {name: dapo}\nreward: {overlong_from: 9, overlong_to: 9}", "more than overlong_from"),
        ("algorithm: {name: dapo}\nreward: {graded: {words: 0.9, evidence: 0.2}}", "must stay below 1"),
        (
            "algorithm: {name: dapo}\ntrl: {attention: flash_attention_2, episodes_per_device: 2}",
            "one row only",
        ),
        ("algorithm: {name: dapo}\nschedule: {questions: 6, updates: 4}", "cannot be split into updates"),
    ],
)
def test_a_broken_recipe_is_refused_in_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    with pytest.raises(TrainingError, match=said):
        read_recipe(path)


def test_a_missing_recipe_names_those_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rl", "--recipe", "nowhere.yaml", "--dry-run"]) == 1
    assert "give a file or one of dapo_14b" in capsys.readouterr().err


def test_a_draw_is_split_over_processes_by_whole_groups() -> None:
    recipe = RlRecipe.model_validate({"algorithm": {"name": "dapo"}, "schedule": {"questions": 6}})
    assert trl_arguments(recipe, Path("o"), 3)["gradient_accumulation_steps"] == 8
    with pytest.raises(TrainingError, match="6 questions × 4 episodes cannot be split over 4 processes"):
        trl_arguments(recipe, Path("o"), 4)


def test_several_updates_of_a_draw_share_its_episodes() -> None:
    recipe = RlRecipe.model_validate(
        {"algorithm": {"name": "dapo"}, "schedule": {"questions": 8, "steps": 10, "updates": 2}}
    )
    arguments = trl_arguments(recipe, Path("o"), 1)
    assert arguments["max_steps"] == 20
    assert arguments["gradient_accumulation_steps"] == 16
    assert arguments["steps_per_generation"] == 32


def test_a_dry_run_prints_what_the_engine_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rl", "--recipe", "dapo_14b", "--dry-run"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["GRPOConfig"]["epsilon_high"] == 0.28
    assert told["start"].startswith("torchrun --nproc-per-node 8")


def test_broken_questions_are_named_by_line_all_at_once(tmp_path: Path) -> None:
    path = write_memories(tmp_path, 1, seed=3)
    good = path.read_text(encoding="utf-8").splitlines()[0]
    row = json.loads(good)
    lines = [
        good,
        "{not json",
        json.dumps({**row, "id": "b", "memory": "elsewhere"}),
        good,
        json.dumps({**row, "id": "c", "question": " "}),
        json.dumps({**row, "id": "d", "memory": "../.."}),
        json.dumps({**row, "id": "e", "befor_clip": 3}),
        json.dumps({"id": "f"}),
        json.dumps([1]),
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(TrainingError) as caught:
        read_questions(path, tmp_path)
    said = str(caught.value)
    for number, part in (
        (2, "no JSON"),
        (3, "there is no memory"),
        (4, "stands also in line 1"),
        (5, "the question is empty"),
        (6, "is no folder under"),
        (7, "befor_clip"),
        (8, "memory: Field required"),
        (9, ""),
    ):
        assert f"{path}:{number}: " in said
        assert part in said


def test_no_questions_at_all_are_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n\n")
    with pytest.raises(TrainingError, match="holds no question"):
        read_questions(empty, tmp_path)
    with pytest.raises(TrainingError, match="cannot be read"):
        read_questions(tmp_path / "none.jsonl", tmp_path)


def test_a_run_goes_on_from_its_last_whole_checkpoint_and_with_its_own_recipe(tmp_path: Path) -> None:
    recipe = RlRecipe.model_validate({"algorithm": {"name": "dapo"}})
    assert last_checkpoint(tmp_path, recipe) is None
    for step, state in ((5, "{}"), (10, "{}"), (15, '{"global_st')):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text(state)
    (tmp_path / "checkpoint-20").mkdir()
    with pytest.raises(TrainingError, match="holds checkpoints of something else"):
        last_checkpoint(tmp_path, recipe)
    (tmp_path / "recipe.json").write_text(json.dumps(recipe.model_dump(mode="json")))
    assert last_checkpoint(tmp_path, recipe) == tmp_path / "checkpoint-10"
    other = recipe.model_copy(update={"model": "another"})
    with pytest.raises(TrainingError, match="begun with another recipe"):
        last_checkpoint(tmp_path, other)
