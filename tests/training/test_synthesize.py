"""Training rows from memories and videos: the three stages, what is left out, failures, and a kill -9."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from models.errors import ModelError
from models.language import Message
from offline_tools.chatml import read_rows
from offline_tools.consent import EVERYBODY, ConsentRule, consent_rule
from offline_tools.errors import OfflineToolError
from offline_tools.synthesize.__main__ import main
from offline_tools.synthesize.annotate import Annotators
from offline_tools.synthesize.equivalence import VotingRule
from offline_tools.synthesize.rows import Rules, Tally
from offline_tools.synthesize.run import Plan, synthesize
from runtime.config import Settings
from tests.chat_server import Reply, chat_server
from tests.scripted_language import ScriptedLanguage
from tests.training.synthesized import answer, make_memory, open_memory

pytest.importorskip("networkx", reason="needs the training extra: make setup-training")
pytestmark = pytest.mark.training

ROOT = Path(__file__).resolve().parents[2]
LIVELY = Rules(EVERYBODY)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight clips; a third voice speaks in clip 5."""
    directory = tmp_path_factory.mktemp("memory")
    make_memory(directory, 8, narrated=5)
    return directory


def reply(messages: Sequence[Message]) -> str | ModelError:
    """The good model's answer without a server."""
    body = {"messages": [{"content": message.content} for message in messages]}
    return str(json.loads(answer(body).body)["choices"][0]["message"]["content"])


def made(
    out: Path,
    memory: Path,
    rules: Rules = LIVELY,
    model: Callable[[Sequence[Message]], str | ModelError] = reply,
) -> Tally:
    language = ScriptedLanguage(model, context_tokens=100_000)
    models = Annotators(None, language, language, False, False)
    return synthesize(Plan((memory,), (), out, Settings()), models, rules)


def test_the_rows_of_a_memory(memory: Path, tmp_path: Path) -> None:
    tally = made(tmp_path / "rows.jsonl", memory)
    rows = read_rows(tmp_path / "rows.jsonl")
    assert len(rows) == tally.written == 7 and tally.counts["rejected_voice"] == 1
    assert "no face is known for <voice_" in tally.rejected[0] and "150 to 180 s" in tally.rejected[0]
    first = rows[0]
    lines = [json.loads(line) for line in first.answer.splitlines()]
    assert [list(line) for line in lines] == [["event"], ["fact"], ["equivalence"], ["equivalence"]]
    assert "ferns" in lines[0]["event"] and "kitchen window" in lines[1]["fact"]
    pairs = {tuple(line["equivalence"]) for line in lines[2:]}
    tags = {medium.tag for medium in first.turns[1].media}
    assert {face for face, _ in pairs} == tags and len(pairs) == 2
    assert first.source["dimensions"] == ["attributes"] and first.source["models"]["merge"] == "scripted"
    assert [row.source["start_s"] for row in rows] == [0, 30, 60, 90, 120, 180, 210]


def test_the_true_pairs_are_told(memory: Path, tmp_path: Path) -> None:
    made(tmp_path / "rows.jsonl", memory)
    with open_memory(memory) as store:
        people = [
            (set(person.face_ids), set(person.voice_ids)) for person in store.people() if person.face_ids
        ]
        for row in read_rows(tmp_path / "rows.jsonl"):
            for line in map(json.loads, row.answer.splitlines()):
                if "equivalence" in line:
                    face, voice = (int(tag.strip("<>").partition("_")[2]) for tag in line["equivalence"])
                    assert any(face in faces and voice in voices for faces, voices in people)


def test_nobody_is_used_without_consent(memory: Path, tmp_path: Path) -> None:
    tally = made(tmp_path / "rows.jsonl", memory, Rules(ConsentRule()))
    assert tally.written == 0 and tally.counts["rejected_consent"] == 8
    assert "whose consent is unknown" in tally.rejected[0]


def test_who_said_do_not_remember_is_never_used(tmp_path: Path) -> None:
    make_memory(tmp_path / "m", 3)
    with open_memory(tmp_path / "m") as store, store.transaction():
        first, second = [person.id for person in store.people() if person.face_ids]
        store.set_consent(first, "resident")
        store.set_consent(second, "do_not_remember")
    tally = made(tmp_path / "rows.jsonl", tmp_path / "m", Rules(consent_rule(["guest", "unknown"])))
    assert tally.written == 0 and "do_not_remember" in tally.rejected[0]
    with pytest.raises(OfflineToolError, match="'do_not_remember' cannot be allowed"):
        consent_rule(["do_not_remember"])


