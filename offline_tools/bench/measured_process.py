"""Runs a command and measures the whole process tree: wall and processor seconds, peak memory."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from offline_tools.bench.report import BenchmarkError

SAMPLE_EVERY_S = 0.1


@dataclass(frozen=True)
class Measured:
    """One finished run. `peak_mib`: the most that all its processes held at once, shared pages counted once."""

    output: str
    wall_s: float
    cpu_s: float
    peak_mib: float


def hearsight(*arguments: str) -> list[str]:
    """The command line of `hearsight` with this interpreter."""
    return [sys.executable, "-m", "runtime.cli", *arguments]


def measure(command: Sequence[str], cwd: Path, statuses: Sequence[int] = (0,)) -> Measured:
    """Run to the end. Raises BenchmarkError with the command's own words when it ends with another status."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=cwd, stdout=output, stderr=errors)
        sampler = _PeakSampler(process.pid)
        status = process.wait()
        peak_mib = sampler.stop()
        wall_s = time.perf_counter() - started
        output.seek(0)
        errors.seek(0)
        said, wrong = output.read().decode(), errors.read().decode()
    if status not in statuses:
        raise BenchmarkError(f"{' '.join(command)} ended with {status}: {wrong.strip()[-600:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(said, wall_s, cpu_s, peak_mib)


class _PeakSampler:
    """Sums the proportional set size of a process and its descendants, again and again."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak_kib = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="peak-sampler")
        self._thread.start()

    def stop(self) -> float:
        self._stopped.set()
        self._thread.join()
        return self._peak_kib / 1024

    def _run(self) -> None:
        while not self._stopped.wait(SAMPLE_EVERY_S):
            self._peak_kib = max(self._peak_kib, sum(_pss_kib(pid) for pid in _tree(self._pid)))


def _tree(root: int) -> list[int]:
    found, open_pids = [], [root]
    while open_pids:
        pid = open_pids.pop()
        found.append(pid)
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                open_pids += [int(child) for child in children.read_text(encoding="ascii").split()]
            except OSError:
                continue
    return found


def _pss_kib(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        return 0
    return 0
