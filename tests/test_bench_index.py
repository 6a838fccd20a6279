"""The benchmarks of the vector index and of the writes run, and measure what they say they measure."""

import json

import numpy as np
import pytest

from offline_tools.bench import writes
from offline_tools.bench.index import SHARES, asked, case_of, options_of, ours
from offline_tools.bench.index_pauses import longest_pauses
from offline_tools.bench.vector_data import synthetic
from offline_tools.bench.vector_engines import engines

OPTIONS = options_of(["--queries", "12", "--seconds", "5"])


def test_the_vectors_are_spread_like_those_of_a_text_model() -> None:
    vectors, queries = synthetic(4000, 100)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4000), abs=1e-5)
    assert np.linalg.norm(vectors.mean(axis=0)) == pytest.approx(0.91, abs=0.02)
    nearest = -np.sort(-(vectors[:500] @ vectors.T), axis=1)
    assert np.median(nearest[:, 1]) == pytest.approx(0.93, abs=0.02)
    assert np.median(nearest[:, 100]) == pytest.approx(0.88, abs=0.02)
    assert np.median((queries @ vectors.T).max(axis=1)) == pytest.approx(0.85, abs=0.03)


def test_every_engine_answers_under_every_filter() -> None:
    vectors, queries = synthetic(1000, 12)
    cases = [case_of(share, vectors, queries) for share in SHARES]
    assert [None if case.allowed is None else len(case.allowed) for case in cases] == [None, 500, 10, 2]
    found, missing = engines()
    assert len(found) + len(missing) == 4
    for kind in found:
        engine = kind()
        engine.add(vectors, 1)
        figure = asked(
            lambda query, engine=engine: engine.nearest(query, 10), vectors, queries, cases[0], OPTIONS
        )  # type: ignore[misc]
        assert figure["recall"] > 0.95, engine.name
        engine.close()
    wrong = asked(lambda query: list(range(1, 11)), vectors, queries, cases[0], OPTIONS)
    assert wrong["recall"] < 0.2, "a wrong answer counts as wrong"


def test_the_memory_itself() -> None:
    vectors, queries = synthetic(1000, 12)
    cases = [case_of(share, vectors, queries) for share in SHARES]
    rows: list[tuple[str, str, str]] = []
    figures = ours(vectors, queries, cases, OPTIONS, rows, "1000")
    for case in cases:
        assert figures[case.name]["recall"] == 1.0
        assert figures[f"search_node, {case.name}, words"]["queries"] == 12
    assert figures["start"]["first_search_s"] > 0


def test_pauses_are_measured() -> None:
    pauses = longest_pauses(300, clips=5)
    assert set(pauses) == {"a query", "a commit of ten nodes"}
    assert all(ms > 0 for ms in pauses.values())


def test_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert writes.main(["--clips", "30"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(figures["clips_a_second_by_decile"]) == 10
    assert figures["database_bytes_per_1000_clips"] > 1000 * 10 * 384 * 4
