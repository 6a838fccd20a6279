"""Ctrl-C at any moment of a start: one line, no traceback, exit code 130 or an ordinary end."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.command_line import ROOT, command
from tests.recordings import write_recording


def _interrupted(tmp_path: Path, after_s: float, *more: str) -> tuple[int, str, str]:
    recording = tmp_path / "pictures.mp4"
    if not recording.exists():
        write_recording(recording, picture_times_s=[number / 5 for number in range(20)])
    run = subprocess.Popen(
        command("run", "--replay", recording, "--language", "none", "--data-dir", tmp_path / "m", *more),
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(after_s)
    run.send_signal(signal.SIGINT)
    output, errors = run.communicate(timeout=60)
    return run.returncode, output, errors


@pytest.mark.parametrize("after_s", [0.3, 0.5])
def test_in_the_first_second(tmp_path: Path, after_s: float) -> None:
    assert _interrupted(tmp_path, after_s) == (130, "", "hearsight: interrupted\n")


def test_with_json_it_says_so_in_json(tmp_path: Path) -> None:
    assert _interrupted(tmp_path, 0.3, "--json") == (
        130,
        '{"error": "interrupted"}\n',
        "hearsight: interrupted\n",
    )


@pytest.mark.soak
def test_at_any_moment(tmp_path: Path) -> None:
    for moment in range(30):
        status, _, errors = _interrupted(tmp_path, 0.1 + 0.1 * moment)
        assert status in (0, 1, 130) and "Traceback" not in errors, (moment, errors)
        assert status != 130 or errors.splitlines()[-1] == "hearsight: interrupted"
