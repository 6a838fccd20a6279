"""A whole evaluation with scripted models: what it asks, judges, keeps and tells, and how it goes on."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from models.errors import ModelError
from models.language import Message
from offline_tools.evaluate.errors import EvaluateError
from tests.evaluated import Bench, locomo_file, reply
from tests.scripted_language import ScriptedLanguage

MODEL = "qwen2.5-coder-0.5b"
JUDGE = "qwen2.5-coder-1.5b"


def scripted(name: str = MODEL) -> ScriptedLanguage:
    return ScriptedLanguage(reply, name=name)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    locomo_file(tmp_path)
    return Bench(tmp_path, {MODEL: scripted(), JUDGE: scripted(JUDGE)})


def arguments(bench: Bench, *more: str) -> list[str]:
    return ["locomo", "--file", str(bench.folder / "locomo.json"), "--model", MODEL, "--judge", JUDGE, *more]


def test_all_questions_are_asked_judged_and_counted(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.run(*arguments(bench, "--methods", "one_shot")) == 0
    result = bench.result()
    figures = result["figures"]
    assert figures["answered"] == 6 and figures["not_judged"] == figures["failed"] == 0
    assert figures["right"]["mean"] == 1.0 and figures["right"]["memories"] == 2
    assert figures["recall"]["found"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 4, "memories": 2}
    assert set(figures["by_type"]) == {"1 multi-hop", "4 single-hop", "5 adversarial"}
    assert figures["unanswerable"] == {"answered": 2, "false_answers": 0.0}
    assert figures["answerable"]["abstained"] == 0.0
    assert 0.5 < figures["f1"]["mean"] < 1.0
    assert len(result["code_sha256"]) == 16 and result["dataset_sha256"]
    assert result["model"]["sha256"] and result["judge"]["sha256"]
    assert result["judge_prompt"].startswith("system: You check answers") and figures["commits"] == [
        "abc1234"
    ]
    answer = bench.rows("answers.jsonl")[0]
    assert answer["answered"]["prompts"] and answer["answered"]["replies"] and answer["found"] == 1.0
    by = {row["id"]: (row["by"], row["right"]) for row in bench.rows("verdicts.jsonl")}
    assert by["one:2"] == ("rule", True) and by["one:0"] == ("model", True)
    told = capsys.readouterr().out
    assert "100.0 [100.0, 100.0]" in told and json.loads(told.splitlines()[-1])["complete"] is True


def test_the_same_command_again_asks_nothing_again(bench: Bench) -> None:
    assert bench.run(*arguments(bench)) == 0
    before = bench.result()
    bench.models = {MODEL: ScriptedLanguage([], name=MODEL), JUDGE: ScriptedLanguage([], name=JUDGE)}
    assert bench.run(*arguments(bench)) == 0
    assert bench.result() == before


def test_a_run_that_is_killed_again_and_again_comes_to_the_same_result(tmp_path: Path) -> None:
    """Killed with SIGKILL after each few calls of the models; half a line is left as well."""
    locomo_file(tmp_path)
    given = ["locomo", "--file", str(tmp_path / "locomo.json"), "--model", MODEL, "--judge", JUDGE]
    whole = Bench(tmp_path / "whole", {MODEL: scripted(), JUDGE: scripted(JUDGE)})
    assert whole.run(*given) == 0
    calls = sum(len(one.calls) for one in whole.models.values() if isinstance(one, ScriptedLanguage))
    broken = Bench(tmp_path / "broken", {})
    killed = 0
    while (status := _run_in_a_child(broken, given, calls=4)) == -signal.SIGKILL:
        killed += 1
        assert killed <= calls, "it never comes to an end"
        for path in (tmp_path / "broken" / "runs").glob("*/*/*.jsonl"):
            with path.open("ab") as file:
                file.write(b'{"id": "torn')
    assert status == 0 and killed >= 3
    expected, found = whole.result(), broken.result()
    for result in (expected, found):
        del result["figures"]["cost"]
    assert found == expected
    ours, theirs = broken.rows("answers.jsonl"), whole.rows("answers.jsonl")
    assert [row["id"] for row in ours] == [row["id"] for row in theirs]
    assert [row["answered"]["prompts"] for row in ours] == [row["answered"]["prompts"] for row in theirs]


def _run_in_a_child(bench: Bench, given: Sequence[str], calls: int) -> int:
    """The exit status of an evaluation that is killed at the call after so many; minus the signal where it was."""
    left = [calls]

    def deadly(messages: Sequence[Message]) -> str | ModelError:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return reply(messages)

    pid = os.fork()
    if pid == 0:
        bench.models = {name: ScriptedLanguage(deadly, name=name) for name in (MODEL, JUDGE)}
        status = 99
        try:
            status = bench.run(*given)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_answers_that_were_not_judged_are_judged_later(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.run(*arguments(bench)[:-1], "none") == 3
    first = bench.result()["figures"]
    assert first["answered"] == 6 and first["not_judged"] == 4 and first["right"]["mean"] == 1.0
    assert "NOT JUDGED: 4 answers" in capsys.readouterr().out
    bench.models[MODEL] = ScriptedLanguage([], name=MODEL)
    assert bench.run(*arguments(bench)) == 0
    assert bench.result()["figures"]["not_judged"] == 0
    assert len({row["judge"] for row in bench.rows("verdicts.jsonl")}) == 2


@pytest.mark.parametrize("nonsense", ["perhaps", "", "The answer is fine, yes.", "yesterday"])
def test_a_judge_that_answers_nonsense_judges_nothing_and_is_asked_a_few_times(
    bench: Bench, nonsense: str, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = bench.models[JUDGE] = ScriptedLanguage(
        lambda messages: nonsense if "pump" in messages[-1].content else reply(messages), name=JUDGE
    )
    assert bench.run(*arguments(bench)) == 3
    verdicts = {row["id"]: row for row in bench.rows("verdicts.jsonl")}
    for id in ("one:0", "two:0"):
        assert verdicts[id]["right"] is None and verdicts[id]["attempts"] == 3
        assert verdicts[id]["reason"] == f"neither yes nor no: {nonsense!r}"
    assert [call.temperature for call in odd.calls if "pump" in call.messages[-1].content][:3] == [
        0.0,
        0.3,
        0.7,
    ]
    figures = bench.result()["figures"]
    assert figures["not_judged"] == 2 and figures["right"]["n"] == 4, "what is not judged counts nowhere"
    assert "NOT JUDGED: 2 answers" in capsys.readouterr().out
    bench.models[JUDGE] = scripted(JUDGE)
    assert bench.run(*arguments(bench)) == 0
    assert bench.result()["figures"]["not_judged"] == 0


def test_a_judge_that_times_out_is_not_asked_for_ever(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = bench.models[JUDGE] = ScriptedLanguage(
        lambda messages: ModelError("no answer in 300 s"), name=JUDGE
    )
    assert bench.run(*arguments(bench, "--judge-everything", "--judge-attempts", "2")) == 3
    assert len(slow.calls) == 3 * 2, "two tries for each of three answers in a row, then no more"
    assert bench.result()["figures"]["not_judged"] > 0
    assert "stopped: the judge failed 3 times in a row: no answer in 300 s" in capsys.readouterr().out
    bench.models[JUDGE] = scripted(JUDGE)
    assert bench.run(*arguments(bench, "--judge-everything", "--judge-attempts", "2")) == 0


def test_a_model_that_fails_stops_the_run_and_what_is_answered_stays(bench: Bench) -> None:
    calls = [0]

    def failing(messages: Sequence[Message]) -> str | ModelError:
        calls[0] += 1
        return reply(messages) if calls[0] <= 2 else ModelError("out of memory")

    bench.models[MODEL] = ScriptedLanguage(failing, name=MODEL)
    with pytest.raises(EvaluateError, match="failed 3 times in a row, the last time with: out of memory"):
        bench.run(*arguments(bench, "--methods", "one_shot"))
    rows = bench.rows("answers.jsonl")
    assert [bool(row["failure"]) for row in rows] == [False, True, True, True] or rows[0]["failure"] == ""
    bench.models[MODEL] = scripted()
    assert bench.run(*arguments(bench, "--methods", "one_shot")) == 0
    assert bench.result()["figures"]["failed"] == 0 and bench.result()["figures"]["answered"] == 6


def test_an_answer_that_the_robot_gave_though_its_model_failed_is_told_and_asked_again(bench: Bench) -> None:
    bench.models[MODEL] = ScriptedLanguage(
        lambda messages: (
            ModelError("crashed") if "dentist appointment?" in messages[-1].content else reply(messages)
        ),
        name=MODEL,
    )
    assert bench.run(*arguments(bench)) == 3
    assert bench.result()["figures"]["failed"] == 2
    bench.models[MODEL] = scripted()
    assert bench.run(*arguments(bench)) == 0
    assert bench.result()["figures"]["failed"] == 0


def test_a_limit_ends_between_questions(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    for done in range(1, 7):
        assert bench.run(*arguments(bench, "--limit-minutes", "0")) in (0, 3)
        assert len(bench.rows("answers.jsonl")) == done
    assert "NOT YET ASKED: 1 questions: run the same command again" in capsys.readouterr().out
    assert bench.run(*arguments(bench)) == 0


def test_ablations_policies_methods_and_other_models_stand_beside_the_first_run(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = ScriptedLanguage(
        lambda messages: "no" if "You check" in messages[0].content else "It is blue.", name="x"
    )
    bench.models["qwen2.5-1.5b"] = wrong
    bench.models[JUDGE] = scripted(JUDGE)
    status = bench.run(
        *arguments(bench, "--methods", "one_shot", "robot", "--policy", "abstain", "best_effort"),
        "--ablate", "semantic,equivalences,instruction,reasoning,round_zero", "--control-model", JUDGE,
    )  # fmt: skip
    assert status == 0
    told = capsys.readouterr().out
    last = json.loads(told.splitlines()[-1])
    assert list(last["runs"]) == [
        "robot", "robot, best effort", "one shot", "robot without semantic", "robot without equivalences",
        "robot without instruction", "robot without reasoning", "robot without round zero", f"robot, {JUDGE}",
    ]  # fmt: skip
    same = last["differences"][f"robot, {JUDGE}"]
    assert same["right"]["mean"] == 0.0 and same["right"]["n"] == 6 and same["found"]["n"] == 4
    assert "without semantic: the memories hold nothing of it" in told
    assert bench.run(*arguments(bench), "--ablate", "semantic") == 0
    assert "without semantic: the memories hold nothing of it" in capsys.readouterr().out, (
        "though all was answered"
    )
    switches = {row["title"]: row["switches"] for row in _records(bench)}
    assert switches["robot without round zero"]["round_zero"] is False
    assert sum(not value for row in switches.values() for value in row.values()) == 5


def test_two_models_of_one_name_are_two_runs(bench: Bench, tmp_path: Path) -> None:
    files = []
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        files.append(str(tmp_path / str(number) / "control.gguf"))
        Path(files[-1]).write_bytes(bytes([number]))
    bench.models["control"] = scripted("control")
    assert bench.run(*arguments(bench), "--control-model", *files) == 0
    titles = {row["title"]: row["model"] for row in bench.results()}
    assert set(titles) == {"robot", "robot, control", "robot, control (2)"}
    assert titles["robot, control"]["sha256"] != titles["robot, control (2)"]["sha256"]


def _records(bench: Bench) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in (bench.folder / "runs").glob("*/*/run.json")]


def test_samples_of_several_seeds_are_pooled_and_told_apart(bench: Bench) -> None:
    assert bench.run(*arguments(bench, "--questions", "3", "--seeds", "0", "2", "5")) == 0
    result = bench.result()
    assert result["seeds"] == [0, 2, 5]
    assert set(result["figures"]["by_seed"]) == {"0", "2", "5"}
    assert all(part["answered"] == 3 for part in result["figures"]["by_seed"].values())
    assert 3 <= result["figures"]["answered"] <= 6


def test_two_evaluations_do_not_write_to_one_run(bench: Bench) -> None:
    def inner(messages: Sequence[Message]) -> str | ModelError:
        with pytest.raises(EvaluateError, match="another evaluation is writing"):
            Bench(bench.folder, {MODEL: scripted(), JUDGE: scripted(JUDGE)}).run(*arguments(bench))
        return reply(messages)

    bench.models[MODEL] = ScriptedLanguage(inner, name=MODEL)
    assert bench.run(*arguments(bench)) == 0


def test_broken_lines_in_the_middle_are_named(bench: Bench) -> None:
    assert bench.run(*arguments(bench)) == 0
    (path,) = (bench.folder / "runs").glob("*/*/answers.jsonl")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "{}", "garbage", *lines[1:]]) + "\n")
    with pytest.raises(EvaluateError, match=r"answers\.jsonl has broken lines") as caught:
        bench.run(*arguments(bench))
    assert "line 2: id: Field required" in str(caught.value) and "line 3: " in str(caught.value)


def test_without_a_language_model_the_robot_alone_can_be_asked(bench: Bench) -> None:
    given = ["locomo", "--file", str(bench.folder / "locomo.json"), "--model", "none", "--judge", JUDGE]
    assert bench.run(*given) == 0
    assert bench.result()["figures"]["f1"] is None, "nothing brings answers into few words"
    with pytest.raises(EvaluateError, match="one_shot needs a language model"):
        bench.run(*given, "--methods", "one_shot")
