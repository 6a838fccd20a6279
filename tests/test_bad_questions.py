"""Questions that are odd, or asked while something is broken: answered, or refused in one sentence; nothing changes."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from models.language import Completion, Message
from models.language_process import LanguageProcess
from runtime.answer import Answer
from runtime.control import Control
from runtime.question import QuestionError
from runtime.recall import Recall
from tests.command_line import called, refused
from tests.disks import small_disk
from tests.household import NOW, ZONE, embed_words, open_household
from tests.pictures import fetched_model
from tests.scripted_language import ScriptedLanguage
from tests.tiny_omni import write_text_model

WIFI = "What is the wifi password?"
ODD = (
    "أين المفاتيح؟",
    "चाबियाँ कहाँ हैं?", "🔑❓ where 🗝️", "Ключи?", "キーはどこ？", "열쇠 어디?", "x" * 2000,
    "a̐é" * 300, "where\u202e are\u200b the\ufeff keys", "%s %d {0} {question} \\x00 ' OR 1=1 --",
    "(((((", "\ud800 keys", "NULL", "- - -", "１２",
    "person_99999999999999999999",
    "<face_1> <voice_9>", "AND OR NOT NEAR(\"keys\")", "keys*", '"', "when when when", "谁",
)  # fmt: skip
REFUSED = ("", "   ", "\n\t", "?!", "🔑❓", "x" * 20_000, "where\0keys", "\0")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with open_household(tmp_path) as store:
        yield store


def _control(store: MemoryStore, language: Any) -> Control:
    return Control(Recall(store, embed_words), language, clock=lambda: NOW, zone=ZONE)


def _state(store: MemoryStore) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table but the traces."""
    tables = [row[0] for row in store._database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    kept = [table for table in tables if table not in ("traces", "sqlite_sequence")]
    return {table: [tuple(row) for row in store._database.rows(f"SELECT * FROM {table}")] for table in kept}


def test_odd_questions_are_answered_or_refused_in_one_sentence_and_change_nothing(store: MemoryStore) -> None:
    before = _state(store)
    language = ScriptedLanguage(lambda _: "Reasoning: no.\n[Answer] I don't know.")
    for control in (_control(store, None), _control(store, language)):
        for question in ODD:
            try:
                assert control.answer(question).text, question
            except QuestionError as error:
                assert "\n" not in str(error)
    for question in REFUSED:
        with pytest.raises(QuestionError) as raised:
            _control(store, None).answer(question)
        assert len(str(raised.value)) < 200 and "\n" not in str(raised.value)
    assert _state(store) == before, "a question changes nothing but its trace"


class Struck(LanguageProcess):
    """A language model whose process is killed (signal 9) in the middle of the next round."""

    strikes = True

    def complete(self, messages: Sequence[Message], **options: Any) -> Completion:  # type: ignore[override]
        pid = self.pid
        if self.strikes and pid is not None:
            self.strikes = False
            os.kill(pid, signal.SIGSTOP)  # so that the round is surely not over yet
            threading.Timer(0.2, os.kill, (pid, signal.SIGKILL)).start()
        return super().complete(messages, **options)


def test_a_model_killed_in_a_round_costs_one_answer_the_model(store: MemoryStore, tmp_path: Path) -> None:
    language = Struck(write_text_model(tmp_path / "tiny.gguf"), threads=1, context_tokens=8192)
    try:
        control = _control(store, language)
        answer = control.answer(WIFI)
        assert "sunflower seven" in answer.text and answer.method == "extractive"
        assert [item.action for item in answer.rounds] == ["failed"]
        assert any("was killed (signal 9" in note for note in answer.notes)
        again = control.answer(WIFI)
        assert again.model_calls >= 1 and all(item.action != "failed" for item in again.rounds)
    finally:
        language.close()


def test_a_writer_that_holds_on_costs_the_trace_and_not_the_answer(tmp_path: Path) -> None:
    spaces = [VectorSpace("text", 64, "words")]
    with (
        open_household(tmp_path) as writer,
        MemoryStore.open(tmp_path, spaces, busy_timeout_s=0.05) as store,
        writer.transaction(),
    ):
        answer = _control(store, None).answer(WIFI)
    assert "sunflower seven" in answer.text and answer.trace_id is None
    assert any(
        "No trace of this answer was kept" in note and "another process" in note for note in answer.notes
    )


def test_a_disk_that_is_full_costs_the_trace_and_not_the_answer(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4096) as disk, open_household(disk) as store:
        free = os.statvfs(disk)
        (disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_bsize))
        answers: list[Answer] = []
        while not answers or (answers[-1].trace_id is not None and len(answers) < 200):
            answers.append(_control(store, None).answer(WIFI))
        assert answers[-1].trace_id is None and "sunflower seven" in answers[-1].text
        assert any("free some space" in note for note in answers[-1].notes)
        (disk / "ballast").unlink()
        assert _control(store, None).answer(WIFI).trace_id is not None


@pytest.mark.parametrize("damage", ["deleted", "cut", "noise"])
def test_while_the_index_is_built_again_the_same_is_found(tmp_path: Path, damage: str) -> None:
    spaces = [VectorSpace("text", 64, "words")]
    open_household(tmp_path).close()

    def asked(exact_below: int) -> list[tuple[str, list[int]]]:
        with MemoryStore.open(tmp_path, spaces, clock=lambda: NOW, exact_below=exact_below) as store:
            answers = [
                _control(store, None).answer(question) for question in (WIFI, "drill neighbour", "血压药")
            ]
            return [(answer.text, [item.id for item in answer.evidence]) for answer in answers]

    exact = asked(10_000)
    with MemoryStore.open(tmp_path, spaces, exact_below=8) as store:
        store.rebuild_indexes()
    files = [path for path in tmp_path.rglob("*") if path.is_file() and "memory.db" not in path.name]
    assert files, "an index was written"
    for path in files:
        if damage == "deleted":
            path.unlink()
        elif damage == "cut":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        else:
            path.write_bytes(random.Random(1).randbytes(path.stat().st_size))
    assert asked(8) == exact


def test_a_model_file_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "multilingual-e5-small").symlink_to(fetched_model("multilingual-e5-small"))
    config = tmp_path / "robot.yaml"
    config.write_text(f"models:\n  dir: {models}\n", encoding="utf-8")
    memory = tmp_path / "memory"
    open_household(memory).close()
    options = ("--config", config, "--data-dir", memory)
    done = called(capsys, "ask", "What did Anna say about the keys?", *options, "--json")
    assert done.status == 0 and "blue bowl" in done.json["answer"]
    done = called(capsys, "ask", WIFI, *options, "--json")
    assert done.status == 0 and "no language model" in done.json["answer"]
    assert "hearsight models fetch" in refused("ask", WIFI, *options, "--language", "qwen2.5-coder-0.5b")
    (models / "multilingual-e5-small").unlink()
    assert "multilingual-e5-small" in refused("ask", WIFI, *options, "--language", "none")
    done = called(capsys, "ask", "What did Anna say about the keys?", *options, "--json")
    assert done.status == 0 and "blue bowl" in done.json["answer"], "what code answers needs no model"
