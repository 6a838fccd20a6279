"""Disks for the tests: small ones that fill up and ones that may not be written; made by root alone."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534


@contextmanager
def small_disk(directory: Path, size_kib: int) -> Iterator[Path]:
    """A file system of its own with so much room; the test is skipped where none can be mounted."""
    directory.mkdir(parents=True, exist_ok=True)
    if os.getuid() != 0 or _run("mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", directory):
        pytest.skip("mounting a small disk needs root")
    try:
        yield directory
    finally:
        _run("umount", "-l", directory)


@contextmanager
def read_only_disk(directory: Path) -> Iterator[None]:
    """What lies in a directory, which cannot be written meanwhile, not even by root."""
    if os.getuid() != 0 or _run("mount", "--bind", directory, directory):
        pytest.skip("mounting a read-only disk needs root")
    try:
        assert _run("mount", "-o", "remount,bind,ro", directory) == 0
        yield
    finally:
        _run("umount", "-l", directory)


@contextmanager
def without_rights(*opened: Path) -> Iterator[None]:
    """Root's rights dropped; directories on the way to `opened` may be read by everybody."""
    if os.getuid() != 0:
        pytest.skip("only root can drop its rights")
    for path in opened:
        for directory in (path, *path.parents[:3]):
            directory.chmod(0o755)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def _run(*command: str | Path) -> int:
    return subprocess.run([*map(str, command)], capture_output=True, check=False).returncode
