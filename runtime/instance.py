"""One daemon per data directory, by an advisory lock that dies with its holder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import InstanceError


@contextmanager
def only_instance(data_dir: Path) -> Iterator[None]:
    """Hold `data_dir`/hearsight.lock.

    Raises:
        InstanceError: another process holds it, or the directory can't be written.
    """
    path = data_dir / "hearsight.lock"
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        file = open(path, "a+", encoding="utf-8")  # noqa: SIM115 - held open as long as the lock
    except OSError as error:
        raise InstanceError(
            f"cannot write in the data directory {data_dir}: {error.strerror}; choose another with --data-dir"
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise InstanceError(
                f"another hearsight run (process {holder}) already uses {data_dir}: "
                "stop it, or choose another directory with --data-dir"
            ) from error
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
