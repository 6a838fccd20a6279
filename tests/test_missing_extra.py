"""A tool whose extra is not installed says so in one sentence, and its help works without it."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from offline_tools.memorize_many import main as memorize_many
from offline_tools.synthesize.__main__ import main as synthesize


@pytest.mark.parametrize(
    ("tool", "library", "arguments"),
    [
        (
            synthesize,
            "networkx",
            ["--memory", "m", "--captions", "none", "--merge", "http://127.0.0.1:9/v1#m"],
        ),
        (memorize_many, "ray", ["a.mp4", "--workers", "2"]),
    ],
)
def test_a_missing_library_is_one_sentence(
    tool: Callable[[Sequence[str]], int],
    library: str,
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    assert tool([*arguments, "--out", str(tmp_path / "out")]) == 1
    told = capsys.readouterr().err
    assert f"needs the training extra ({library} is missing): make setup-training" in told
    assert len(told.splitlines()) == 1 and not list(tmp_path.iterdir())
    with pytest.raises(SystemExit) as ended:
        tool(["--help"])
    assert ended.value.code == 0
