"""The extra is what it is pinned to, and the tools say in one sentence where it is missing."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the training extra: make setup-training")
pytestmark = pytest.mark.training

ROOT = Path(__file__).resolve().parents[2]


def test_the_lock_holds_what_the_extra_asks_for() -> None:
    files = (ROOT / name for name in ("requirements.lock", "requirements-training.lock"))
    locked = {
        line.removesuffix(" \\") for file in files for line in file.read_text(encoding="utf-8").splitlines()
    }
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    asked = re.findall(r'"(\S+==\S+)"', project.partition("train = [")[2].partition("\n]")[0])
    assert asked
    assert set(asked) <= locked


def test_what_is_installed_is_what_is_locked() -> None:
    lines = (ROOT / "requirements-training.lock").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if "==" in line and ";" not in line]
    assert len(pins) > 10
    wrong = {name: version(name) for name, pin in pins if version(name).partition("+")[0] != pin}
    assert not wrong
