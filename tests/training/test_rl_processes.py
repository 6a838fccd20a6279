"""Two processes of torchrun train together: whole groups in each, other questions, one model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the training extra: make setup-training")
pytestmark = pytest.mark.training

from tests.training.search_task import write_memories  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(600)
def test_no_group_is_split_between_two_processes(cold_model: Path, tmp_path: Path) -> None:
    write_memories(tmp_path, 2, seed=6)
    start = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29617"]
    done = subprocess.run(
        [*start, "-m", "tests.training.two_processes", str(tmp_path), str(cold_model)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads((tmp_path / "out" / "report.json").read_text())["steps"] == 2
    for step in range(2):
        asked = []
        for rank in range(2):
            path = tmp_path / "out" / "rollouts" / f"step-{step:06}.rank-{rank}.wave-1.jsonl"
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            groups = Counter(row["question"] for row in rows)
            assert list(groups.values()) == [4, 4]
            asked.append(set(groups))
        assert not asked[0] & asked[1]
