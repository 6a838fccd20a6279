"""Prompt heads kept between processes: the same answers from fewer tokens, and nothing is read that is not right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.language import Message
from models.language_process import LanguageProcess
from models.prefix_files import LEAD, MOST_FILES, PrefixFiles
from models.prefix_store import KeptPrefix
from models.prompt_items import MediaPiece
from tests.test_language import LETTERS, TALK
from tests.tiny_omni import write_text_model

OTHER = (
    *TALK[:-1],
    Message("user", "Where does the big red ladder of our neighbour stand since last summer?"),
)


@pytest.fixture
def tiny_path(tmp_path: Path) -> Path:
    return write_text_model(tmp_path / "tiny.gguf")


@pytest.fixture
def keeping(tiny_path: Path, tmp_path: Path) -> Iterator[LanguageProcess]:
    process = LanguageProcess(tiny_path, threads=1, heads_dir=tmp_path / "heads", model_sha256="abc")
    yield process
    process.close()


def test_a_process_that_has_just_started_answers_the_same_from_a_kept_head(
    tiny_path: Path, keeping: LanguageProcess, tmp_path: Path
) -> None:
    plain = LanguageProcess(tiny_path, threads=1)
    expected = [plain.complete(talk, max_tokens=40, grammar=LETTERS).text for talk in (TALK, OTHER)]
    plain.close()
    first = keeping.complete(TALK, max_tokens=40, grammar=LETTERS)
    keeping.close()
    second = keeping.complete(OTHER, max_tokens=40, grammar=LETTERS)
    assert [first.text, second.text] == expected
    assert first.cached_tokens == 0 and second.cached_tokens > second.prompt_tokens // 2
    (file,) = (tmp_path / "heads").iterdir()
    whole = file.read_bytes()
    for damaged in (
        whole[: len(whole) // 2],
        whole[:-1] + b"x",
        b"",
        b"{}\n",
        whole.replace(b"abc", b"abd", 1),
    ):
        keeping.close()
        file.write_bytes(damaged)
        again = keeping.complete(OTHER, max_tokens=40, grammar=LETTERS)
        assert (again.text, again.cached_tokens) == (expected[1], 0)


def _prefix(seed: int) -> KeptPrefix:
    tokens = tuple(int(token) for token in np.random.default_rng(seed).integers(0, 1000, LEAD + 6))
    return KeptPrefix(tokens, np.arange(1000, dtype=np.uint8))


def test_heads_are_found_by_how_a_prompt_begins(tmp_path: Path) -> None:
    files = PrefixFiles(tmp_path / "heads", "model")
    one = _prefix(1)
    assert files.find(one.items) is None
    files.keep(one)
    found = files.find((*one.items[:LEAD], 7, 8, 9))
    assert found is not None and found.items == one.items and (found.state == one.state).all()
    assert files.find(_prefix(2).items) is None and files.find(one.items[: LEAD - 1]) is None
    assert PrefixFiles(tmp_path / "heads", "another model").find(one.items) is None
    files.keep(replace(one, items=(MediaPiece("a", 10, 10), *one.items)))
    for seed in range(20):
        files.keep(_prefix(seed))
    assert len(list((tmp_path / "heads").iterdir())) == MOST_FILES


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "heads").write_text("a file")
    files = PrefixFiles(tmp_path / "heads", "model")
    files.keep(_prefix(1))
    assert files.find(_prefix(1).items) is None
