"""Judges beside one another, and beside a person."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from offline_tools.evaluate import judge_trial
from offline_tools.evaluate.__main__ import main
from offline_tools.evaluate.agreement import agreement, kappa, label
from offline_tools.evaluate.errors import EvaluateError
from offline_tools.evaluate.judge_trial import Opener, cases
from tests.evaluated import Bench, locomo_file, reply
from tests.scripted_language import ScriptedLanguage

MODEL, JUDGE, OTHER = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "smollm2-135m"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose four model-judged answers one judge calls right, and the other only where the boiler is named."""
    locomo_file(tmp_path)
    strict = ScriptedLanguage(
        lambda messages: "yes" if "boiler" in messages[-1].content else "no", name=OTHER
    )
    models = {name: ScriptedLanguage(reply, name=name) for name in (MODEL, JUDGE)}
    bench = Bench(tmp_path, {**models, OTHER: strict})
    given = ["locomo", "--file", str(tmp_path / "locomo.json"), "--model", MODEL, "--methods", "one_shot"]
    for judge in (JUDGE, OTHER):
        assert bench.run(*given, "--judge", judge) == 0
    (found,) = (tmp_path / "runs").glob("locomo/*")
    return found


def test_kappa_is_what_cohen_says() -> None:
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert kappa(pairs) == pytest.approx(0.4)
    assert kappa([(True, True), (False, False)]) == 1.0 and kappa([(True, False), (False, True)]) == -1.0
    assert kappa([(True, True)] * 3) is None and kappa([]) is None


def test_two_judges_of_a_run_are_compared(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert agreement([str(run)]) == 0
    told = capsys.readouterr().out
    assert "│ 4 " in told and "│ 25 " in told and "3 of 3 that differ" in told


def test_a_person_judges_what_a_model_judged_without_seeing_its_verdict(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []
    typed: Iterator[str] = iter(["perhaps", "Y", "s", "n", "q"])

    def ask(text: str) -> str:
        shown.append(text)
        return next(typed)

    assert label([str(run), "--count", "4"], ask) == 0
    assert shown[0] == shown[1] and shown[0].startswith("\n1 of 4\nQuestion: ")
    assert "Right answer: " in shown[0] and "Answer given: " in shown[0] and "yes" not in shown[0]
    assert label([str(run), "--count", "4"], lambda text: "y" if text.startswith("\n1 of 2") else "q") == 0
    capsys.readouterr()
    assert agreement([str(run)]) == 0
    assert capsys.readouterr().out.count("│ human") == 2

    def at_the_end(text: str) -> str:
        raise EOFError

    assert label([str(run), "--name", "another"], at_the_end) == 0


def test_what_cannot_be_compared_is_said(
    tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EvaluateError, match="is no folder of a run that was judged"):
        agreement([str(tmp_path)])
    lines = [line for line in (run / "verdicts.jsonl").read_text().splitlines() if OTHER not in line]
    (run / "verdicts.jsonl").write_text("".join(f"{line}\n" for line in lines))
    assert main(["agreement", str(run)]) == 1
    assert "1 judge has asked a model here" in capsys.readouterr().err


def test_a_judge_is_tried_on_cases_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = {f"Question: {question.text}\nRight answer: {question.answer}\nAnswer given: {given.text}": right
                for question, given, right in cases()}  # fmt: skip
    assert len(verdicts) == len(cases()) == 40
    assert 15 <= sum(verdicts.values()) <= 25, "a judge that always says one thing must not look good"

    def opener(judge: ScriptedLanguage) -> Opener:
        return lambda model: nullcontext(judge)

    perfect = ScriptedLanguage(lambda messages: "yes" if verdicts[messages[-1].content] else "no")
    assert judge_trial.main(["--judge", MODEL], opener(perfect)) == 0
    assert len(perfect.calls) == 40, "each case is put to the judge itself"
    told = capsys.readouterr().out
    assert json.loads(told.splitlines()[-1])["right"] == 40 and "to:" not in told
    assert judge_trial.main(["--judge", MODEL], opener(ScriptedLanguage(lambda messages: "yes"))) == 0
    told = capsys.readouterr().out
    wrong = 40 - sum(verdicts.values())
    assert json.loads(told.splitlines()[-1])["right"] == 40 - wrong and told.count("  yes to: ") == wrong
    assert judge_trial.main(["--judge", MODEL], opener(ScriptedLanguage(lambda messages: "hm"))) == 3
    with pytest.raises(EvaluateError, match="there is no judge to try"):
        judge_trial.main(["--judge", "none"])