def test_a_clip_whose_model_fails_is_skipped_named_and_made_later(memory: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole.jsonl", tmp_path / "rows.jsonl"
    made(whole, memory)
    failing = {"ferns": "a heron", "chairs": ModelError("took too long"), "books": ""}

    def patchy(messages: Sequence[Message]) -> str | ModelError:
        bad = [text for thing, text in failing.items() if f"red {thing}" in messages[-1].content]
        return bad[0] if bad else reply(messages)

    tally = made(out, memory, model=patchy)
    assert (tally.written, tally.counts["skipped"]) == (4, 3)
    told = "\n".join(tally.skipped)
    assert "0 to 30 s: episodic: scripted wrote nothing that can be used (no line): 'a heron'" in told
    assert "60 to 90 s: episodic: took too long" in told
    assert (tmp_path / "rows.jsonl.left_out.txt").read_text().count("skipped: ") == 3
    again = made(out, memory)
    assert (again.written, again.known) == (3, 4)
    assert out.read_bytes() == whole.read_bytes()


def test_one_bad_dimension_skips_the_row_and_an_empty_one_does_not(memory: Path, tmp_path: Path) -> None:
    def gibberish(messages: Sequence[Message]) -> str | ModelError:
        odd = "stand to each other" in messages[0].content and "red lamps" in messages[-1].content
        return '{"fact": [[[' if odd else reply(messages)

    tally = made(tmp_path / "rows.jsonl", memory, model=gibberish)
    assert tally.written == 6 and "semantic (relations)" in tally.skipped[0]


def test_too_many_failures_in_a_row_end_the_run(memory: Path, tmp_path: Path) -> None:
    dead: list[str | ModelError] = [ModelError("gone")] * 9
    language = ScriptedLanguage(dead, context_tokens=100_000)
    models = Annotators(None, language, language, False, False)
    plan = Plan((memory,), (), tmp_path / "rows.jsonl", Settings())
    with pytest.raises(OfflineToolError, match="3 clips one after another gave no row"):
        synthesize(plan, models, Rules(EVERYBODY, give_up_after=3))
    assert len(language.calls) == 3


def test_other_rules_do_not_go_on_with_the_same_file(memory: Path, tmp_path: Path) -> None:
    made(tmp_path / "rows.jsonl", memory)
    with pytest.raises(OfflineToolError, match=r"was begun with share 0\.5, now it is 0\.9"):
        made(tmp_path / "rows.jsonl", memory, Rules(EVERYBODY, VotingRule(share=0.9)))


def test_an_edge_of_one_meeting_gives_no_row(tmp_path: Path) -> None:
    make_memory(tmp_path / "m", 1)
    assert made(tmp_path / "rows.jsonl", tmp_path / "m").counts["rejected_voice"] == 1
    once = Rules(EVERYBODY, VotingRule(least=1))
    assert made(tmp_path / "more.jsonl", tmp_path / "m", once).written == 1


def command(memory: Path, out: Path, url: str, *more: str) -> list[str]:
    return ["--memory", str(memory), "--out", str(out), "--captions", "none", "--merge", f"{url}#m",
            "--allow", "unknown", "--timeout", "20", *more]  # fmt: skip


def test_a_killed_run_goes_on_to_the_same_bytes(memory: Path, tmp_path: Path) -> None:
    """Killed with signal 9 after each of several numbers of calls, then run to the end."""
    whole, out = tmp_path / "whole.jsonl", tmp_path / "killed" / "rows.jsonl"
    with chat_server(answer) as server:
        assert main(command(memory, whole, server.url)) == 0
    kills = 0
    for most in (3, 9):
        left = [most]

        def stalling(body: dict[str, Any], left: list[int] = left) -> Reply:
            left[0] -= 1
            return answer(body) if left[0] >= 0 else Reply(wait_s=60)

        with chat_server(stalling) as server:
            process = subprocess.Popen(
                [sys.executable, "-m", "offline_tools.synthesize", *command(memory, out, server.url)],
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
            ends_s = time.monotonic() + 60
            while left[0] >= 0 and process.poll() is None and time.monotonic() < ends_s:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
            kills += process.wait(10) == -signal.SIGKILL
    assert kills == 2
    between = read_rows(out)
    assert 0 < len(between) < 7
    with chat_server(answer) as server:
        assert main(command(memory, out, server.url)) == 0
        asked = len(server.requests)
    assert asked == 5 * (7 - len(between))
    assert out.read_bytes() == whole.read_bytes()
    assert read_rows(out)


def test_a_wrong_key_ends_the_run_at_once(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server(lambda body: Reply(401, b"no")) as server:
        assert main(command(memory, tmp_path / "rows.jsonl", server.url)) == 1
        assert len(server.requests) == 1
    assert "the key is missing or wrong" in capsys.readouterr().err


def test_a_silent_model_skips_clips(memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def silent_once(body: dict[str, Any]) -> Reply:
        return Reply(wait_s=30) if "red lamps" in str(body) else answer(body)

    out = tmp_path / "rows.jsonl"
    with chat_server(silent_once) as server:
        assert main(command(memory, out, server.url, "--timeout", "1")) == 0
    told = capsys.readouterr()
    assert "no answer in 1.0 s" in told.err and json.loads(told.out)["skipped"] == 1
    assert len(read_rows(out)) == 6


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--memory", "a", "--replay", "b"], "give either"),
        ([], "give either"),
        (["--memory", "nowhere"], "no memory in nowhere"),
        (["--memory", "x", "--share", "0"], "--share must be"),
        (["--memory", "x", "--captions", "qwen2.5-coder-0.5b"], "sees no pictures"),
        (["--memory", "x", "--merge", "none"], "must be models"),
        (["--memory", "x", "--merge", "nobody"], "no usable model"),
        (["--memory", "x", "--allow", "do_not_remember"], "cannot be allowed"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["--out", str(tmp_path / "r.jsonl"), "--captions", "none", "--merge", "http://127.0.0.1:9/v1#m"]
    assert main([*base, *arguments]) == 1
    assert expected in capsys.readouterr().err


def test_a_video_that_is_none_is_named_and_the_others_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.mp4").write_bytes(b"no video")
    with chat_server(answer) as server:
        arguments = ["--replay", str(tmp_path / "broken.mp4"), "--out", str(tmp_path / "rows.jsonl"),
                     "--captions", "none", "--merge", f"{server.url}#m"]  # fmt: skip
        assert main(arguments) == 0
    assert "broken.mp4" in capsys.readouterr().err


def test_rows_are_checked_by_command(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows.jsonl"
    made(out, memory)
    assert main(["check", str(out)]) == 0
    next((tmp_path / "media").rglob("*.jpg")).unlink()
    assert main(["check", str(out)]) == 1
    assert re.search(r"rows\.jsonl:\d: image .*jpg cannot be read", capsys.readouterr().err)
