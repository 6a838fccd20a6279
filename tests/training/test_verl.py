"""Recipes as verl composes and checks them, and its agent loop over the robot's episodes.

verl needs an environment of its own (the cluster extra): pip install 'hearsight[cluster]' pytest pytest-timeout, then
pytest -m training tests/training/test_verl.py.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("verl", reason="needs the cluster extra, in an environment of its own")
pytestmark = pytest.mark.training

with warnings.catch_warnings():  # of verl's own imports
    warnings.simplefilter("ignore")
    from omegaconf import OmegaConf

    from offline_tools.train import verl_agent
from offline_tools.train.errors import TrainingError  # noqa: E402
from offline_tools.train.rewards import exact_judge  # noqa: E402
from offline_tools.train.rl_questions import read_questions  # noqa: E402
from offline_tools.train.rl_recipe import RECIPES, RlRecipe, read_recipe  # noqa: E402
from offline_tools.train.rl_setting import Setting  # noqa: E402
from offline_tools.train.verl_config import VerlFiles, composed, verl_overrides, write_files  # noqa: E402
from tests.training.search_model import make_tokenizer  # noqa: E402
from tests.training.search_task import ROOMS, open_memories, write_memories  # noqa: E402

OUT = Path("out")


@pytest.mark.parametrize("name", ["dapo_8b", "dapo_14b", "dapo_32b", "grpo_8b", "grpo_14b", "grpo_32b"])
def test_verl_composes_and_accepts_each_recipe(name: str) -> None:
    recipe = read_recipe(RECIPES / f"{name}.yaml")
    config = OmegaConf.create(composed(verl_overrides(recipe, recipe.model, VerlFiles.under(OUT), OUT)))
    assert config.trainer.nnodes * config.trainer.n_gpus_per_node == recipe.machine.gpus
    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    assert (config.data.train_batch_size, rollout.n) == (32, 4)
    assert rollout.multi_turn.max_assistant_turns == 5
    assert config.trainer.total_training_steps == 180
    assert actor.optim.lr == 1e-6
    assert config.algorithm.filter_groups.enable == name.startswith("dapo")
    if name.startswith("dapo"):
        assert (actor.clip_ratio_low, actor.clip_ratio_high) == (0.2, 0.28)
        assert (actor.loss_agg_mode, actor.use_kl_loss) == ("token-mean", False)
    else:
        assert (actor.clip_ratio_low, actor.clip_ratio_high) == (0.2, 0.2)
        assert (actor.use_kl_loss, actor.kl_loss_coef) == (True, 0.01)


def test_what_verl_refuses_is_told() -> None:
    recipe = RlRecipe.model_validate(
        {
            "algorithm": {"name": "dapo"},
            "machine": {"gpus": 16},
            "verl": {"overrides": {"trainer.no_such_key": 1}},
        }
    )
    with pytest.raises(TrainingError, match=r"verl refuses this recipe: .*no_such_key"):
        composed(verl_overrides(recipe, "model", VerlFiles.under(OUT), OUT))


class Server:
    """Stands in for verl's servers: writes wise turns, or searches on for ever."""

    def __init__(self, tokenizer: Any, *, wise: bool) -> None:
        self._tokenizer = tokenizer
        self._wise = wise
        self.prompts: list[list[int]] = []

    async def generate(
        self, *, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any]
    ) -> Any:
        self.prompts.append(prompt_ids)
        words = self._tokenizer.decode(prompt_ids).split()
        best = words[len(words) - 1 - words[::-1].index("<|im_end|>") - 1]
        text = (
            f"[Answer] {best}"
            if self._wise and best in ROOMS
            else f"[Search] {best if self._wise else 'pot'}"
        )
        ids = self._tokenizer(f"{text} <|im_end|>")["input_ids"][: sampling_params["max_tokens"]]
        return SimpleNamespace(
            token_ids=ids, log_probs=[-0.5] * len(ids), extra_fields={"min_global_steps": 3}
        )


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    recipe = RlRecipe.model_validate(
        {
            "algorithm": {"name": "dapo"},
            "episode": {"reply_tokens": 6, "context_tokens": 256},
            "reward": {"judge": "exact"},
        }
    )
    questions = read_questions(write_memories(tmp_path, 1, seed=1), tmp_path)
    return Setting(recipe, questions, open_memories(tmp_path), exact_judge, 1)


def run(setting: Setting, question: str, *, wise: bool) -> tuple[list[Any], Server, Any]:
    """The outputs of one episode."""
    tokenizer = make_tokenizer()
    loop = verl_agent.EpisodeLoop.__new__(verl_agent.EpisodeLoop)
    server = Server(tokenizer, wise=wise)
    loop.server_manager = server
    loop._setting = setting
    loop._encoder = verl_agent.ChatEncoder(tokenizer, 256, {})
    row = {"extra_info": {"question": question}}
    return asyncio.run(loop.run({"temperature": 1.0}, **row)), server, tokenizer


def test_each_round_is_an_output_with_the_robots_prompt_and_what_the_model_wrote(setting: Setting) -> None:
    for question in setting.questions.questions:
        outputs, server, tokenizer = run(setting, question.id, wise=True)
        assert len(outputs) == len(question.evidence)
        assert [one.prompt_ids for one in outputs] == server.prompts
        assert all(one.response_mask == [1] * len(one.response_ids) for one in outputs)
        assert all(len(one.response_logprobs) == len(one.response_ids) for one in outputs)
        assert {one.reward_score for one in outputs} == {1.0}
        assert {one.extra_fields["reward_extra_info"]["judged"] for one in outputs} == {1.0}
        assert outputs[0].extra_fields["min_global_steps"] == 3
        told = tokenizer.decode(outputs[-1].response_ids)
        assert told.startswith(f"[Answer] {question.answer}")


def test_an_episode_ends_after_five_rounds(setting: Setting) -> None:
    outputs, _, _ = run(setting, setting.questions.questions[0].id, wise=False)
    assert len(outputs) == 5
    assert {one.reward_score for one in outputs} == {0.0}
    assert outputs[-1].extra_fields["reward_extra_info"]["fault"] == 1.0


def test_verl_reads_the_questions_and_where_everything_is(setting: Setting, tmp_path: Path) -> None:
    import datasets
    import yaml

    files = VerlFiles.under(tmp_path / "run")
    where = {"recipe": "r", "questions": "q", "memories": "m", "judge": "", "config": ""}
    write_files(files, setting.questions.questions, where)
    rows = datasets.Dataset.from_parquet(str(files.data))
    assert [row["extra_info"]["question"] for row in rows] == [one.id for one in setting.questions.questions]
    (loop,) = yaml.safe_load(files.agent.read_text())
    assert loop == {"name": "hearsight", "_target_": "offline_tools.train.verl_agent.EpisodeLoop", **where}
    assert json.loads(json.dumps(loop)) == loop
