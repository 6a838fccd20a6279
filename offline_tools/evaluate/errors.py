"""What can be wrong with an evaluation: the command prints it as one message and keeps what is done."""

from collections.abc import Sequence
from pathlib import Path

from offline_tools.errors import OfflineToolError

_SHOWN = 20


class EvaluateError(OfflineToolError):
    """An evaluation cannot go on: what is wrong, which value, and what to do."""


class DatasetError(EvaluateError):
    """A file of annotations that is not as published. faults: all of them, each with the entry it is in."""

    def __init__(self, path: Path, faults: Sequence[str]) -> None:
        self.path = path
        self.faults = tuple(faults)
        shown = [f"  {fault}" for fault in self.faults[:_SHOWN]]
        if len(self.faults) > _SHOWN:
            shown.append(f"  … and {len(self.faults) - _SHOWN} more")
        count = f"{len(self.faults)} fault{'s' if len(self.faults) != 1 else ''}"
        super().__init__(f"{path} has {count}:\n" + "\n".join(shown))


class MemoryUnusable(EvaluateError):
    """One memory cannot be asked or made; those of other dialogues and videos can."""
