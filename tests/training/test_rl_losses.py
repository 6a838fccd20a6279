"""What the recipes make of TRL's loss: which tokens move, how far, and how episodes are weighed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the training extra: make setup-training")
pytestmark = pytest.mark.training

from datasets import Dataset  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

from offline_tools.train.rl_recipe import RlRecipe  # noqa: E402
from offline_tools.train.rl_trl import episode_reward, trl_arguments  # noqa: E402
from tests.training.search_model import make_model, make_tokenizer  # noqa: E402

DAPO = {"name": "dapo"}
SYMMETRIC = {"name": "dapo", "clip_high": 0.2}
GRPO = {"name": "grpo", "clip_high": 0.2, "kl": 0.01, "loss": "episode", "dynamic_sampling": False}


class GivenLogps(GRPOTrainer):  # type: ignore[misc]
    """TRL's trainer where the log-probabilities are given instead of computed."""

    given: Any = None

    def _get_per_token_logps_and_entropies(self, *_: Any, **__: Any) -> Any:
        return self.given, torch.zeros_like(self.given), None


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in a folder: GRPO's divergence needs one that can be loaded."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = make_tokenizer()
    make_model(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def gradient(
    algorithm: dict[str, Any],
    checkpoint: Path,
    tmp_path: Path,
    *,
    ratio: float = 1.0,
    advantages: tuple[float, float] = (1.0, 1.0),
    masks: tuple[tuple[int, ...], tuple[int, ...]] = ((1, 1, 1, 1), (1, 1, 1, 1)),
    written: tuple[tuple[int, ...], tuple[int, ...]] = ((1, 1, 1, 1), (1, 1, 1, 1)),
) -> Any:
    """The loss's gradient by the log-probability of each token of two episodes' completions.

    ratio: of new to old probability; masks: 0 on padding; written: 1 on what the model wrote.
    """
    recipe = RlRecipe.model_validate(
        {
            "algorithm": algorithm,
            "schedule": {"questions": 1, "steps": 1},
            "trl": {"episodes_per_device": 4, "arguments": {"save_strategy": "no", "disable_tqdm": True}},
        }
    )
    trainer = GivenLogps(
        model=str(checkpoint),
        reward_funcs=episode_reward,
        args=GRPOConfig(**trl_arguments(recipe, tmp_path, 1)),
        train_dataset=Dataset.from_list([{"prompt": "x"}]),
    )
    trainer.model.train()
    trainer.current_gradient_accumulation_steps = 1
    old = torch.full((2, 4), -1.0)
    trainer.given = (old + torch.log(torch.tensor(ratio))).requires_grad_()
    mask, tool_mask = torch.tensor(masks), torch.tensor(written)
    inputs = {
        "prompt_ids": torch.ones((2, 3), dtype=torch.long),
        "prompt_mask": torch.ones((2, 3), dtype=torch.long),
        "completion_ids": torch.ones((2, 4), dtype=torch.long),
        "completion_mask": mask,
        "tool_mask": tool_mask,
        "advantages": torch.tensor(advantages),
        "old_per_token_logps": old,
        "ref_per_token_logps": old - 0.5,
        "num_items_in_batch": (mask * tool_mask).sum(),
    }
    trainer.compute_loss(trainer.model, inputs).backward()
    return trainer.given.grad


@pytest.mark.parametrize("algorithm", [DAPO, GRPO], ids=["dapo", "grpo"])
def test_what_was_found_and_what_is_padding_gets_no_gradient_at_all(
    algorithm: dict[str, Any], checkpoint: Path, tmp_path: Path
) -> None:
    masks, written = ((1, 1, 1, 1), (1, 1, 0, 0)), ((1, 0, 0, 1), (1, 1, 1, 1))
    found = gradient(algorithm, checkpoint, tmp_path, masks=masks, written=written)
    taught = torch.tensor(masks).bool() & torch.tensor(written).bool()
    assert (found[~taught] == 0.0).all()
    assert (found[taught] != 0.0).all()


def test_a_likelier_good_token_is_held_back_later_with_a_higher_clip(
    checkpoint: Path, tmp_path: Path
) -> None:
    assert (gradient(SYMMETRIC, checkpoint, tmp_path, ratio=1.25) == 0.0).all()
    higher = gradient(DAPO, checkpoint, tmp_path, ratio=1.25)
    assert torch.allclose(higher, torch.full((2, 4), -1.25 / 8))
    assert (gradient(DAPO, checkpoint, tmp_path, ratio=1.29) == 0.0).all()


def test_an_unlikelier_bad_token_is_held_back_alike(checkpoint: Path, tmp_path: Path) -> None:
    for algorithm in (SYMMETRIC, DAPO):
        low = gradient(algorithm, checkpoint, tmp_path, ratio=0.75, advantages=(-1.0, -1.0))
        assert (low == 0.0).all()


def test_dapo_weighs_tokens_alike_and_grpo_episodes(checkpoint: Path, tmp_path: Path) -> None:
    written = ((1, 0, 0, 0), (1, 1, 1, 0))
    by_token = gradient(DAPO, checkpoint, tmp_path, written=written)
    assert torch.allclose(by_token[0, 0], by_token[1, 0])
    assert torch.allclose(by_token[0, 0], torch.tensor(-1 / 4))
    without_kl = {**GRPO, "kl": 0.0}
    by_episode = gradient(without_kl, checkpoint, tmp_path, written=written)
    assert torch.allclose(by_episode[0, 0], torch.tensor(-1 / 2))
    assert torch.allclose(by_episode[1, :3], torch.tensor(-1 / 6))


def test_grpo_holds_to_the_first_model_and_dapo_does_not(checkpoint: Path, tmp_path: Path) -> None:
    assert (gradient(DAPO, checkpoint, tmp_path, advantages=(0.0, 0.0)) == 0.0).all()
    held = gradient(GRPO, checkpoint, tmp_path, advantages=(0.0, 0.0))
    each = (
        0.01 * (1.0 - torch.exp(torch.tensor(-0.5))) / 8
    )  # d/dx of 0.01 (exp(r - x) - (r - x) - 1), r - x = -0.5
    assert torch.allclose(held, each.expand(2, 4))
