"""What an evaluation is told to do: wrong options, places and models are refused with one message."""

from __future__ import annotations

from pathlib import Path

import pytest

from offline_tools.evaluate.__main__ import main
from offline_tools.evaluate.errors import EvaluateError
from offline_tools.evaluate.options import parse
from tests.evaluated import Bench, locomo_file, reply
from tests.scripted_language import ScriptedLanguage

MODEL = "qwen2.5-coder-0.5b"


@pytest.mark.parametrize(
    "wrong",
    [
        ["--questions", "0"], ["--questions", "-3"], ["--questions", "many"], ["--ablate", "sight"], ["--ablate", ","],
        ["--limit-minutes", "nan"], ["--limit-minutes", "-1"], ["--judge-attempts", "0"], ["--seeds", "x"],
        ["--methods", "magic"], ["--policy", "lie"], ["--judge-timeout-s", "soon"],
    ],
)  # fmt: skip
def test_wrong_options_are_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(["locomo", *wrong])
    assert caught.value.code == 2 and wrong[0] in capsys.readouterr().err


def test_places_that_cannot_be_written_are_said(tmp_path: Path) -> None:
    locomo_file(tmp_path)
    (tmp_path / "runs").write_text("a file", encoding="utf-8")
    bench = Bench(tmp_path, {MODEL: ScriptedLanguage(reply, name=MODEL)})
    given = ["locomo", "--file", str(tmp_path / "locomo.json"), "--model", MODEL, "--judge", MODEL]
    with pytest.raises(EvaluateError, match=r"cannot write .*; name a place with --out"):
        bench.run(*given)
    (tmp_path / "runs").unlink()
    with pytest.raises(EvaluateError, match="cannot write "):
        bench.run(*given, "--leaderboard", str(tmp_path))


def test_a_model_that_is_none_is_said(tmp_path: Path) -> None:
    locomo_file(tmp_path)
    bench = Bench(tmp_path, {})
    given = ["locomo", "--file", str(tmp_path / "locomo.json")]
    for choice, told in (
        ("gpt-9", "has no model 'gpt-9'"),
        (str(tmp_path / "x.gguf"), "cannot read the model"),
    ):
        with pytest.raises(EvaluateError, match=told):
            bench.run(*given, "--model", choice)


def test_the_command_says_in_one_message_why_it_cannot_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.json").write_text('[{"question": 7}]', encoding="utf-8")
    for given, told in (
        (["leaderboard", str(tmp_path / "none")], "there is no leaderboard"),
        (["openeqa", "--file", str(tmp_path / "none.json")], "cannot read"),
        (
            ["openeqa", "--file", str(tmp_path / "broken.json")],
            "[0].question: Input should be a valid string",
        ),
        (["videomme"], "name their file with --file"),
    ):
        assert main(given) == 1
        error = capsys.readouterr().err
        assert error.startswith("evaluate: ") and told in error and "Traceback" not in error
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0 and "leaderboard" in capsys.readouterr().out
