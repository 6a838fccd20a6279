"""The vector index against exact search and other engines: recall, latency, filters, start-up and pauses.

python -m offline_tools.bench index [--sizes 10000,100000,1000000] [--threads N]
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_store import MemoryStore, VectorSpace
from memory_store.filters import Allowed
from memory_store.index import SpaceIndex
from offline_tools.bench import index_memory
from offline_tools.bench.index_pauses import longest_pauses
from offline_tools.bench.report import BenchmarkError, print_report
from offline_tools.bench.vector_data import real_text, synthetic
from offline_tools.bench.vector_engines import Engine, Ids, Vectors, engines

K = 10
_PART = 16_384  # vectors compared with all queries at once
# The share that a filter lets pass; 2 stands for two items.
SHARES = (1.0, 0.5, 0.01, 2.0)


Taken = tuple[
    float, float
]  # seconds by the clock, and of the processor: other work on the machine adds to one only


@dataclass(frozen=True)
class Case:
    """What is asked: the filter, and the best ids of each query by exact search."""

    name: str
    allowed: Ids | None  # ascending
    condition: dict[str, Any]
    lowest: NDArray[np.float32]  # (queries,) the K-th best cosine


def main(arguments: list[str]) -> int:
    """Measure each size in turn and print one report."""
    options = options_of(arguments)
    installed, missing = engines()
    if options.engines:
        installed = [engine for engine in installed if engine.name in options.engines.split(",")]
    for note in missing:
        print(note)
    rows, figures = list[tuple[str, str, str]](), dict[str, Any]()
    for size in (int(size) for size in options.sizes.split(",")):
        vectors, queries = synthetic(size, options.queries)
        measure(str(size), vectors, queries, installed, options, rows, figures)
        del vectors
        gc.collect()
    try:
        measure("real text", *real_text(options.queries), installed, options, rows, figures)
    except BenchmarkError as error:
        print(f"the real text is left out: {error}")
    pauses = longest_pauses(20_000)
    rows += [
        (f"longest pause around 20,000: {name}", f"{ms:.1f} ms", "<= 100 ms") for name, ms in pauses.items()
    ]
    figures["longest_pause_ms"] = pauses
    print_report("index", rows, {"missing": missing, **figures})
    return 0


def options_of(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m offline_tools.bench index")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="numbers of vectors, with commas")
    parser.add_argument("--threads", type=int, default=1, help="threads to build with; queries use one")
    parser.add_argument("--queries", type=int, default=1000, help="queries of each kind at most")
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds of queries of each kind at most")
    parser.add_argument("--engines", default="", help="of the other engines only these, with commas; none: -")
    return parser.parse_args(arguments)


def measure(
    name: str,
    vectors: Vectors,
    queries: Vectors,
    installed: list[type[Engine]],
    options: argparse.Namespace,
    rows: list[tuple[str, str, str]],
    figures: dict[str, Any],
) -> None:
    """All engines on the same vectors and queries; adds to the table and to the figures."""
    cases = [case_of(share, vectors, queries) for share in SHARES]
    found = {"memory": ours(vectors, queries, cases, options, rows, name)}
    for kind in installed:
        engine = kind()
        build_s = _seconds(lambda engine=engine: engine.add(vectors, options.threads))  # type: ignore[misc]
        found[engine.name] = {"build_s": round(build_s, 1)} | {
            case.name: asked(_searching(engine, case), vectors, queries, case, options) for case in cases
        }
        engine.close()
        del engine
        gc.collect()
    for engine_name, figure in found.items():
        for case in cases:
            rows.append(
                (f"{name}, {case.name}: {engine_name}", _shown(figure[case.name]), _target(engine_name))
            )
    figures[name] = found


def ours(
    vectors: Vectors,
    queries: Vectors,
    cases: list[Case],
    options: argparse.Namespace,
    rows: list[tuple[str, str, str]],
    name: str,
) -> dict[str, Any]:
    """The memory's own index alone, and the whole way through `search_node`."""
    space = VectorSpace("text", vectors.shape[1], "bench")
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        fill_s = _seconds(lambda: index_memory.fill(directory, space, vectors))
        store, index = index_memory.opened(directory, space)
        with store:
            build_s = _seconds(lambda: index.settle(options.threads))
            gc.collect()
            gc.freeze()  # as the robot does when its services start
            figures: dict[str, Any] = {"fill_s": round(fill_s, 1), "build_s": round(build_s, 1)}
            for case in cases:
                figures[case.name] = asked(_index_search(index, case), vectors, queries, case, options)
                for words in (False, True):
                    key = f"search_node, {case.name}{', words' if words else ''}"
                    figures[key] = timed(_node_search(store, case, words=words), queries, options)
                    rows.append((f"{name}: {key}", _shown(figures[key]), _whole_target(case, words, vectors)))
        start = index_memory.opening(directory, space, queries[0])
    figures["start"] = {key: round(value, 3) for key, value in vars(start).items()}
    rows.append(
        (
            f"{name}: open, load, check and first search",
            f"{start.open_s + start.first_search_s:.2f} s",
            "10 s",
        )
    )
    mib = start.anonymous_mib * 100_000 / len(vectors)
    rows.append((f"{name}: memory per 100,000 vectors", f"{mib:.0f} MiB", ""))
    return figures


