"""What a draw gives the trainer: whole groups, equal ones replaced or masked, and nothing of what had no verdict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the training extra: make setup-training")
pytestmark = pytest.mark.training

from offline_tools.train.episodes import Played, Player, Reply  # noqa: E402
from offline_tools.train.errors import TrainingError  # noqa: E402
from offline_tools.train.packing import ChatEncoder, Row  # noqa: E402
from offline_tools.train.rewards import Judge, JudgeFailed, exact_judge  # noqa: E402
from offline_tools.train.rl_questions import TrainingQuestion, read_questions  # noqa: E402
from offline_tools.train.rl_recipe import RlRecipe  # noqa: E402
from offline_tools.train.rollouts import Draw, Ranks, Rollouts  # noqa: E402
from tests.training.search_model import make_tokenizer  # noqa: E402
from tests.training.search_task import ROOMS, open_memories, write_memories  # noqa: E402

TOKENIZER = make_tokenizer()
Drawn = Callable[..., Draw]


@pytest.fixture
def questions(tmp_path: Path) -> dict[str, TrainingQuestion]:
    return read_questions(write_memories(tmp_path, 3, seed=1), tmp_path).by_id


@pytest.fixture
def drawn(tmp_path: Path, questions: dict[str, TrainingQuestion]) -> Iterator[Drawn]:
    memories = open_memories(tmp_path)
    encoder = ChatEncoder(TOKENIZER, 256, {})

    def draw(
        ids: Sequence[str], player: Player, judge: Judge = exact_judge, *, dynamic: bool = True, step: int = 0
    ) -> Draw:
        algorithm = {"name": "dapo"} if dynamic else {"name": "grpo", "clip_high": 0.2, "loss": "episode"}
        recipe = RlRecipe.model_validate(
            {
                "algorithm": {**algorithm, "dynamic_sampling": dynamic},
                "episode": {"reply_tokens": 6},
                "reward": {"judge": "exact"},
            }
        )
        rollouts = Rollouts(recipe, questions, memories, encoder, judge, log=tmp_path / "log")
        return rollouts.draw(ids, player, step, Ranks())

    yield draw
    memories.close()


def player(wrong: Callable[[str, int], bool]) -> Player:
    """Solves the task, but answers at once and wrongly where `wrong` says so of the thing and the episode's number."""

    def played(prompts: Sequence[Sequence[int]]) -> list[Reply]:
        replies = []
        for number, prompt in enumerate(prompts):
            words = TOKENIZER.decode(list(prompt)).split()
            thing, best = (
                words[words.index("be") - 1],
                words[len(words) - 1 - words[::-1].index("<|im_end|>") - 1],
            )
            text = f"[Answer] {best}" if best in ROOMS else f"[Search] {best}"
            if words.count("[") == 2 and wrong(
                thing, number % 4
            ):  # two memories are shown in the first round alone
                text = "[Answer] nothing"
            replies.append(Reply(text, tuple(TOKENIZER(f"{text} <|im_end|>")["input_ids"])))
        return replies

    return played


def thing_of(question: str) -> str:
    return question.rpartition("-")[2]


def test_the_groups_come_back_whole_and_in_order(
    drawn: Drawn, questions: dict[str, TrainingQuestion]
) -> None:
    ids = sorted(questions)[:3]
    draw = drawn(ids, player(lambda _, number: number == 1))
    assert [group.question.id for group in draw.groups] == ids
    assert draw.rewards == [1.0, 0.0, 1.0, 1.0] * 3
    assert [len(one.rounds) for one in draw.groups[0].played][1] == 1
    assert all(sum(row.mask) == one.written_tokens for row, one in pairs(draw))
    assert draw.counts["groups equal"] == draw.counts["groups lacking"] == 0


def pairs(draw: Draw) -> list[tuple[Row, Played]]:
    return list(zip(draw.rows, [one for group in draw.groups for one in group.played], strict=True))


