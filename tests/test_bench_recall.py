"""The recall benchmark on a dialogue made up here, with vectors of words: what it writes, asks and counts."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_store import MemoryStore, VectorSpace
from offline_tools.bench.dialogues import Asked, Dialogue, Session, Turn, remember
from offline_tools.bench.embedding_cache import EmbeddingCache
from offline_tools.bench.evidence_recall import (
    Found,
    Models,
    figures_of,
    measured,
    recall_at,
    reciprocal_rank,
    rows_of,
)
from offline_tools.bench.locomo_recall import read_dialogues
from offline_tools.bench.longmemeval_recall import answer_turns, as_one, by_answer, by_session
from tests.household import embed_words
from tests.memory_samples import SATURDAY_UTC_S

TALK = Dialogue(
    "talk",
    [
        Session(
            SATURDAY_UTC_S,
            [
                Turn("D1:1", "Anna", "Where did you put the bicycle pump?"),
                Turn("D1:2", "Bob", "It hangs behind the boiler.", shown="a red pump on a wall"),
                Turn("D1:3", "Anna", "Thank you <b>"),
            ],
        ),
        Session(SATURDAY_UTC_S + 86400.0, [Turn("D2:1", "Bob", "The flight leaves at nine " * 30)]),
    ],
    [
        Asked("Where is the bicycle pump?", "1", frozenset({"D1:2"})),
        Asked("When does Bob's flight leave?", "2", frozenset({"D2:1"})),
    ],
    SATURDAY_UTC_S + 200000.0,
)
MODELS = Models(VectorSpace("text", 64, "words"), embed_words, embed_words, about=0.5)


def test_turns_become_lines_of_their_speakers_in_clips(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, [MODELS.space]) as store:
        where = remember(store, TALK, embed_words)
        lines = store.nodes(kinds=["episodic"])
        assert [where.keys[node.id] for node in lines] == ["D1:1", "D1:2", "D1:2", "D1:3", "D2:1"]
        assert store.render(lines[1].text) == 'Bob says: "It hangs behind the boiler."'
        assert store.render(lines[3].text) == 'Anna says: "Thank you b"'
        assert {node.clip_id for node in lines[:4]} == {1} and lines[4].clip_id == 2
        assert [row.person for row in store.timeline()][:2] == ["Anna", "Bob"]
        assert sorted(where.persons) == ["Anna", "Bob"]


def test_each_question_is_asked_in_every_way_and_counted() -> None:
    found = measured(TALK, MODELS)
    assert [item.question.category for item in found] == ["1", "2"]
    assert found[0].ranked["robot"][:2] == [
        "D1:1",
        "D1:2",
    ]  # what was shown, and the answer to what was asked
    assert recall_at(found, "robot", 5) == 1.0 and recall_at(found[:1], "robot", 1) == 0.0
    figures = figures_of(found)
    assert list(figures) == ["1", "2", "all"] and figures["all"]["robot"] == [1.0, 1.0, 1.0]
    assert rows_of("talk", figures)[2][2].startswith("level in")


def test_sessions_are_ranked_by_their_first_turn_and_histories_are_joined() -> None:
    asked = Asked("When?", "1", frozenset({"b", "d"}))
    found = by_session(
        Found("talk", asked, {"robot": ["a#1", "a#2", "b#0", "c#1", "b#9"], "none": ["a#1"]}, 0.0)
    )
    assert found.ranked["robot"] == ["a", "b", "c"]
    assert recall_at([found], "robot", 1) == 0.0 and recall_at([found], "robot", 2) == 0.5
    assert reciprocal_rank([found, found], "robot") == 0.5 and reciprocal_rank([found], "none") == 0.0
    later = Dialogue("later", [Session(0.0, [])], [asked], SATURDAY_UTC_S + 9e5)
    joined = as_one([TALK, later])
    assert [session.start_utc_s for session in joined.sessions][:2] == [0.0, SATURDAY_UTC_S]
    assert len(joined.questions) == 3 and joined.asked_utc_s == later.asked_utc_s


def test_the_turns_that_hold_an_answer_count() -> None:
    said = ["Where is it?", "At 1634 Broadway, New York.", "Broadway is long."]
    sample = {
        "haystack_session_ids": ["s1", "s2"],
        "haystack_sessions": [
            [{"content": text} for text in said],
            [{"content": "Hm"}, {"content": "33", "has_answer": True}],
        ],
        "questions": ["Where is the theatre?", "How old?", "Which film?"],
        "answers": ["1634 Broadway", 33, "The Divine Lady"],
        "answer_session_ids": [["s1"], ["s2"], ["s1"]],
    }
    holders = answer_turns(sample)
    assert holders == {
        "Where is the theatre?": {"s1#1"}, "How old?": {"s2#1"}, "Which film?": frozenset()
    }  # fmt: skip
    asked = [Asked(text, "1", frozenset({"s1"})) for text in sample["questions"]]
    found = by_answer(Found("talk", asked[0], {"robot": ["s1#0", "s1#2", "s1#1"]}, 0.0), holders)
    assert found is not None and found.ranked["robot"] == ["s1#0", "s1#2", "s1"]
    assert reciprocal_rank([found], "robot") == pytest.approx(1 / 3)
    assert by_answer(Found("talk", asked[2], {"robot": ["s1#0"]}, 0.0), holders) is None


def test_a_benchmark_file_is_read_with_its_evidence_as_it_is_told() -> None:
    sample = {
        "sample_id": "conv",
        "conversation": {
            "speaker_a": "Anna",
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [{"speaker": "Anna", "dia_id": "D2:1", "text": "Hi", "blip_caption": "a cup"}],
            "session_10_date_time": "9:00 am on 9 May, 2023",
            "session_10": [{"speaker": "Bob", "dia_id": "D10:3", "text": "Yes"}],
            "session_3": [],
        },
        "qa": [
            {"question": "What?", "category": 4, "evidence": ["D2:1; D:10:03", "D"]},
            {"question": "None?", "category": 1, "evidence": []},
        ],
    }
    (dialogue,) = read_dialogues([sample])
    assert [turn.key for session in dialogue.sessions for turn in session.turns] == ["D2:1", "D10:3"]
    assert dialogue.sessions[0].turns[0].shown == "a cup"
    (asked,) = dialogue.questions
    assert asked.evidence == {"D2:1", "D10:3"} and asked.category == "4 single-hop"


def test_vectors_are_computed_once_and_a_torn_file_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARSIGHT_CACHE", str(tmp_path))
    asked: list[str] = []

    def embed(texts: list[str]) -> NDArray[np.float32]:
        asked.extend(texts)
        return np.array([[len(text), 1.0] for text in texts], np.float32)

    first = EmbeddingCache("words", 2).wrapped(embed, "query")(["a", "bb", "a"])
    assert first.tolist() == [[1.0, 1.0], [2.0, 1.0], [1.0, 1.0]] and asked == ["a", "bb"]
    (file,) = (tmp_path / "embeddings").iterdir()
    with file.open("ab") as opened:
        opened.write(b"torn")
    again = EmbeddingCache("words", 2)
    assert again.wrapped(embed, "query")(["bb", "a"]).tolist() == [[2.0, 1.0], [1.0, 1.0]]
    assert again.wrapped(embed, "passage")(["bb"]).tolist() == [[2.0, 1.0]]
    assert asked == ["a", "bb", "bb"] and file.stat().st_size == 3 * (32 + 8)
