"""How often a model's greedy episodes are right, over questions that it was or was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from offline_tools.train.episodes import Memories, Player, Reply, play
from offline_tools.train.errors import TrainingError
from offline_tools.train.packing import ChatEncoder
from offline_tools.train.rewards import Judge, JudgeFailed, reward_of
from offline_tools.train.rl_questions import TrainingQuestion
from offline_tools.train.rl_recipe import RlRecipe

_AT_ONCE = 64


@dataclass(frozen=True)
class Accuracy:
    """Shares of the episodes, and means over them. unjudged: episodes without a verdict, which count as wrong."""

    episodes: int
    right: float
    faults: float
    rounds: float
    written_tokens: float
    unjudged: int


def accuracy(
    recipe: RlRecipe,
    questions: Sequence[TrainingQuestion],
    memories: Memories,
    encoder: ChatEncoder,
    player: Player,
    judge: Judge,
) -> Accuracy:
    """One episode of each question. Raises TrainingError where there are no questions."""
    if not questions:
        raise TrainingError("no question is left for a model to answer: there is no accuracy")
    right, faults, rounds, tokens, unjudged = [], [], [], [], 0
    for at in range(0, len(questions), _AT_ONCE):
        episodes = [memories.episode(one, encoder) for one in questions[at : at + _AT_ONCE]]
        for transcript in play(episodes, encoder, player):
            played = transcript.episode.played()
            rounds.append(len(played.rounds))
            tokens.append(played.written_tokens)
            try:
                reward = reward_of(played, recipe.reward, judge)
            except JudgeFailed:
                unjudged += 1
                right.append(False)
                continue
            right.append(reward.right)
            faults.append(bool(reward.fault))
        memories.rest()
    return Accuracy(
        episodes=len(right),
        right=round(mean(right), 4),
        faults=round(mean(faults), 4) if faults else 0.0,
        rounds=round(mean(rounds), 2),
        written_tokens=round(mean(tokens), 1),
        unjudged=unjudged,
    )


def greedy_player(model: Any, tokenizer: Any, encoder: ChatEncoder, reply_tokens: int) -> Player:
    """The most likely turns of a transformers model."""

    def played(prompts: Sequence[Sequence[int]]) -> list[Reply]:
        import torch

        width = max(len(one) for one in prompts)
        ids = torch.full((len(prompts), width), tokenizer.pad_token_id, device=model.device)
        mask = torch.zeros_like(ids)
        for row, one in enumerate(prompts):
            ids[row, width - len(one) :] = torch.tensor(list(one))
            mask[row, width - len(one) :] = 1
        was_training = model.training
        model.eval()
        try:
            with torch.no_grad():
                written = model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    max_new_tokens=reply_tokens,
                    do_sample=False,
                    temperature=None,
                    top_p=None,
                    top_k=None,
                    pad_token_id=tokenizer.pad_token_id,
                )
        finally:
            model.train(was_training)
        return [encoder.reply(_until_end(row.tolist()[width:], tokenizer)) for row in written]

    return played


def _until_end(ids: list[int], tokenizer: Any) -> list[int]:
    ends = [at for at, one in enumerate(ids) if one in (tokenizer.eos_token_id, tokenizer.pad_token_id)]
    return ids[: ends[0] + 1] if ends else ids
