"""kill -9 at every step of an installation: the old model or the new one serves, whole, and the way back is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from models.slots import Slots
from tests.bundles import a_bundle, a_key, passes

ROOT = Path(__file__).resolve().parents[1]


def test_killed_at_every_step(tmp_path: Path) -> None:
    key = a_key(tmp_path)
    models_dir = tmp_path / "models"
    slots = Slots(models_dir)
    for version in ("1", "2", "3"):
        a_bundle(tmp_path / f"{version}.bundle", key, version, {"model.gguf": version.encode() * 70_000})
    for version in ("1", "2"):
        slots.install(tmp_path / f"{version}.bundle", [key.public], passes)
    command = [
        sys.executable,
        "-m",
        "tests.killed_install",
        models_dir,
        tmp_path / "3.bundle",
        tmp_path / "key.pub",
    ]
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, capture_output=True, text=True, timeout=110, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    served, way_back = told["served"], told["way_back"]
    assert told["ended"] == 0
    assert len(served) > 20, "many steps were tried"
    assert served == sorted(served), "first the old one serves, then the new one"
    assert served[0] == "2" and served[-1] == "3"
    expected = {"2": "1", "3": "2"}
    assert way_back == [expected[version] for version in served]
