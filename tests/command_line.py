"""Runs `hearsight` as its users do: as a process of its own."""

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtime import command_line

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Finished:
    """What a run of the command left: exit status, standard output, standard error."""

    status: int
    output: str
    errors: str

    @property
    def json(self) -> Any:
        """The last line of the output."""
        return json.loads(self.output.splitlines()[-1])

    @property
    def lines(self) -> list[Any]:
        """Every line of the output, each a JSON value."""
        return [json.loads(line) for line in self.output.splitlines()]


def command(*arguments: str | Path) -> list[str]:
    """The command line."""
    return [sys.executable, "-m", "runtime.cli", *map(str, arguments)]


def hearsight(*arguments: str | Path, cwd: Path = ROOT, timeout_s: float = 100.0) -> Finished:
    """Run the command to its end."""
    done = subprocess.run(
        command(*arguments), cwd=cwd, capture_output=True, text=True, timeout=timeout_s, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return Finished(done.returncode, done.stdout, done.stderr)


def refused(*arguments: str | Path, cwd: Path = ROOT) -> str:
    """The one sentence with which the command refuses, status 1. Within this process: what it raises fails the test."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = command_line.main([str(argument) for argument in arguments])
    done = Finished(status, output.getvalue(), errors.getvalue())
    assert done.status == 1, f"{arguments} ended with {done.status}: {done.output}{done.errors}"
    sentences = [line for line in done.errors.splitlines() if line.startswith("hearsight: ")]
    assert len(sentences) == 1, done.errors
    return sentences[0]


def called(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Finished:
    """Run the command within this process, which saves loading the libraries again."""
    capsys.readouterr()
    status = command_line.main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return Finished(status, captured.out, captured.err)
