"""Evaluations with models that fail, write rubbish and run out of time at random: in the end all comes out the same."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from models.errors import ModelError
from models.language import Message
from offline_tools.bench.kept_completions import TimeIsUp
from offline_tools.evaluate.errors import EvaluateError
from tests.evaluated import Bench, reply, sample
from tests.scripted_language import ScriptedLanguage

MODEL, JUDGE = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"
RUBBISH = (
    "",
    "\0",
    "yes no",
    "{",
    "[Answer]",
    "[Search] [Search]",
    "<face_1>",
    "(memory 99999)",
    "🙂" * 50,
    "\n\n\n",
)


def arguments(folder: Path) -> list[str]:
    return ["locomo", "--file", str(folder / "locomo.json"), "--model", MODEL, "--judge", JUDGE]


def figures(result: dict[str, Any]) -> dict[str, Any]:
    """All but what it cost, which depends on what was asked twice."""
    return {name: value for name, value in result["figures"].items() if name != "cost"}


@pytest.mark.parametrize("seed", range(3))
def test_whatever_fails_meanwhile_the_figures_are_those_of_an_undisturbed_run(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    documents = [sample(f"talk-{number}", ("boiler", "wardrobe")[number % 2]) for number in range(4)]
    (tmp_path / "locomo.json").write_text(json.dumps(documents), encoding="utf-8")
    sane = {name: ScriptedLanguage(reply, name=name) for name in (MODEL, JUDGE)}
    undisturbed = Bench(tmp_path / "undisturbed", dict(sane))
    assert undisturbed.run(*arguments(tmp_path)) == 0
    bench = Bench(tmp_path / "disturbed", {})

    def failing(messages: Sequence[Message]) -> str | ModelError:
        if chance.random() < 0.1:
            raise TimeIsUp
        return ModelError("crashed") if chance.random() < 0.3 else reply(messages)

    def mad(messages: Sequence[Message]) -> str | ModelError:
        return chance.choice(RUBBISH) if chance.random() < 0.6 else failing(messages)

    outcomes = []
    for _ in range(8):
        bench.models = {
            MODEL: ScriptedLanguage(failing, name=MODEL),
            JUDGE: ScriptedLanguage(mad, name=JUDGE),
        }
        try:
            outcomes.append(bench.run(*arguments(tmp_path)))
        except EvaluateError as error:
            assert "failed 3 times in a row, the last time with: crashed" in str(error)
            outcomes.append(1)
    assert set(outcomes) <= {0, 1, 3}
    bench.models = dict(sane)
    assert bench.run(*arguments(tmp_path)) == 0
    judged = {row["id"]: row for row in bench.rows("verdicts.jsonl") if row["right"] is not None}
    mistaken = {id for id, row in judged.items() if row["by"] == "model" and not _sound(row)}
    ours, theirs = figures(bench.result()), figures(undisturbed.result())
    if mistaken:  # the mad judge said yes or no by chance, which is a verdict
        for part in (ours, theirs):
            del part["right"], part["by_type"], part["by_seed"], part["answerable"]
    assert ours == theirs


def _sound(row: dict[str, Any]) -> bool:
    """Whether the verdict is what a sane judge says to the same prompt."""
    asked = row["prompt"].rpartition("\nuser: ")[2]
    told = reply([Message("system", "You check answers"), Message("user", asked)])
    return isinstance(told, str) and (told == "yes") == row["right"]


@pytest.mark.parametrize("seed", range(2))
def test_a_model_that_writes_rubbish_is_asked_and_judged_like_any_other(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    (tmp_path / "locomo.json").write_text(json.dumps([sample("one", "boiler")]), encoding="utf-8")
    rubbish = ScriptedLanguage(lambda messages: chance.choice(RUBBISH), name=MODEL)
    bench = Bench(tmp_path, {MODEL: rubbish, JUDGE: ScriptedLanguage(reply, name=JUDGE)})
    given = [*arguments(tmp_path), "--methods", "robot", "one_shot", "reference", "dialogue"]
    assert bench.run(*given, "--policy", "abstain", "best_effort") == 0
    for result in bench.results():
        assert result["figures"]["answered"] == 3 and result["figures"]["not_judged"] == 0
        assert 0.0 <= result["figures"]["right"]["mean"] <= 1.0