def test_groups_of_equal_rewards_are_replaced_by_other_questions(
    drawn: Drawn, questions: dict[str, TrainingQuestion]
) -> None:
    ids = sorted(questions)[:4]
    easy = {thing_of(one) for one in ids[:2]}
    draw = drawn(ids, player(lambda thing, number: thing not in easy and number == 0))
    assert len(draw.groups) == 4
    assert {thing_of(group.question.id) for group in draw.groups} & easy == set()
    assert all(group.teaches for group in draw.groups)
    assert sorted(set(draw.rewards)) == [0.0, 1.0]
    assert draw.counts["groups"] > 4
    assert all(sum(row.mask) > 0 for row in draw.rows)


def test_what_cannot_be_replaced_teaches_nothing(
    drawn: Drawn, questions: dict[str, TrainingQuestion]
) -> None:
    ids = sorted(questions)[:2]
    draw = drawn(ids, player(lambda thing, number: False))
    assert len(draw.rows) == len(draw.rewards) == 8
    assert all(sum(row.mask) == 0 for row in draw.rows)
    assert draw.counts["groups lacking"] == 2
    assert draw.counts["groups"] == 2 * 3  # three draws, and no more


def test_grpo_keeps_equal_groups_and_draws_once(drawn: Drawn, questions: dict[str, TrainingQuestion]) -> None:
    ids = sorted(questions)[:2]
    draw = drawn(ids, player(lambda thing, number: False), dynamic=False)
    assert draw.counts["groups"] == draw.counts["groups equal"] == 2
    assert all(sum(row.mask) > 0 for row in draw.rows)


def test_a_step_that_is_done_again_draws_the_same_replacements(
    drawn: Drawn, questions: dict[str, TrainingQuestion], tmp_path: Path
) -> None:
    ids = sorted(questions)[:3]
    waves = []
    for step in (7, 7, 8):
        drawn(ids, player(lambda thing, number: False), step=step)
        names = [f"step-{step:06}.rank-0.wave-{wave}.jsonl" for wave in (1, 2, 3)]
        waves.append([(tmp_path / "log" / name).read_text() for name in names])
    assert waves[0] == waves[1]
    assert waves[0][0] == waves[2][0]
    assert waves[0][1:] != waves[2][1:]


@pytest.mark.parametrize("dynamic", [True, False])
def test_a_group_without_a_verdict_teaches_nothing(
    drawn: Drawn, questions: dict[str, TrainingQuestion], dynamic: bool
) -> None:
    ids = sorted(questions)[:2]
    lost = questions[ids[0]].question

    def judge(question: str, truth: str, answer: str) -> bool:
        if question == lost and answer.lower() == truth:
            raise JudgeFailed("no answer within 5 s")
        return exact_judge(question, truth, answer)

    draw = drawn(ids, player(lambda thing, number: number == 0), judge, dynamic=dynamic)
    if dynamic:
        assert lost not in {group.question.question for group in draw.groups}
        assert draw.counts["without verdict"] >= 3
    else:
        assert [sum(row.mask) > 0 for row in draw.rows] == [False] * 4 + [True] * 4


def test_a_judge_that_is_gone_ends_the_run_in_one_sentence_and_what_was_played_is_kept(
    drawn: Drawn, questions: dict[str, TrainingQuestion], tmp_path: Path
) -> None:
    def gone(question: str, truth: str, answer: str) -> bool:
        raise JudgeFailed("the judge qwen gave no verdict on 'attic': no answer within 5 s")

    ids = sorted(questions)[:2]
    drawn(ids, player(lambda thing, number: number == 0), step=1)
    with pytest.raises(
        TrainingError, match=r"no answer within 5 s; so it went for 8 of 8 episodes: see to the judge"
    ):
        drawn(ids, player(lambda thing, number: False), gone, step=2)
    kept = (tmp_path / "log" / "step-000001.rank-0.wave-1.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in kept.splitlines()]
    assert len(rows) == 8
    assert rows[0]["turns"] == ["[Answer] nothing"]
    assert rows[1]["reward"]["right"]
