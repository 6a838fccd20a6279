"""What is on disk of the models of a manifest: `list_models` quickly, `verify` by reading everything."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.manifest import Entry, Manifest
from models.stored_files import State, check_file


@dataclass(frozen=True)
class ModelStatus:
    """How much of a model is on disk; `problem` names the first file that is not right."""

    entry: Entry
    state: State
    bytes: int
    problem: str = ""


def list_models(manifest: Manifest, models_dir: Path) -> list[ModelStatus]:
    """The state of every entry; files that were hashed before and have not changed are not read."""
    return [model_status(entry, models_dir, rehash=False) for entry in manifest.entries]


def verify(manifest: Manifest, models_dir: Path, ids: Sequence[str] = ()) -> list[ModelStatus]:
    """The same after reading and hashing every file, of the given entries or of all that are on disk."""
    entries = [manifest.entry(id) for id in ids] or [
        entry for entry in manifest.entries if entry.directory(models_dir).is_dir()
    ]
    return [model_status(entry, models_dir, rehash=True) for entry in entries]


def model_status(entry: Entry, models_dir: Path, *, rehash: bool) -> ModelStatus:
    """The state of one entry: the worst that is true of its files."""
    checks = [check_file(entry.directory(models_dir), file, rehash=rehash) for file in entry.files]
    present = sum(check.bytes for check in checks)
    problem = next((check.problem for check in checks if check.state != "ok"), "")
    states = {check.state for check in checks}
    if "corrupt" in states:
        return ModelStatus(entry, "corrupt", present, problem)
    if not checks or states == {"missing"}:
        return ModelStatus(entry, "missing", present, problem)
    return ModelStatus(entry, "ok" if states == {"ok"} else "partial", present, problem)
