"""The leaderboard: one table for each sample and judge, best first, and nothing that is not complete."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest

from offline_tools.evaluate import leaderboard
from offline_tools.evaluate.errors import EvaluateError
from offline_tools.evaluate.leaderboard import Standing, columns_of, enter
from tests.evaluated import Bench, locomo_file, reply
from tests.scripted_language import ScriptedLanguage

MODEL, JUDGE, WORSE = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "smollm2-135m"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    locomo_file(tmp_path)
    wrong = ScriptedLanguage(lambda messages: "It is blue.", name=WORSE)
    models = {name: ScriptedLanguage(reply, name=name) for name in (MODEL, JUDGE)}
    return Bench(tmp_path, {**models, WORSE: wrong})


def run(bench: Bench, *more: str, judge: str = JUDGE) -> int:
    board = str(bench.folder / "board.jsonl")
    given = ["locomo", "--file", str(bench.folder / "locomo.json"), "--judge", judge, "--leaderboard", board]
    return bench.run(*given, *(() if "--model" in more else ("--model", MODEL)), *more)


def printed(bench: Bench, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    capsys.readouterr()
    assert leaderboard.main([str(bench.folder / "board.jsonl"), *more]) == 0
    return capsys.readouterr().out


def test_runs_of_one_sample_and_judge_stand_in_one_table_best_first(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(bench, "--methods", "one_shot", "--model", WORSE, "--control-model", MODEL) == 0
    told = printed(bench, capsys)
    assert told.count("locomo, 6 questions") == 1 and "judged by qwen2.5-coder-1.5b" in told
    rows = [line for line in told.splitlines() if line.startswith("│ one shot")]
    assert (
        len(rows) == 2
        and MODEL[:14] in rows[0]
        and "100.0" in rows[0]
        and WORSE in rows[1]
        and " 0.0" in rows[1]
    )


def test_a_run_that_is_entered_again_stands_there_once(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert run(bench, "--methods", "one_shot") == 0
    assert len((bench.folder / "board.jsonl").read_text().splitlines()) == 1
    row = json.loads((bench.folder / "board.jsonl").read_text())
    assert (
        row["figures"]["right"]["mean"] == 1.0
        and row["asked_utc"] == "1970-01-01"
        and row["commit"] == "abc1234"
    )


def test_other_samples_and_judges_are_never_mixed(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(bench, "--methods", "one_shot") == 0
    assert run(bench, "--methods", "one_shot", "--questions", "3") == 0
    assert run(bench, "--methods", "one_shot", judge=MODEL) == 0
    assert run(bench, "--methods", "one_shot", "--judge-everything") == 0
    told = printed(bench, capsys)
    assert told.count("│ one shot") == 4 and told.count("judged by") == 4
    with pytest.raises(EvaluateError, match="4 different samples or judges, and cannot stand in one table"):
        leaderboard.main([str(bench.folder / "board.jsonl"), "--one-table"])


def test_what_is_not_complete_is_not_entered(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(bench, judge="none") == 3
    assert not (bench.folder / "board.jsonl").exists()
    assert "not entered into the leaderboard" in capsys.readouterr().out
    with pytest.raises(EvaluateError, match=r"there is no leaderboard .* yet"):
        leaderboard.main([str(bench.folder / "board.jsonl")])


def test_the_best_comes_first_and_the_latest_of_a_run_counts(tmp_path: Path) -> None:
    def standing(run: str, mean: float, judge: str = "j") -> Standing:
        right = {"mean": mean, "low": 0.0, "high": 1.0, "n": 9, "memories": 2}
        figures = {"right": right, "f1": None, "recall": {"found": None}, "by_type": {}}
        sample = {"questions": 9, "questions_sha256": "0" * 64, "dataset_sha256": "1" * 64, "seeds": []}
        return Standing(
            "locomo", sample, {"name": judge}, run, run, {"name": "m"}, {}, figures, "c", "2026-11-30"
        )

    path = tmp_path / "board.jsonl"
    enter(path, [standing("a", 0.5), standing("b", 0.75), standing("a", 0.9), standing("c", 0.1, "other")])
    columns = columns_of(
        [standing("a", 0.5), standing("b", 0.75), standing("a", 0.9), standing("c", 0.1, "other")]
    )
    assert [[one.run for one in members] for members in columns] == [["a", "b"], ["c"]]
    assert columns[0][0].figures["right"]["mean"] == 0.9
    assert len(path.read_text().splitlines()) == 4
    path.chmod(0o444)
    with path.open("rb") as reader:
        fcntl.flock(reader, fcntl.LOCK_EX)
        assert leaderboard.main([str(path)]) == 0, "it may be read while another evaluation writes to it"
    path.chmod(0o644)
    path.write_text(path.read_text() + '{"dataset": 7}\n')
    with pytest.raises(EvaluateError, match=r"board.jsonl has broken lines; .*\n  line 5: "):
        leaderboard.main([str(path)])
    with pytest.raises(EvaluateError, match="holds no run of openeqa"):
        enter(tmp_path / "other.jsonl", [standing("a", 0.5)])
        leaderboard.main([str(tmp_path / "other.jsonl"), "--dataset", "openeqa"])
