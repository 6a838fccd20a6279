"""Putting a prepared memory in the place of another: all of it or nothing, whatever moment the power goes.

The plan is written down before the first file moves; whoever opens the directory next carries it to its end.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memory_store.backup_file import sync_directory
from memory_store.directory_lock import DirectoryLock
from memory_store.errors import DatabaseUnusable, ReadOnlyStorage

PREPARED = "prepared"  # the directory with the new memory
_PLAN = "switch.json"
# What makes up a memory. A log without its database, or beside another one, is poison: it always moves along.
_PARTS = ("memory.db", "memory.db-wal", "memory.db-shm", "memory.db-journal", "media", "index")
_ASIDE = ("replaced-*", "damaged-*")


def is_unfinished(directory: Path) -> bool:
    """Whether a switch was interrupted here."""
    return (directory / _PLAN).exists()


def carry_on(directory: Path, timeout_s: float) -> None:
    """Finish a switch that was interrupted, if there is one. Raises DatabaseBusy, ReadOnlyStorage, DatabaseUnusable."""
    if not is_unfinished(directory):
        return
    try:
        with DirectoryLock(directory, alone=True, timeout_s=timeout_s):
            if is_unfinished(directory):  # nobody else has just done it
                finish(directory)
    except OSError as error:
        raise ReadOnlyStorage(
            f"{directory}: an interrupted restore cannot be finished ({error.strerror}): check its owner and mode"
        ) from error


def set_aside(directory: Path) -> list[Path]:
    """The earlier memories that a restore or repair kept."""
    return sorted(path for pattern in _ASIDE for path in directory.glob(pattern))


@contextmanager
def preparing(directory: Path) -> Iterator[Path]:
    """An empty directory to prepare a memory in, which goes again if that fails; what an interrupted one left goes.

    Raises OSError.
    """
    prepared = directory / PREPARED
    shutil.rmtree(prepared, ignore_errors=True)
    prepared.mkdir(mode=0o700)
    with ExitStack() as undo:
        undo.callback(shutil.rmtree, prepared, ignore_errors=True)
        yield prepared
        undo.pop_all()


def switch(directory: Path, aside: str, kept: tuple[str, ...] = ()) -> Path:
    """Put the prepared memory in place and the one before it into the directory `aside`; its path.

    kept: parts of the memory before that stay where they are. Raises OSError; what is done by then is finished
    by `finish`.
    """
    prepared = directory / PREPARED
    for path in (*prepared.rglob("*"), prepared):
        if path.is_dir():
            sync_directory(path)
    new = [name for name in _PARTS if (prepared / name).exists()]
    taken = aside
    for number in range(2, 1000):
        if not (directory / taken).exists():
            break
        taken = f"{aside}-{number}"
    plan = {"aside": taken, "new": new, "old": [name for name in _PARTS if name not in kept]}
    part = directory / f"{_PLAN}.part"
    with open(part, "w", encoding="utf-8") as file:
        json.dump(plan, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, directory / _PLAN)
    sync_directory(directory)
    return finish(directory)


def finish(directory: Path) -> Path:
    """Carry out what the plan says and was not done yet; the directory of what was set aside.

    Raises DatabaseUnusable for a plan that cannot be read, and OSError.
    """
    plan_file, prepared = directory / _PLAN, directory / PREPARED
    try:
        plan = json.loads(plan_file.read_text(encoding="utf-8"))
        aside, new, old = directory / Path(plan["aside"]).name, list(plan["new"]), list(plan["old"])
    except (ValueError, KeyError, TypeError) as error:
        raise DatabaseUnusable(
            f"{plan_file} is damaged ({error}): the memory before it lies there or in a directory beside it"
        ) from error
    aside.mkdir(mode=0o700, exist_ok=True)
    for name in old:
        replaced = name in new and not (prepared / name).exists()
        if (directory / name).exists() and not replaced and not (aside / name).exists():
            os.replace(directory / name, aside / name)
    for path in (aside, directory):
        sync_directory(path)
    for name in new:
        if (prepared / name).exists():
            os.replace(prepared / name, directory / name)
    sync_directory(directory)
    shutil.rmtree(prepared, ignore_errors=True)
    plan_file.unlink()
    sync_directory(directory)
    return aside
