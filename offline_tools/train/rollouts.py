"""Episodes for the trainer: played in groups, judged, and drawn again where equal rewards teach nothing."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from offline_tools.train.episodes import Memories, Played, Player, play
from offline_tools.train.errors import TrainingError
from offline_tools.train.packing import ChatEncoder, Row, packed
from offline_tools.train.rewards import Judge, JudgeFailed, Reward, reward_of
from offline_tools.train.rl_questions import TrainingQuestion
from offline_tools.train.rl_recipe import RlRecipe

_FAILURES_BORNE = 0.5  # of the episodes of one draw; beyond, the judge is taken to be gone


@dataclass(frozen=True)
class Group:
    """The episodes of one question, with their rows and rewards. reward None: no verdict was to be had."""

    question: TrainingQuestion
    rows: tuple[Row, ...]
    played: tuple[Played, ...]
    rewards: tuple[Reward | None, ...]

    @property
    def unjudged(self) -> bool:
        return any(reward is None for reward in self.rewards)

    @property
    def teaches(self) -> bool:
        """Whether rewards differ, and all are known."""
        known = [reward.judged for reward in self.rewards if reward is not None]
        return not self.unjudged and max(known) - min(known) > 1e-6


@dataclass
class Draw:
    """What a draw gave: its groups, as many as questions were asked for, and what was left out on the way.

    unequal_only: whether groups of equal rewards are masked, and not only those without a verdict.
    """

    unequal_only: bool
    groups: list[Group] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def rows(self) -> list[Row]:
        """The rows, group by group; those of a group that teaches nothing are masked."""
        return [row if self._counts(group) else row.silent for group in self.groups for row in group.rows]

    @property
    def rewards(self) -> list[float]:
        return [reward.total if reward else 0.0 for group in self.groups for reward in group.rewards]

    def _counts(self, group: Group) -> bool:
        return group.teaches or not (self.unequal_only or group.unjudged)


@dataclass(frozen=True)
class Ranks:
    """This process among those that train together, and whether any of them still has something to do."""

    number: int = 0
    anybody: Callable[[bool], bool] = lambda here: here


class Rollouts:
    """Plays what the trainer asks for. questions: those that replacements are drawn from.

    judged_at_once: calls of the judge side by side, 1 for a model in a process; log: a folder for records.
    """

    def __init__(
        self,
        recipe: RlRecipe,
        questions: Mapping[str, TrainingQuestion],
        memories: Memories,
        encoder: ChatEncoder,
        judge: Judge,
        *,
        judged_at_once: int = 1,
        log: Path | None = None,
    ) -> None:
        self._recipe = recipe
        self._questions = questions
        self._memories = memories
        self._encoder = encoder
        self._judge = judge
        self._judged_at_once = judged_at_once
        self._log = log

    def draw(self, ids: Sequence[str], player: Player, step: int, ranks: Ranks) -> Draw:
        """A group for each id. Raises TrainingError where the judge fails for most episodes.

        With dynamic sampling, groups that teach nothing are replaced by ones of other questions (drawn alike whenever
        the same step is done again), by at most `waves` draws in all; what is still lacking is filled with them.
        """
        algorithm = self._recipe.algorithm
        chance = random.Random(f"{self._recipe.schedule.seed}/{step}/{ranks.number}")
        draw, spare, asked = Draw(algorithm.dynamic_sampling), list[Group](), list(ids)
        for wave in range(1, (algorithm.waves if algorithm.dynamic_sampling else 1) + 1):
            groups = self._groups([self._questions[one] for one in asked], player, ranks)
            self._write(groups, step, wave, ranks)
            draw.counts.update(self._counted(groups))
            for group in groups:
                kept = draw.groups if group.teaches or not algorithm.dynamic_sampling else spare
                kept.append(group)
            lacking = len(ids) - len(draw.groups)
            if not ranks.anybody(lacking > 0):
                break
            asked = self._others(chance, lacking)
        lacking = len(ids) - len(draw.groups)
        draw.groups += spare[:lacking]
        draw.counts["groups lacking"] = lacking
        self._memories.rest()
        return draw

    def _others(self, chance: random.Random, count: int) -> list[str]:
        names = sorted(self._questions)
        return chance.sample(names, count) if count <= len(names) else chance.choices(names, k=count)

    def _groups(self, questions: Sequence[TrainingQuestion], player: Player, ranks: Ranks) -> list[Group]:
        size = self._recipe.algorithm.group
        episodes = [
            episode
            for question in questions
            for episode in self._memories.episodes(question, self._encoder, size)
        ]
        transcripts = play(episodes, self._encoder, player, anybody=ranks.anybody)
        played = [one.episode.played() for one in transcripts]
        rewards = self._judged(played)
        rows = [packed(one, self._encoder.separator) for one in transcripts]
        return [
            Group(
                question,
                tuple(rows[at : at + size]),
                tuple(played[at : at + size]),
                tuple(rewards[at : at + size]),
            )
            for question, at in zip(questions, range(0, len(rows), size), strict=True)
        ]

    def _judged(self, played: Sequence[Played]) -> list[Reward | None]:
        failures: list[str] = []

        def judged(one: Played) -> Reward | None:
            try:
                return reward_of(one, self._recipe.reward, self._judge)
            except JudgeFailed as error:
                failures.append(str(error))
                return None

        with ThreadPoolExecutor(self._judged_at_once) as pool:
            rewards = list(pool.map(judged, played))
        if len(failures) > _FAILURES_BORNE * len(played):
            raise TrainingError(
                f"{failures[-1]}; so it went for {len(failures)} of {len(played)} episodes: see to the judge and "
                "start again, which goes on from the last checkpoint"
            )
        return rewards

    def _counted(self, groups: Sequence[Group]) -> Counter[str]:
        rewards = [reward for group in groups for reward in group.rewards]
        return Counter(
            {
                "episodes": len(rewards),
                "right": sum(reward is not None and reward.right for reward in rewards),
                "faults of form": sum(reward is not None and bool(reward.fault) for reward in rewards),
                "without verdict": sum(reward is None for reward in rewards),
                "rounds": sum(len(one.rounds) for group in groups for one in group.played),
                "groups": len(groups),
                "groups equal": sum(not group.teaches for group in groups),
            }
        )

    def _write(self, groups: Sequence[Group], step: int, wave: int, ranks: Ranks) -> None:
        """Keep what was played, for people to read; a step that is done again writes over its first attempt."""
        if self._log is None:
            return
        lines = [
            json.dumps(
                {
                    "question": group.question.id,
                    "turns": [one.raw for one in played.rounds],
                    "told": played.told,
                    "reward": asdict(reward) if reward else None,
                },
                ensure_ascii=False,
            )
            for group in groups
            for played, reward in zip(group.played, group.rewards, strict=True)
        ]
        self._log.mkdir(parents=True, exist_ok=True)
        name = f"step-{step:06}.rank-{ranks.number}.wave-{wave}.jsonl"
        (self._log / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
