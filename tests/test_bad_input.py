"""Bad input: each gets one clear sentence, no traceback, and nothing already remembered is lost."""

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import ROOT, command, hearsight, refused
from tests.pictures import fetched_model
from tests.recordings import write_recording

CACHE = Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser()


def _replay(path: Path, memory: Path) -> tuple[str | Path, ...]:
    return ("run", "--replay", path, "--speed", "max", "--language", "none", "--data-dir", memory)


def _needs_models() -> None:
    for model in ("yunet", "sface", "silero-vad", "campplus-zh-en", "whisper-base", "multilingual-e5-small"):
        fetched_model(model)


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("notes.txt", b"Milk, bread, eggs\n" * 50, "notes.txt"),
        ("empty.mp4", b"", "empty"),
        ("noise.mp4", bytes(range(256)) * 64, "noise.mp4"),
        ("missing.mp4", None, "missing.mp4"),
    ],
)
def test_files_that_are_no_recordings(tmp_path: Path, name: str, content: bytes | None, part: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    sentence = refused(*_replay(path, tmp_path / "memory"))
    assert part in sentence


def test_a_directory_is_no_recording(tmp_path: Path) -> None:
    assert str(tmp_path) in refused(*_replay(tmp_path, tmp_path / "memory"))


def test_sound_alone_and_pictures_alone_are_noted_on_the_clip(tmp_path: Path) -> None:
    _needs_models()
    noise = np.random.default_rng(1).normal(0, 0.05, 16000 * 3).astype(np.float32)
    sound = write_recording(tmp_path / "sound.wav", sounds=[(0.0, noise)])
    pictures = write_recording(
        tmp_path / "pictures.mp4", picture_times_s=[number / 5 for number in range(15)]
    )
    memory = tmp_path / "memory"
    for path in (sound, pictures):
        done = hearsight(*_replay(path, memory), "--json")
        assert done.status == 0 and done.json["clips"] == 1, done.errors
    status = hearsight("memory", "status", "--data-dir", memory, "--json").json
    assert status["clips"] == 2
    rows = hearsight("timeline", "--data-dir", memory, "--json").json
    assert not [row for row in rows if row["kind"] == "heard"], "noise is not speech"
    assert hearsight("people", "list", "--data-dir", memory, "--json").json == []


def test_five_mistakes_in_the_configuration_are_five_lines(tmp_path: Path) -> None:
    config = tmp_path / "robot.yaml"
    config.write_text(
        "robot:\n  timezone: Mars/Olympus\n  nmae: Rob\ncamera:\n  width_px: wide\n"
        "clip:\n  length_s: 0.1\ncontorl:\n  max_rounds: 3\n",
        encoding="utf-8",
    )
    done = hearsight("run", "--config", config, "--data-dir", tmp_path / "memory")
    assert done.status == 1 and "Traceback" not in done.errors
    assert "5 mistakes" in done.errors and len(done.errors.strip().splitlines()) == 6
    checked = hearsight("check", "--config", config, "--data-dir", tmp_path / "memory")
    assert checked.status == 1 and checked.output.count("WRONG  configuration") == 5


@pytest.mark.skipif(any(Path("/dev").glob("video*")), reason="this machine has a camera")
def test_no_camera_and_no_microphone(tmp_path: Path) -> None:
    config = tmp_path / "robot.yaml"
    config.write_text("camera:\n  device: 7\n", encoding="utf-8")
    sentence = refused("run", "--config", config, "--data-dir", tmp_path / "memory")
    assert "camera 7" in sentence and ("microphone" in sentence or "PortAudio" in sentence)


def test_a_model_file_cut_short(tmp_path: Path) -> None:
    _needs_models()
    models = tmp_path / "models"
    models.mkdir()
    for entry in (CACHE / "models").iterdir():
        if entry.is_dir() and entry.name != "sface":
            (models / entry.name).symlink_to(entry)
    (models / "sface").mkdir()
    whole = CACHE / "models" / "sface" / "face_recognition_sface_2021dec.onnx"
    (models / "sface" / whole.name).write_bytes(whole.read_bytes()[:1_000_000])
    config = tmp_path / "robot.yaml"
    config.write_text(f"models:\n  dir: {models}\n", encoding="utf-8")
    recording = write_recording(tmp_path / "pictures.mp4", picture_times_s=[0.0, 0.2, 0.4])
    sentence = refused(*_replay(recording, tmp_path / "memory"), "--config", config)
    assert "sface" in sentence and whole.name in sentence and "hearsight models fetch" in sentence


def test_two_daemons_on_one_directory(tmp_path: Path) -> None:
    _needs_models()
    memory = tmp_path / "memory"
    recording = write_recording(tmp_path / "long.mp4", picture_times_s=[number / 5 for number in range(300)])
    first = subprocess.Popen(
        command("run", "--replay", recording, "--language", "none", "--data-dir", memory),
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not (memory / "hearsight.lock").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)
        sentence = refused(*_replay(recording, memory))
        assert f"process {first.pid}" in sentence and str(memory) in sentence and "--data-dir" in sentence
        assert hearsight("people", "list", "--data-dir", memory).status == 0, "reading is allowed meanwhile"
    finally:
        first.send_signal(signal.SIGTERM)
        first.wait(timeout=60)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--speed", "warp"), "--speed warp"),
        (("--speed", "0"), "--speed 0"),
        (("--start-at", "tomorrow"), "--start-at"),
        (("--start-at", "9999-12-31T23:59:59"), "--start-at 9999"),
        (("--language", "gpt-9"), "gpt-9"),
        (("--language", "sface"), "sface"),
    ],
)
def test_bad_options(tmp_path: Path, arguments: tuple[str, str], part: str) -> None:
    recording = write_recording(tmp_path / "pictures.mp4", picture_times_s=[0.0, 0.2])
    assert part in refused("run", "--replay", recording, "--data-dir", tmp_path / "memory", *arguments)


def test_start_at_needs_a_recording(tmp_path: Path) -> None:
    assert "--replay" in refused("run", "--start-at", "2026-05-02", "--data-dir", tmp_path / "memory")


def test_questions_that_cannot_be_asked(tmp_path: Path) -> None:
    _needs_models()
    for question in ("", "   ", "why? " * 5000):
        sentence = refused("ask", question, "--language", "none", "--data-dir", tmp_path)
        assert "question" in sentence.lower()


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    listing = command("memory", "status", "--data-dir", tmp_path)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            listing, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 1 and done.stderr.startswith("hearsight: cannot read or write the output")
    assert len(done.stderr.splitlines()) == 1


def test_numbers_beyond_any_memory(tmp_path: Path) -> None:
    assert "smaller number" in refused("trace", "9" * 20, "--data-dir", tmp_path)
    assert "--limit -1" in refused("timeline", "--limit", "-1", "--data-dir", tmp_path)


def test_an_unknown_person(tmp_path: Path) -> None:
    assert "person 99" in refused("people", "name", "person_99", "Anna", "--data-dir", tmp_path)
    assert "people list" in refused("people", "name", "Nobody", "Anna", "--data-dir", tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert str(tmp_path) in refused("people", "list", "--data-dir", tmp_path / "memory")


def test_a_data_directory_that_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("not a directory", encoding="utf-8")
    assert str(path) in refused("people", "list", "--data-dir", path)
