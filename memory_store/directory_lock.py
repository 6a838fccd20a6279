"""Who uses a memory's directory: everybody shares it, but a restore or repair has it alone."""

import fcntl
import os
import time
from pathlib import Path

from memory_store.errors import DatabaseBusy, ReadOnlyStorage

_RETRY_S = 0.05


class DirectoryLock:
    """An advisory lock on the directory itself, which dies with its holder and leaves no file."""

    def __init__(self, directory: Path, *, alone: bool = False, timeout_s: float = 10.0) -> None:
        """Make the directory where it is missing, and lock it.

        Raises:
            ReadOnlyStorage: it cannot be made or opened.
            DatabaseBusy: it is used by others (with `alone`), or by one that has it alone, beyond the timeout.
        """
        self.directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise ReadOnlyStorage(
                f"{directory} cannot be made or opened ({error.strerror}): name another directory"
            ) from error
        operation = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(self._file, operation | fcntl.LOCK_NB)
                return
            except BlockingIOError as error:
                if time.monotonic() < deadline:
                    time.sleep(_RETRY_S)
                    continue
                self.release()
                raise DatabaseBusy(
                    f"{directory} is in use by another hearsight command or program: wait for it, or stop it"
                    if alone
                    else f"the memory in {directory} is being restored or repaired: try again when that is done"
                ) from error
            except OSError as error:
                if not alone:
                    return  # a file system without locks, where nobody can have the directory alone
                self.release()
                raise ReadOnlyStorage(
                    f"{directory} cannot be locked ({error.strerror}): copy the memory to a disk of this machine"
                ) from error

    def release(self) -> None:
        """Let go of the directory; harmless when done twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> "DirectoryLock":
        return self

    def __exit__(self, *error: object) -> None:
        self.release()
