"""Keeping a large memory: seconds and peak memory of backup, verify, restore, repair and forgetting, by the command.

python -m offline_tools.bench keeping [--clips 20000]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from memory_store import MemoryStore, VectorSpace
from models.manifest import Manifest
from offline_tools.bench.index_memory import NODES_A_CLIP
from offline_tools.bench.measured_process import hearsight, measure
from offline_tools.bench.report import ROOT, print_report
from offline_tools.bench.vector_data import Synthetic
from offline_tools.bench.writes import add_faces, clip_rows

_AT_ONCE = 200  # clips in one transaction: how they were written does not matter here
_PAGE = 4096


@dataclass(frozen=True)
class Step:
    """One command on the memory: wall and processor seconds, megabytes of database a second, peak of its processes."""

    name: str
    seconds: float
    cpu_seconds: float
    mb_a_second: float
    peak_mib: float


def main(arguments: list[str]) -> int:
    """Write the memory, then keep it in each way, one process each."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.bench keeping")
    parser.add_argument("--clips", type=int, default=20_000, help="clips of ten nodes each")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        memory, archive = folder / "memory", folder / "backup.zip"
        _fill(memory, options.clips)
        megabytes = (memory / "memory.db").stat().st_size / 1e6
        steps = [
            _step("verify", megabytes, "memory", "verify", "--data-dir", str(memory)),
            _step("backup", megabytes, "backup", str(archive), "--data-dir", str(memory)),
            _step("forget one of twelve", megabytes, "people", "forget", "Anna", "--data-dir", str(memory)),
            _step("restore, forgetting again", megabytes, "restore", str(archive), "--data-dir", str(memory)),
        ]
        _damage(memory / "memory.db")
        steps.append(
            _step("repair 20 overwritten pages", megabytes, "memory", "repair", "--data-dir", str(memory))
        )
        archived = archive.stat().st_size / 1e6
    _report(options.clips, megabytes, archived, steps)
    return 0


def _fill(directory: Path, clips: int) -> None:
    """Lines with vectors and edges, of twelve people; Anna's name stands in lines of others as well."""
    entry = Manifest.load().default("text_embedding")
    source = Synthetic()
    with MemoryStore.open(directory, [VectorSpace("text", entry.dimension, entry.id)]) as store:
        faces = add_faces(store)
        with store.transaction():
            for number, face in enumerate(faces):
                person = store.create_person(tentative=False)
                store.bind(person, face)
                store.name_person(person, f"Resident {number}" if number else "Anna")
        for first in range(0, clips, _AT_ONCE):
            with store.transaction():
                for number in range(first, min(first + _AT_ONCE, clips)):
                    vectors = source.vectors(NODES_A_CLIP)
                    for line, face in clip_rows(store, number, vectors, faces, heard=True):
                        store.add_edge(line, face, "mentions", detail="actor")
            print(f"{first + _AT_ONCE} clips written", end="\r", file=sys.stderr, flush=True)
        for index in store._indexes.values():
            index.settle(os.cpu_count() or 1)


def _damage(database: Path) -> None:
    """Overwrite pages that are spread over the file."""
    chance, pages = np.random.default_rng(1), database.stat().st_size // _PAGE
    with open(database, "rb+") as file:
        for page in np.linspace(pages * 0.1, pages * 0.9, 20, dtype=int).tolist():
            file.seek(page * _PAGE)
            file.write(chance.bytes(_PAGE))


def _step(name: str, megabytes: float, *command: str) -> Step:
    done = measure(hearsight(*command), ROOT, (0, 1))  # 1: done, and something was wrong or lost
    print(f"{name}: {done.wall_s:.1f} s, {done.peak_mib:.0f} MiB", file=sys.stderr, flush=True)
    return Step(name, done.wall_s, done.cpu_s, megabytes / done.wall_s, done.peak_mib)


def _report(clips: int, megabytes: float, archived: float, steps: list[Step]) -> None:
    rows = [("database; backup", f"{megabytes:.0f} MB; {archived:.0f} MB", "")]
    for step in steps:
        speed = f"{step.seconds:.1f} s ({step.cpu_seconds:.1f} s of processor), {step.mb_a_second:.0f} MB/s"
        measured = f"{speed}, peak {step.peak_mib:.0f} MiB"
        rows.append((step.name, measured, ""))
    sizes = {"clips": clips, "database_mb": round(megabytes, 1), "backup_mb": round(archived, 1)}
    print_report("keeping", rows, {**sizes, "steps": [asdict(step) for step in steps]})
