"""`hearsight trace`: the list, an answer's way in words, its last prompt, and traces of older versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memory_store.store import MemoryStore
from models.errors import ModelError
from models.language import Message
from runtime.answer import Answer
from runtime.control import Control
from runtime.recall import Recall
from tests.command_line import called, refused
from tests.household import NOW, ZONE, embed_words, open_household
from tests.scripted_language import ScriptedLanguage

LONG = " ".join(["sunflower"] * 400)


def _reply(messages: Sequence[Message]) -> str:
    if "Lisbon" in messages[-1].content.splitlines()[-2]:
        return "Reasoning: it is there.\n[Answer] The flight leaves on the twelfth of May 1999. (memory 1)"
    if "Question: How do I get" in messages[-1].content and "new" not in messages[-1].content:
        return "Reasoning: not here.\n[Search] zebra"
    return "Reasoning: nothing.\n[Answer] I don't know."


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """Traces 1: computed, 2: not taken, 3: searched and abstained, 4: the model failed, 5: of an older version."""
    with open_household(tmp_path) as store:
        answers = _asked(store, ScriptedLanguage(_reply, context_tokens=1500))
        failing = ScriptedLanguage(lambda _: ModelError("the language model's process was killed (signal 9)"))
        answers += [_control(store, failing).answer("What is the wifi password?")]
        old = replace(answers[0], trace_id=None).to_json()
        for key in ("pictures", "about", "before_clip"):
            del old[key]
        with store.transaction():
            store.save_trace("Who was here?", "Anna.", old)
    (tmp_path / "robot.yaml").write_text("robot:\n  timezone: Europe/Berlin\n")
    return tmp_path


def _control(store: MemoryStore, language: ScriptedLanguage) -> Control:
    return Control(Recall(store, embed_words), language, clock=lambda: NOW, zone=ZONE)


def _asked(store: MemoryStore, language: ScriptedLanguage) -> list[Answer]:
    control = _control(store, language)
    questions = (
        "What did Bob say yesterday?",
        "When does the flight to Lisbon leave?",
        "How do I get on the internet?",
    )
    return [control.answer(question) for question in questions]


def _trace(memory: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    done = called(capsys, "trace", *arguments, "--config", memory / "robot.yaml", "--data-dir", memory)
    assert done.status == 0, done.errors
    return done.output


def test_without_a_number_the_latest_are_listed(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = _trace(memory, capsys).splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "4", "5"]
    assert "computed" in lines[0] and "no answer" in lines[2] and "How do I get on the internet?" in lines[2]
    assert _trace(memory, capsys, "--limit", "1").split()[0] == "5"
    assert '"method": "computed"' in _trace(memory, capsys, "--json")


def test_an_answer_of_the_timeline(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = _trace(memory, capsys, "1")
    assert (
        "persons   Bob\n" in told
        and "time      yesterday: 2026-11-28 00:00:00 to 2026-11-29 00:00:00" in told
    )
    assert "answered by code" in told and "from the timeline, confidence 0.90, 0 model calls" in told
    assert "proof   [" in told and 'Bob says: "My dentist' in told


def test_rounds_of_the_model(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = _trace(memory, capsys, "2")
    assert "round 0   search 'When does the flight to Lisbon leave?' (filters: none)" in told
    assert "  model   [Answer] The flight leaves on the twelfth of May 1999. (memory 1)" in told
    assert "  result  not taken: the number 1999" in told and "tokens, " in told and " generated; " in told
    told = _trace(memory, capsys, "3")
    assert "  then    search 'zebra'" in told and "found nothing new" in told and "abstained" in told
    assert "the language model failed" in _trace(memory, capsys, "4")


def test_the_last_prompt_whole(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompt = _trace(memory, capsys, "2", "--prompt")
    assert (
        prompt.startswith("system: You answer from a robot's memories.") and "twelfth of December" in prompt
    )
    assert "No language model was asked" in _trace(memory, capsys, "1", "--prompt")
    assert "--prompt: name the trace" in refused("trace", "--prompt", "--data-dir", memory)


def test_traces_of_older_versions_and_of_what_was_forgotten_since(
    memory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "answer    Anna." in _trace(memory, capsys, "5")
    with MemoryStore.open(memory, []) as store:
        anna = next(person for person in store.people() if person.name == "Anna")
        store.forget_person(anna.id)
    told = _trace(memory, capsys)
    assert "mushrooms" not in told