def case_of(share: float, vectors: Vectors, queries: Vectors) -> Case:
    """The filter that lets a share pass, as ids and as arguments of `search_node`, with exact answers."""
    count = len(vectors)
    allowed: Ids | None
    condition: dict[str, Any]
    if share == 2.0:
        name, allowed, condition = "2 items", np.array([count - 1, count]), {"kinds": ("image",)}
    elif share == 1.0:
        name, allowed, condition = "no filter", None, {}
    else:
        name = f"{share:.0%}"
        clips = int(count * share) // index_memory.NODES_A_CLIP
        first = (count // index_memory.NODES_A_CLIP - clips) // 2  # a span in the middle of the time
        allowed = np.arange(clips * index_memory.NODES_A_CLIP) + first * index_memory.NODES_A_CLIP + 1
        after_utc_s = index_memory.START_UTC_S + first * index_memory.CLIP_S
        condition = {
            "after_utc_s": after_utc_s,
            "before_utc_s": after_utc_s + clips * index_memory.CLIP_S,
        }
    among = vectors if allowed is None else vectors[allowed - 1]
    k = min(K, len(among))
    best = np.full((len(queries), k), -np.inf, np.float32)
    for start in range(0, len(among), _PART):
        near = np.concatenate([best, queries @ among[start : start + _PART].T], axis=1)
        best = np.partition(near, -k, axis=1)[:, -k:]
    return Case(name, allowed, condition, best.min(axis=1))


def asked(
    search: Callable[[Vectors], list[int]],
    vectors: Vectors,
    queries: Vectors,
    case: Case,
    options: argparse.Namespace,
) -> dict[str, float]:
    """Recall@10 against exact search, and the latency, of as many queries as the time allows.

    What is as near as the tenth best counts as found, whichever of equals it is.
    """
    right, taken_s = list[float](), list[Taken]()
    k = K if case.allowed is None else min(K, len(case.allowed))
    for number, query in enumerate(queries):
        found, taken = _timed(lambda query=query: search(query))  # type: ignore[misc]
        taken_s.append(taken)
        near = vectors[np.array(found[:k], np.int64) - 1] @ query >= case.lowest[number] - 1e-6
        right.append(float(near.sum()) / k)
        if sum(wall_s for wall_s, _ in taken_s) > options.seconds:
            break
    return {"recall": round(float(np.mean(right)), 4), **_latency(taken_s)}


def timed(
    search: Callable[[Vectors, int], object], queries: Vectors, options: argparse.Namespace
) -> dict[str, float]:
    """The latency alone."""
    taken_s = list[Taken]()
    for number, query in enumerate(queries):
        taken_s.append(_timed(lambda query=query, number=number: search(query, number))[1])  # type: ignore[misc]
        if sum(wall_s for wall_s, _ in taken_s) > options.seconds:
            break
    return _latency(taken_s)


def _index_search(index: SpaceIndex, case: Case) -> Callable[[Vectors], list[int]]:
    allowed = None if case.allowed is None else Allowed(case.allowed)
    return lambda query: [near.node_id for near in index.nearest(query, K, allowed)]


def _node_search(store: MemoryStore, case: Case, *, words: bool) -> Callable[[Vectors, int], object]:
    return lambda query, number: store.search_node(
        vector=query,
        text=index_memory.question(number) if words else None,
        k=K,
        threshold=-1.0,
        **case.condition,
    )


def _searching(engine: Engine, case: Case) -> Callable[[Vectors], list[int]]:
    allowed = case.allowed
    if allowed is None:
        return lambda query: engine.nearest(query, K)
    return lambda query: engine.nearest_among(query, K, allowed)


def _timed(work: Callable[[], Any]) -> tuple[Any, Taken]:
    wall_s, cpu_s = time.perf_counter(), time.thread_time()
    result = work()
    return result, (time.perf_counter() - wall_s, time.thread_time() - cpu_s)


def _latency(taken_s: list[Taken]) -> dict[str, float]:
    (p50, cpu_p50), (p99, cpu_p99) = np.percentile(np.array(taken_s), [50, 99], axis=0) * 1000
    figures = {"p50_ms": p50, "p99_ms": p99, "cpu_p50_ms": cpu_p50, "cpu_p99_ms": cpu_p99}
    return {name: round(float(value), 3) for name, value in figures.items()} | {"queries": len(taken_s)}


def _shown(figure: dict[str, float]) -> str:
    recall = f"recall@10 {figure['recall']:.4f}, " if "recall" in figure else ""
    return f"{recall}p50 {figure['p50_ms']:.2f} ms, p99 {figure['p99_ms']:.2f} ms"


def _target(engine: str) -> str:
    return "recall >= 0.99" if engine == "memory" else ""


def _whole_target(case: Case, words: bool, vectors: Vectors) -> str:
    if len(vectors) != 100_000:
        return ""
    if words:
        return "" if case.allowed is None else "p99 <= 15 ms"
    return "p99 <= 5 ms" if case.allowed is None else ""


def _seconds(work: Callable[[], object]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
