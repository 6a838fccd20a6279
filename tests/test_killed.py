"""kill -9 at random points of writing: what was acknowledged is there and found by word and vector, nothing else is.

The vectors are so many that index files are in use. A power cut differs from kill -9 in that the system's own
buffers go, too: `synchronous = FULL` has SQLite wait for the disk at each commit, which no test here can prove.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from memory_store import MemoryStore, VectorSpace
from memory_store.index_file import IndexFile
from tests.memory_samples import SATURDAY_UTC_S, add_clip, unit

ROOT = Path(__file__).resolve().parents[1]
SPACE = VectorSpace("text", 8, "text-a")
NODES_A_CLIP = 6
EXACT_BELOW = 64
# Imports once, then for each line on its input forks a writer that goes on until it is killed.
WRITERS = """
import os, sys
from pathlib import Path
from tests.test_killed import open_large, write_clip

def write() -> None:
    store = open_large(Path(sys.argv[1]))
    for number in range(len(store.clips()), 1_000_000):
        sys.stdout.write(f"{write_clip(store, number)}\\n")  # at once: print may be killed before its end of line
        sys.stdout.flush()

for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        write()
    print(f"pid {child}", flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


def open_large(directory: Path) -> MemoryStore:
    """A memory that uses index files from a few vectors on."""
    return MemoryStore.open(directory, [SPACE], clock=lambda: SATURDAY_UTC_S, exact_below=EXACT_BELOW)


def write_clip(store: MemoryStore, number: int) -> int:
    """Write the numbered clip with its lines, each with a word and a vector of its own; the clip's id."""
    with store.transaction():
        clip_id = add_clip(store, number)
        ids = [
            store.add_node(
                "episodic",
                f"word{number}x{i} was said",
                clip_id=clip_id,
                start_utc_s=SATURDAY_UTC_S + 30.0 * number,
                end_utc_s=SATURDAY_UTC_S + 30.0 * number + 1.0,
                vectors={"text": unit(NODES_A_CLIP * number + i)},
            )
            for i in range(NODES_A_CLIP)
        ]
        for left, right in pairwise(ids):
            store.add_edge(left, right, "temporal")
    return clip_id


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that starts writers on the memory in tmp_path."""
    command = [sys.executable, "-c", WRITERS, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def _killed_after(writers: subprocess.Popen[str], seconds: float) -> list[int]:
    """Let a writer run for so long and kill it; the clips that it acknowledged."""
    assert writers.stdin is not None and writers.stdout is not None
    writers.stdin.write("\n")
    writers.stdin.flush()
    pid, acknowledged = 0, list[int]()
    for line in writers.stdout:
        if line.startswith("pid "):
            pid = int(line.removeprefix("pid "))
            time.sleep(seconds)
            os.kill(pid, signal.SIGKILL)
        elif line == "gone\n":
            break
        else:
            acknowledged.append(int(line))
    return acknowledged


def _check(store: MemoryStore, clip_ids: list[int], moments: random.Random) -> None:
    """All of these clips are there and found, and what is found is there and nearest."""
    for clip_id in clip_ids:
        nodes = store.nodes(clip_id=clip_id)
        assert len(nodes) == NODES_A_CLIP
        number = round((store.clip(clip_id).start_utc_s - SATURDAY_UTC_S) / 30.0)
        for i, node in enumerate(nodes):
            assert node.text == f"word{number}x{i} was said"
            assert store.search_node(text=f"word{number}x{i}", k=1)[0].node.id == node.id
            (hit,) = store.search_node(vector=unit(NODES_A_CLIP * number + i), k=1)
            assert hit.node.id == node.id and hit.similarity is not None and hit.similarity > 0.999
    rows = store._database.rows("SELECT node_id, vector FROM vectors ORDER BY id")
    if not rows:
        return
    matrix = np.frombuffer(b"".join(row["vector"] for row in rows), "<f4").reshape(-1, 8)
    for _ in range(5):
        query = unit(moments.randrange(1 << 30))
        found = [hit.node.id for hit in store.search_node(vector=query, k=10, threshold=-1)]
        best = {rows[at]["node_id"] for at in np.argsort(-(matrix @ query))[:10].tolist()}
        assert len(set(found)) == min(10, len(rows)) and len(best & set(found)) >= min(9, len(rows))


def _indexed(directory: Path) -> int:
    file = IndexFile(directory / "index", SPACE)
    stored = [file.load(name) for name in file.names()]
    return sum(0 if isinstance(graph, str) else len(graph.ids) for graph in stored)


@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])])
def test_what_was_acknowledged_is_there_and_found(
    tmp_path: Path, writers: subprocess.Popen[str], kills: int
) -> None:
    moments = random.Random(kills)
    with open_large(tmp_path) as store:
        acknowledged = [write_clip(store, number) for number in range(3 * EXACT_BELOW // NODES_A_CLIP)]
    before = len(acknowledged)
    gaps = unacknowledged = 0
    for turn in range(kills):
        new = _killed_after(writers, moments.uniform(0.0, 0.3))
        acknowledged += new
        with open_large(tmp_path) as store:
            clips = [clip.id for clip in store.clips()]
            assert set(acknowledged) <= set(clips)
            assert len(store.nodes()) == NODES_A_CLIP * len(clips), "all or nothing of a clip"
            unacknowledged += len(clips) > len(acknowledged)
            acknowledged = clips  # what was committed just before the kill counts from here on
            count = NODES_A_CLIP * len(clips)
            gaps += EXACT_BELOW <= _indexed(tmp_path) < count
            old = moments.sample(clips, min(3, len(clips)))
            _check(store, [*new[-5:], *clips[-1:], *old], moments)
            if turn % 20 == kills % 20 or turn == kills - 1:
                assert store.verify() == []
    with open_large(tmp_path) as store:
        for index in store._indexes.values():
            index.settle()  # what its thread does by and by
        count = NODES_A_CLIP * len(store.clips())
        assert count - EXACT_BELOW <= _indexed(tmp_path) <= count, "the gap is closed"
        _check(store, moments.sample(acknowledged, min(50, len(acknowledged))), moments)
        assert store.verify() == []
    assert gaps and len(acknowledged) > before
    print(f"{kills} kills, {len(acknowledged)} clips, {gaps} gaps between database and index, "
          f"{unacknowledged} commits just before a kill")  # fmt: skip
