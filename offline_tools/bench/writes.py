"""Writing as the robot does, one transaction a clip: the sustained rate, bytes, start-up and memory.

python -m offline_tools.bench writes [--clips 100000]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from memory_store import MemoryStore, VectorSpace
from offline_tools.bench import index_memory
from offline_tools.bench.index_memory import CLIP_S, NODES_A_CLIP, START_UTC_S
from offline_tools.bench.report import print_report
from offline_tools.bench.vector_data import Synthetic, Vectors

_DECILES = 10
_FACES = 12


def main(arguments: list[str]) -> int:
    """Write the clips, then open the memory again in another process."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.bench writes")
    parser.add_argument("--clips", type=int, default=100_000, help="clips to write, ten nodes each")
    options = parser.parse_args(arguments)
    source = Synthetic()
    space = VectorSpace("text", source.dimension, "bench")
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        store, index = index_memory.opened(directory, space)
        with store:
            rates, slowest_ms, search_ms = _written(store, source, options.clips)
            waiting_s = _seconds_to_settle(index)
        database_bytes = sum(path.stat().st_size for path in directory.glob("memory.db*"))
        index_bytes = sum(path.stat().st_size for path in (directory / "index").glob("*"))
        start = index_memory.opening(directory, space, source.queries(1)[0])
    nodes = options.clips * NODES_A_CLIP
    figures = {
        "clips": options.clips,
        "clips_a_second": round(options.clips / sum(options.clips / _DECILES / rate for rate in rates), 1),
        "clips_a_second_by_decile": [round(rate, 1) for rate in rates],
        "commit_ms": slowest_ms,
        "search_while_writing_ms": search_ms,
        "settled_after_s": round(waiting_s, 1),
        "database_bytes_per_1000_clips": database_bytes * 1000 // options.clips,
        "index_bytes_per_1000_clips": index_bytes * 1000 // options.clips,
        "start": {key: round(value, 2) for key, value in vars(start).items()},
        "anonymous_mib_per_100000_nodes": round(start.anonymous_mib * 100_000 / nodes, 1),
    }
    print_report("writes", _table(figures, nodes), figures)
    return 0


def write_clip(store: MemoryStore, number: int, vectors: Vectors, faces: list[int]) -> None:
    """One clip in one transaction."""
    with store.transaction():
        clip_rows(store, number, vectors, faces)


def clip_rows(
    store: MemoryStore, number: int, vectors: Vectors, faces: list[int], *, heard: bool = False
) -> list[tuple[int, int]]:
    """Ten lines with a vector, a mention and an edge to the line before, each; the lines with whom they mention.

    heard: the lines are told as speech, with the words that were said.
    """
    start_utc_s = START_UTC_S + CLIP_S * number
    clip_id = store.add_clip(
        source_key=f"written:{number}",
        source_name="bench",
        start_utc_s=start_utc_s,
        end_utc_s=start_utc_s + CLIP_S,
    )
    lines = list[tuple[int, int]]()
    for i in range(NODES_A_CLIP):
        node_number = NODES_A_CLIP * number + i
        face = faces[node_number % len(faces)]
        said = index_memory.line(node_number)
        told = {"source": "grounded", "event": "heard", "said": said} if heard else {}
        node_id = store.add_node(
            "episodic",
            f"<face_{face}> {said}",
            clip_id=clip_id,
            start_utc_s=start_utc_s + i,
            end_utc_s=start_utc_s + i + 1,
            vectors={"text": vectors[i]},
            provenance=told,
        )
        if lines:
            store.add_edge(lines[-1][0], node_id, "temporal")
        lines.append((node_id, face))
    return lines


def add_faces(store: MemoryStore) -> list[int]:
    """The people whom the lines mention."""
    with store.transaction():
        return [
            store.add_node("face", "", clip_id=None, start_utc_s=START_UTC_S, end_utc_s=START_UTC_S)
            for _ in range(_FACES)
        ]


def _written(
    store: MemoryStore, source: Synthetic, clips: int
) -> tuple[list[float], dict[str, float], dict[str, float]]:
    """Clips per second by decile; the times of single commits and of searches between them."""
    faces = add_faces(store)
    queries = source.queries(1000)
    every = max(1, min(100, clips // 100))
    rates, commits_s, searches_s = list[float](), list[float](), list[float]()
    for decile in range(_DECILES):
        numbers = range(clips * decile // _DECILES, clips * (decile + 1) // _DECILES)
        spent_s = 0.0
        for number in numbers:
            vectors = source.vectors(NODES_A_CLIP)
            start_s = time.perf_counter()
            write_clip(store, number, vectors, faces)
            commits_s.append(time.perf_counter() - start_s)
            spent_s += commits_s[-1]
            if number % every == 0:
                start_s = time.perf_counter()
                store.search_node(vector=queries[number % len(queries)], k=10)
                searches_s.append(time.perf_counter() - start_s)
        rates.append(len(numbers) / spent_s)
        print(f"decile {decile + 1}: {rates[-1]:.1f} clips a second", file=sys.stderr, flush=True)
    return rates, _percentiles(commits_s), _percentiles(searches_s)


def _seconds_to_settle(index: Any) -> float:
    start_s = time.perf_counter()
    index.settle()
    return time.perf_counter() - start_s


def _percentiles(taken_s: list[float]) -> dict[str, float]:
    p50, p99 = np.percentile(taken_s, [50, 99]) * 1000
    return {
        "p50": round(float(p50), 2),
        "p99": round(float(p99), 2),
        "max": round(1000 * max(taken_s), 1),
    }


def _table(figures: dict[str, Any], nodes: int) -> list[tuple[str, str, str]]:
    rates, start = figures["clips_a_second_by_decile"], figures["start"]
    search, commit = figures["search_while_writing_ms"], figures["commit_ms"]
    return [
        ("clips a second, ten nodes each", f"{figures['clips_a_second']}", ""),
        ("by decile", ", ".join(f"{rate:.0f}" for rate in rates), "does not sink"),
        ("a commit", f"p50 {commit['p50']} ms, p99 {commit['p99']} ms, max {commit['max']} ms", ""),
        ("a search meanwhile", f"p50 {search['p50']} ms, p99 {search['p99']} ms, max {search['max']} ms", ""),
        ("index complete after the last clip", f"{figures['settled_after_s']} s", ""),
        ("database, 1,000 clips", f"{figures['database_bytes_per_1000_clips'] / 1e6:.1f} MB", ""),
        ("index files, 1,000 clips", f"{figures['index_bytes_per_1000_clips'] / 1e6:.1f} MB", ""),
        (
            f"open, load, check, first search at {nodes:,}",
            f"{start['open_s'] + start['first_search_s']:.2f} s",
            "10 s",
        ),
        ("memory per 100,000 nodes", f"{figures['anonymous_mib_per_100000_nodes']} MiB", ""),
        ("a second connection of the process", f"{start['second_mib']:.1f} MiB", ""),
    ]
