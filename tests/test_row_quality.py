"""Precision and recall of rows against a truth: by text vectors and by a judge, with what is missing counted."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from models.errors import ModelError
from offline_tools.chatml import Row, Text, Turn
from offline_tools.chatml_writer import write_rows
from offline_tools.endpoint import EndpointRefused
from offline_tools.errors import OfflineToolError
from offline_tools.synthesize.validate import Judged, Similar, compare, main
from tests.chat_server import chat_server, said
from tests.scripted_language import ScriptedLanguage
from tests.vectors import axis

WORDS = ["tea", "coffee", "cup", "moves", "sings", "tired"]


def embed(texts: Sequence[str]) -> np.ndarray:
    """Each of a few words its own direction; what has none of them is alone."""
    vectors = np.stack(
        [sum((axis(WORDS.index(w), 8) for w in WORDS if w in text), axis(7, 8)) for text in texts]
    )
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


SIMILAR = Similar(embed, 0.95)


def row(name: str, events: Sequence[str] = (), facts: Sequence[str] = (), pairs: Sequence[str] = ()) -> Row:
    """A row with this answer; a pair is "face voice", by number."""
    lines: list[dict[str, object]] = [{"event": text} for text in events]
    lines += [{"fact": text} for text in facts]
    for face, voice in (pair.split() for pair in pairs):
        lines.append({"equivalence": [f"<face_{face}>", f"<voice_{voice}>"]})
    text = "\n".join(json.dumps(line) for line in lines) or "{}"
    tags = "<face_1> <face_2> <voice_3> <voice_4>"
    return Row(name, (Turn("user", (Text(tags),)), Turn("assistant", (Text(text),))))


TRUTH = [
    row("a", ["<face_1> moves the cup.", "<face_1> sings."], ["<face_1> likes tea."], ["1 3", "2 4"]),
    row("b", ["<face_2> is tired."], [], []),
]


def test_what_is_right_and_complete_is_one() -> None:
    quality = compare(TRUTH, TRUTH, SIMILAR)
    assert quality.precision["episodic"].share == quality.recall["episodic"].share == 1
    assert quality.precision["semantic"].share == quality.equivalence_f1 == 1


def test_what_is_wrong_lowers_precision_and_what_is_missing_recall() -> None:
    rows = [
        row(
            "a",
            ["<face_1> moves a cup.", "<face_1> is tired.", "<face_2> sings."],
            ["<face_1> likes coffee."],
            ["1 3"],
        ),
        row("z", ["<face_1> sings."]),
    ]
    quality = compare(rows, TRUTH, SIMILAR)
    assert (quality.precision["episodic"].right, quality.precision["episodic"].all) == (1, 3)
    assert (quality.recall["episodic"].right, quality.recall["episodic"].all) == (1, 3)
    assert quality.precision["semantic"].share == quality.recall["semantic"].share == 0
    assert quality.equivalence_f1 == pytest.approx(2 * 1 / (1 + 2))
    assert (quality.missing, quality.unknown) == (["b"], ["z"])


def test_a_wrong_pair_is_no_pair() -> None:
    quality = compare([row("a", pairs=["1 4", "2 3"])], [row("a", pairs=["1 3", "2 4"])], SIMILAR)
    assert quality.equivalence_f1 == 0
    assert compare([row("a")], [row("a")], SIMILAR).equivalence_f1 is None


def test_a_judge_says_yes_no_or_nothing_of_use() -> None:
    language = ScriptedLanguage(["Yes.", "no", "perhaps", ModelError("too late"), "YES", "no"])
    rows = [row("a", ["one", "two", "three", "four"])]
    truth = [row("a", ["first", "second"])]
    counted = compare(rows, truth, Judged(language))
    assert (counted.precision["episodic"].right, counted.precision["episodic"].all) == (1, 2)
    assert counted.precision["episodic"].unjudged == 2
    assert counted.recall["episodic"].share == 0.5
    assert "first\nsecond\nClaim: one" in language.calls[0].messages[0].content


def test_a_judge_that_refuses_ends_it() -> None:
    with pytest.raises(EndpointRefused):
        compare([row("a", ["x"])], [row("a", ["y"])], Judged(ScriptedLanguage([EndpointRefused("key")])))


def test_the_command_prints_a_table_and_a_json_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_rows(tmp_path / "rows.jsonl", [row("a", ["<face_1> sings."], pairs=["1 3"])])
    write_rows(tmp_path / "truth.jsonl", TRUTH)
    with chat_server(lambda body: said("yes")) as server:
        arguments = [str(tmp_path / "rows.jsonl"), "--truth", str(tmp_path / "truth.jsonl")]
        assert main([*arguments, "--judge", f"{server.url}#j"]) == 0
    told = capsys.readouterr().out
    figures = json.loads(told.splitlines()[-1])
    assert figures["episodic_precision"] == 1 and figures["rows_missing"] == ["b"]
    assert figures["equivalence_f1"] == pytest.approx(2 / 3) and "0.627, 0.846" in told


def test_rows_of_something_else_are_no_comparison(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.jsonl", [row("q", ["x"])])
    write_rows(tmp_path / "truth.jsonl", TRUTH)
    with pytest.raises(OfflineToolError, match="have no row in common"):
        main([str(tmp_path / "rows.jsonl"), "--truth", str(tmp_path / "truth.jsonl")])
