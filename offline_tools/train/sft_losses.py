"""The losses of a run, one JSON line a step; what was logged after the checkpoint a run resumes from is dropped."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from offline_tools.train.errors import TrainingError

_TOLD = ("loss", "learning_rate", "grad_norm", "mean_token_accuracy", "epoch")


class LossLog(TrainerCallback):
    """Appends a line at each step. Raises TrainingError when the loss is no number any more."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        """Told by the trainer."""
        if logs is None or "loss" not in logs or not state.is_world_process_zero:
            return
        line = {"step": state.global_step, **{name: logs[name] for name in _TOLD if name in logs}}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        broken = [name for name in ("loss", "grad_norm") if not math.isfinite(logs.get(name, 0.0))]
        if broken:
            raise TrainingError(
                f"the {broken[0]} is {logs[broken[0]]} at step {state.global_step}: lower learning_rate in the "
                "recipe; the checkpoints until then are kept"
            )


def rewrite_losses(path: Path, *, until: int) -> None:
    """Keep the lines up to and with this step; those after it will be written again."""
    kept = [row for row in _lines(path) if row["step"] <= until]
    path.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            break  # the last line of a run that was killed while it wrote
    return rows
