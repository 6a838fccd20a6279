"""Dialogues with what the robot learns from them: facts are found, counted as evidence, and taken away on demand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memory_store.store import MemoryStore
from offline_tools.evaluate.datasets import read_dataset
from offline_tools.evaluate.memories import Memories
from runtime.facts import FactLearner
from tests.evaluated import TEXT, Bench, reply, sample
from tests.household import embed_words
from tests.scripted_language import ScriptedLanguage

MODEL = "qwen2.5-coder-0.5b"


def learner(store: MemoryStore) -> FactLearner:
    return FactLearner(store, embed_words, 0.9)


WITH_FACTS = replace(TEXT, facts=learner)


def dialogue(folder: Path) -> Path:
    """Bob says what he works as, and asks what a fact must not be read from."""
    one = sample("one", "boiler")
    one["conversation"]["session_1"] += [
        {"speaker": "Bob", "dia_id": "D1:4", "text": "I work as a nurse."},
        {"speaker": "Anna", "dia_id": "D1:5", "text": "Do you work as a nurse or as a pilot?"},
    ]
    one["qa"] = [{"question": "What is Bob's job?", "answer": "a nurse", "category": 4, "evidence": ["D1:4"]}]
    path = folder / "locomo.json"
    path.write_text(json.dumps([one]), encoding="utf-8")
    return path


def test_facts_are_read_from_talk_and_know_the_turn_they_are_from(tmp_path: Path) -> None:
    dataset = read_dataset("locomo", dialogue(tmp_path))
    with Memories(WITH_FACTS, dataset.dialogues).open("one") as memory:
        facts = memory.store.nodes(kinds=["semantic"])
        assert [memory.store.render(fact.text) for fact in facts] == ["Bob works as a nurse."]
        assert memory.keys_of([facts[0].id]) == {"D1:4"} and memory.removable["semantic"] == 1
        assert memory.keys_of([10**6]) == frozenset()
    with Memories(TEXT, dataset.dialogues).open("one") as memory:
        assert memory.removable == {"semantic": 0, "equivalences": 0}
        assert memory.fingerprint == "dialogue, without facts"


def test_what_is_answered_from_a_fact_is_gone_without_semantic_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    language = ScriptedLanguage(reply, name=MODEL)
    bench = Bench(tmp_path, {MODEL: language})
    given = ["locomo", "--file", str(dialogue(tmp_path)), "--model", "none", "--judge", MODEL]
    assert bench.run(*given, "--ablate", "semantic,round_zero", text=WITH_FACTS) == 0
    answers = {path.parent.name.rpartition("-")[0]: json.loads(path.read_text())["answered"]
               for path in (tmp_path / "runs").glob("*/*/answers.jsonl")}  # fmt: skip
    assert "works as a nurse" in answers["robot"]["text"]
    assert "works as a nurse" not in answers["robot-without-semantic"]["text"]
    told = capsys.readouterr().out
    assert "without semantic: the memories hold nothing" not in told
    assert bench.result("robot-without-semantic-*")["facts"] is True
