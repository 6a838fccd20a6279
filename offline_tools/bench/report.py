"""What every benchmark ends with: a table for people and one JSON line with commit and machine."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
MEDIA = ROOT.parent / "shared" / "media"


class BenchmarkError(Exception):
    """A benchmark cannot run: what is missing, and where to get it."""


def media(path: str) -> Path:
    """A file of the shared test media. Raises BenchmarkError where it is absent."""
    found = MEDIA / path
    if not found.exists():
        raise BenchmarkError(
            f"the test recording {path} is not here: put the shared media folder beside the project"
        )
    return found


def print_report(name: str, rows: Sequence[tuple[str, str, str]], figures: dict[str, Any]) -> None:
    """A table of (what, measured, target), then the figures as one JSON line."""
    table = Table(title=name)
    for column in ("what", "measured", "target"):
        table.add_column(column)
    for row in rows:
        table.add_row(*row)
    Console(width=100).print(table)
    print(
        json.dumps({"bench": name, **figures, "commit": commit(), "machine": _machine()}, ensure_ascii=False)
    )


def commit() -> str:
    """The commit of the code, marked where files differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = "+changes" if git("status", "--porcelain") else ""
    return f"{git('rev-parse', '--short', 'HEAD')}{changed}"


def code_key(*places: str) -> str:
    """A hash of all code, prompts and migrations in these folders and files of the project."""
    hashed = hashlib.sha256()
    for place in places:
        whole = ROOT / place
        for path in sorted(whole.rglob("*")) if whole.is_dir() else (whole,):
            if path.suffix in (".py", ".yaml", ".sql"):
                hashed.update(path.read_bytes())
    return hashed.hexdigest()


def _machine() -> str:
    model = platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{os.cpu_count()} x {model}"
