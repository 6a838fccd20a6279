"""A Chinese question about what was said in English, and the reverse: found, answered without a model, or not known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_store.records import VectorSpace
from memory_store.store import MemoryStore
from models.manifest import Manifest
from runtime import compose, compose_answers
from runtime.across_languages import LanguageShift
from runtime.answer import Answer
from runtime.config import Settings
from runtime.control import Control
from runtime.grounding import language_of
from runtime.question import read_question
from runtime.recall import Recall, RecallLimits
from tests.household import NOW, ZONE, remember
from tests.pictures import fetched_model

MEANINGS = (
    "keys|钥匙", "dentist|牙医", "drill|电钻", "wifi|密码", "pizza|披萨", "flight|航班", "medicine|药",
    "dinner|晚饭", "parcel|包裹", "sofa|沙发",
)  # fmt: skip
LIMITS = RecallLimits(similarity_floor=0.99, similarity_floor_zh=0.99, across_strong=0.07, across_near=0.065)


def _embed(texts: list[str]) -> NDArray[np.float32]:
    """As multilingual models do: what a text means, and a large part that only says in which language."""
    vectors = np.zeros((len(texts), len(MEANINGS) + 3), np.float32)
    for row, text in zip(vectors, texts, strict=True):
        for number, words in enumerate(MEANINGS):
            row[number] = 0.5 * any(word in text.lower() for word in words.split("|"))
        row[-1 if language_of(text) == "zh" else -2] = 1.0
        row[-3] = 0.8
    normalised: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normalised


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    spaces = [VectorSpace("text", len(MEANINGS) + 3, "made-up")]
    with MemoryStore.open(tmp_path, spaces, clock=lambda: NOW) as store:
        remember(store, _embed)
        yield store


def _ask(store: MemoryStore, question: str, *, across: bool = True) -> Answer:
    recall = Recall(store, _embed, limits=LIMITS, shift=LanguageShift(_embed) if across else None)
    return Control(recall, None, clock=lambda: NOW, zone=ZONE).answer(question)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("谁借走了电钻？", "I lent the drill"),
        ("牙医预约是几号？", "dentist appointment"),
        ("What about dinner?", "饺子"),
    ],
)
def test_what_was_said_in_another_language_is_found(store: MemoryStore, question: str, said: str) -> None:
    answer = _ask(store, question)
    assert said in answer.text and not answer.abstained
    assert answer.evidence[0].across is not None and answer.evidence[0].across >= LIMITS.across_strong
    assert said not in _ask(store, question, across=False).text


def test_what_nobody_said_in_any_language_is_not_known(store: MemoryStore) -> None:
    for question in ("沙发多少钱？", "How much did the sofa cost?"):
        answer = _ask(store, question)
        assert answer.abstained and not answer.evidence


def test_it_is_found_among_however_many_memories_of_the_questions_own_language(store: MemoryStore) -> None:
    with store.transaction():
        for number in range(60):
            said = f"今天第{number}次下雨了，外面很冷。"
            clip = store.add_clip(
                source_key=said, source_name="rain", start_utc_s=NOW - 900, end_utc_s=NOW - 890
            )
            store.add_node(
                "episodic", f"有人说：“{said}”", clip_id=clip, start_utc_s=NOW - 900, end_utc_s=NOW - 895,
                provenance={"source": "grounded", "event": "heard", "said": said}, vectors={"text": _embed([said])[0]},
            )  # fmt: skip
    assert "I lent the drill" in _ask(store, "谁借走了电钻？").text


def test_however_often_it_looks_a_question_is_embedded_once(store: MemoryStore) -> None:
    embedded: list[str] = []

    def embed(texts: list[str]) -> NDArray[np.float32]:
        embedded.extend(texts)
        return _embed(texts)

    recall = Recall(store, embed, limits=LIMITS, shift=LanguageShift(_embed))
    asked = read_question("Anna的披萨多少钱？", store.people(), store.person_of, NOW, ZONE)
    _, search = recall.search(asked.text, asked)
    assert search.widened and len(embedded) == 1


def test_a_question_in_the_other_language_is_no_answer(store: MemoryStore) -> None:
    with store.transaction():
        clip = store.add_clip(source_key="q", source_name="x", start_utc_s=NOW - 90, end_utc_s=NOW - 60)
        store.add_node(
            "episodic", 'Somebody says: "Where is the sofa?"', clip_id=clip, start_utc_s=NOW - 90, end_utc_s=NOW - 85,
            provenance={"source": "grounded", "event": "heard"}, vectors={"text": _embed(["Where is the sofa?"])[0]},
        )  # fmt: skip
    assert _ask(store, "沙发在谁那儿？").abstained


def test_what_one_language_answers_is_not_looked_for_in_the_other(store: MemoryStore) -> None:
    answer = _ask(store, "What is the wifi password?")
    assert "sunflower" in answer.text and answer.evidence[0].across is None
    assert "across" in answer.to_json()["evidence"][0]


def test_with_the_default_text_model(tmp_path: Path) -> None:
    fetched_model("multilingual-e5-small")
    parts = compose.Parts(Settings(data_dir=tmp_path), Manifest.load())
    embedder = compose.text_embedder(parts)
    with compose.open_store(parts) as store:
        remember(store, embedder.embed_passage)
        recall = compose_answers.recall(parts, store, embedder.embed_query)
        control = Control(recall, None, clock=lambda: NOW, zone=ZONE)
        for question, said in (
            ("无线网络的密码是多少？", "sunflower seven"), ("洗衣机怎么了？", "leaking"),
            ("去里斯本的航班什么时候起飞？", "twelfth"),
            ("Who watered the flowers?", "浇了水"), ("Where are the blood pressure pills?", "白色柜子"),
        ):  # fmt: skip
            answer = control.answer(question)
            assert said in answer.text and not answer.abstained, answer.text
        for question in ("护照在哪里？", "银行卡的密码是多少？", "沙发多少钱？", "Who broke the window?"):
            answer = control.answer(question)
            assert answer.abstained, answer.text
