"""verl's agent loop over the robot's episode: it asks verl's servers turn by turn and ends after H rounds at most."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
from verl.utils.profiler import simple_timer

from offline_tools.train.episodes import Episode
from offline_tools.train.packing import ChatEncoder
from offline_tools.train.rewards import JudgeFailed, Reward, reward_of
from offline_tools.train.rl_setting import Setting, open_setting

_SETTINGS: dict[tuple[str, ...], Setting] = {}  # of this worker, whose loops share one thread


class EpisodeLoop(AgentLoopBase):
    """One episode. Its rounds are outputs of their own, each of which holds what the robot shows in that round.

    verl keeps them together by question and episode, and gives all of them the advantage of the last; the mask is 1 on
    what the model wrote, which is the whole response, since what a search found stands in the next round's prompt.
    """

    def __init__(
        self,
        *arguments: Any,
        recipe: str,
        questions: str,
        memories: str,
        judge: str,
        config: str,
        **named: Any,
    ) -> None:
        super().__init__(*arguments, **named)
        key = (recipe, questions, memories, judge, config)
        if key not in _SETTINGS:
            _SETTINGS[key] = open_setting(
                Path(recipe), Path(questions), Path(memories), judge, Path(config) if config else None
            )
        self._setting = _SETTINGS[key]
        episode = self._setting.recipe.episode
        self._encoder = ChatEncoder(self.tokenizer, episode.context_tokens, episode.template)

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> list[AgentLoopOutput]:
        """The rounds of one episode of the row's question, in order. Raises JudgeFailed, which fails its group."""
        question = self._setting.questions.by_id[row["extra_info"]["question"]]
        episode = self._setting.memories.episode(question, self._encoder)
        metrics: dict[str, Any] = {}
        outputs = []
        request = uuid4().hex
        while not episode.finished:
            outputs.append(await self._round(episode, request, sampling_params, metrics))
        reward = await asyncio.to_thread(
            reward_of, episode.played(), self._setting.recipe.reward, self._setting.judge
        )
        for output in outputs:
            output.reward_score = reward.total
            output.extra_fields |= {"reward_extra_info": _told(reward), "turn_scores": [], "tool_rewards": []}
            output.num_turns = 2 * len(outputs)
        return outputs

    async def _round(
        self, episode: Episode, request: str, sampling_params: dict[str, Any], metrics: dict[str, Any]
    ) -> AgentLoopOutput:
        prompt = self._encoder(episode.prompt())
        most = self._setting.recipe.episode.reply_tokens
        with simple_timer("generate_sequences", metrics):
            token_output = await self.server_manager.generate(
                request_id=request,
                prompt_ids=prompt,
                sampling_params={**sampling_params, "max_tokens": most},
            )
        ids = list(token_output.token_ids)[:most]
        reply = self._encoder.reply(ids, token_output.log_probs[:most] if token_output.log_probs else None)
        episode.reply(reply.text, len(ids))
        return AgentLoopOutput(
            prompt_ids=prompt,
            response_ids=ids,
            response_mask=[1] * len(ids),
            response_logprobs=list(reply.logprobs) if reply.logprobs is not None else None,
            metrics=AgentLoopMetrics(**metrics),
            extra_fields=dict(token_output.extra_fields),
        )


def _told(reward: Reward) -> dict[str, Any]:
    """What verl filters groups by (`judged`) and logs."""
    return {"judged": reward.judged, "acc": float(reward.right), "fault": float(bool(reward.fault))}


__all__ = ["EpisodeLoop", "JudgeFailed"]
