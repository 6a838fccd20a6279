"""The main job on the demo scene, through the command line: see, hear, remember, answer; twice changes nothing."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from offline_tools.bench.attribution import (
    Claim,
    TrueSegment,
    people_of_ids,
    tied_transcripts,
    word_error_rate,
)
from tests.command_line import ROOT, command, hearsight
from tests.pictures import demo_scene

START_AT = "2026-05-02T09:00:00+00:00"


def _run(memory: Path, *more: str) -> list[dict[str, Any]]:
    done = hearsight(
        "run", "--replay", demo_scene(), "--speed", "max", "--start-at", START_AT, "--language", "none",
        "--data-dir", memory, "--json", *more,
    )  # fmt: skip
    assert done.status == 0, done.errors
    return done.lines


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("memory")
    _run(directory)
    return directory


@pytest.fixture(scope="module")
def timeline(memory: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = hearsight("timeline", "--data-dir", memory, "--json").json
    return rows


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(demo_scene().with_suffix(".json").read_text(encoding="utf-8"))
    return document


def _claims(timeline: list[dict[str, Any]], kind: str) -> list[Claim]:
    return [
        Claim(
            row["media_start_s"], row["media_end_s"], row["person"], row["text"].partition('"')[2].rstrip('"')
        )
        for row in timeline
        if row["kind"] == kind and row["person"]
    ]


def test_three_people_and_all_their_sentences(timeline: list[dict[str, Any]], script: dict[str, Any]) -> None:
    truth = [
        TrueSegment(line["start_s"], line["end_s"], line["person"], line["text"]) for line in script["lines"]
    ]
    alone = [
        TrueSegment(row["start_s"], row["end_s"], row["people"][0], "")
        for row in script["appearances"]
        if len(row["people"]) == 1
    ]
    names = people_of_ids(_claims(timeline, "seen"), alone)
    assert sorted(set(names.values())) == ["Anna", "Ben", "Carl"] and len(names) == 3
    heard = tied_transcripts(_claims(timeline, "heard"), truth, names)
    assert all(heard), f"a sentence was lost or tied to somebody else: {heard}"
    assert word_error_rate([segment.transcript for segment in truth], [text or "" for text in heard]) < 0.25


def test_every_person_has_one_face_and_one_voice(memory: Path) -> None:
    people = hearsight("people", "list", "--data-dir", memory, "--json").json
    assert [(len(person["faces"]), len(person["voices"])) for person in people] == [(1, 1)] * 3
    for person in people:
        assert (memory / person["portraits"][0]).read_bytes().startswith(b"\xff\xd8")


def test_times_are_those_of_the_recording(timeline: list[dict[str, Any]]) -> None:
    first = min(row["start"] for row in timeline)
    assert first.startswith("2026-05-02T09:00:0")
    assert all(row["evidence"] and row["source"] == "scene.mp4" for row in timeline)


def test_the_same_file_again_changes_nothing(memory: Path, timeline: list[dict[str, Any]]) -> None:
    report = _run(memory)[-1]
    assert (report["clips"], report["already_known"]) == (0, 2)
    again = hearsight("timeline", "--data-dir", memory, "--json").json
    assert again == timeline


def test_without_a_start_time_it_is_still_the_same_recording(
    memory: Path, timeline: list[dict[str, Any]]
) -> None:
    done = hearsight(
        "run", "--replay", demo_scene(), "--speed", "max", "--language", "none", "--data-dir", memory
    )
    assert done.status == 0, done.errors
    assert hearsight("timeline", "--data-dir", memory, "--json").json == timeline


def test_the_answer_quotes_its_evidence(memory: Path, timeline: list[dict[str, Any]]) -> None:
    answer = hearsight(
        "ask", "Where are the keys?", "--language", "none", "--data-dir", memory, "--json"
    ).json
    assert "blue bowl" in answer["answer"] and not answer["abstained"]
    known = {evidence for row in timeline for evidence in row["evidence"]}
    assert answer["evidence"] and {item["id"] for item in answer["evidence"]} <= known
    trace = hearsight("trace", str(answer["trace"]), "--data-dir", memory, "--json").json
    assert trace["question"] == "Where are the keys?"


def test_what_nobody_said_is_not_known(memory: Path) -> None:
    answer = hearsight(
        "ask", "What is the name of the dentist?", "--language", "none", "--data-dir", memory, "--json"
    ).json
    assert answer["abstained"], answer


def test_a_name_given_is_used_everywhere(memory: Path, tmp_path: Path) -> None:
    copy = tmp_path / "memory"
    shutil.copytree(memory, copy)
    rows = hearsight("timeline", "--data-dir", copy, "--json").json
    speaker = next(row["person"] for row in rows if "I am Anna" in row["text"])
    assert hearsight("people", "name", speaker, "Anna", "--data-dir", copy).status == 0
    rows = hearsight("timeline", "--person", "Anna", "--data-dir", copy, "--json").json
    assert any(row["text"].startswith("Anna says:") for row in rows)


def test_after_kill_9_the_next_run_finishes_the_job(tmp_path: Path, timeline: list[dict[str, Any]]) -> None:
    memory = tmp_path / "memory"
    run = subprocess.Popen(
        command("run", "--replay", demo_scene(), "--speed", "max", "--start-at", START_AT, "--language", "none",
                "--data-dir", memory, "--json"),
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stdout is not None
    assert json.loads(run.stdout.readline())["event"] == "clip"
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=20)
    report = _run(memory)[-1]
    assert (report["clips"], report["already_known"]) == (1, 1)
    rows = hearsight("timeline", "--data-dir", memory, "--json").json
    assert [(row["start"], row["text"]) for row in rows] == [(row["start"], row["text"]) for row in timeline]


def test_sigterm_writes_what_was_captured(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    run = subprocess.Popen(
        command("run", "--replay", demo_scene(), "--speed", "4", "--start-at", START_AT, "--language", "none",
                "--data-dir", memory, "--json"),
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (memory / "memory.db").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(4.0)
    run.send_signal(signal.SIGTERM)
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 0, errors
    report = json.loads(output.splitlines()[-1])
    assert report["event"] == "report" and report["clips"] >= 1 and report["media_s"] < 60
