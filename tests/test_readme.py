"""The README's commands exist, and its figures name the command that made them."""

import re
import shlex
from pathlib import Path

import pytest

from runtime.command_line import build_parser

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
LINES = [line.partition("#")[0].strip() for block in BLOCKS for line in block.splitlines()]


@pytest.mark.parametrize("line", [line for line in LINES if "hearsight" in line])
def test_every_hearsight_command_parses(line: str) -> None:
    words = shlex.split(line)
    first = next(index for index, word in enumerate(words) if word.endswith("hearsight"))
    assert build_parser().parse_args(words[first + 1 :]).command


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("make")])
def test_every_make_target_exists(line: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{re.escape(line.split()[1])}:", makefile, re.MULTILINE), line


def test_the_two_commands_of_a_newcomer_come_first() -> None:
    assert [line for line in LINES if line][:2] == ["make demo", "make test"]


@pytest.mark.parametrize("name", re.findall(r"offline_tools\.bench ([a-z_]+)", README))
def test_every_benchmark_named_exists(name: str) -> None:
    assert (ROOT / "offline_tools" / "bench" / f"{name}.py").is_file()
