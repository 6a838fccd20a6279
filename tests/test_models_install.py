"""`hearsight models install` with a real, tiny model: it is tried in the robot's own process before it serves."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from models.bundle import write_bundle
from models.bundle_manifest import BundleFile, BundleManifest, BundleRole, GoldenCase, GoldenMessage
from models.errors import ModelError
from models.golden import agreement, ask_golden, mean_agreement
from models.language_process import LanguageProcess
from models.manifest import Manifest
from models.signing import PrivateKey, make_key_pair
from offline_tools.wav_file import wav_bytes
from runtime.compose import Parts, language_model
from runtime.config import Settings
from tests.command_line import hearsight, refused
from tests.recordings import picture, tone
from tests.tiny_omni import write_mmproj, write_text_model

PROMPT = GoldenMessage("user", "Hello")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key, a tiny model with what it answers, and bundles of it."""
    folder = tmp_path_factory.mktemp("install")
    make_key_pair(folder / "key")
    write_text_model(folder / "tiny.gguf")
    (folder / "broken.gguf").write_bytes(b"GGUF" + bytes(5000))
    process = LanguageProcess(folder / "tiny.gguf", context_tokens=1024, threads=1)
    try:
        case = GoldenCase("hello", (PROMPT,), "", 12)
        answer = ask_golden(process, [case], folder)[0].answer
    finally:
        process.close()
    cases = (replace(case, answer=answer),)
    pack(folder, "1.0", "tiny.gguf", cases)
    pack(folder, "1.1", "tiny.gguf", (replace(case, answer="Good day to you, said the fox."),))
    pack(folder, "1.2", "broken.gguf", ())
    return folder


@pytest.fixture
def config(place: Path, tmp_path: Path) -> Path:
    """A robot that trusts the key."""
    path = tmp_path / "robot.yaml"
    key = PrivateKey.read(place / "key").public.text
    path.write_text(f"models: {{dir: {tmp_path / 'models'}, trusted_keys: [{json.dumps(key)}]}}\n")
    return path


def pack(
    folder: Path,
    version: str,
    model: str,
    golden: tuple[GoldenCase, ...],
    *,
    more: tuple[str, ...] = (),
    role: BundleRole = "language",
) -> None:
    files = tuple(
        BundleFile(name, len(data), hashlib.sha256(data).hexdigest())
        for name, data in ((name, (folder / name).read_bytes()) for name in (model, *more))
    )
    manifest = BundleManifest(
        name="tiny", version=version, role=role, licence="none", publisher="https://example.org",
        made_utc="2026-11-30T08:00:00Z", golden=golden, files=files,
    )  # fmt: skip
    sources = {file.name: folder / file.name for file in files}
    write_bundle(folder / f"{version}.bundle", manifest, sources, PrivateKey.read(folder / "key"))


def serving(config: Path) -> str | None:
    settings = Settings.model_validate({"models": {"dir": config.with_name("models")}})
    process = language_model(Parts(settings, Manifest.load()))
    return None if process is None else process.name


def test_what_was_installed_serves_until_it_is_rolled_back(place: Path, config: Path) -> None:
    done = hearsight("models", "install", place / "1.0.bundle", "--config", config)
    assert done.status == 0, done.errors
    assert done.output.splitlines()[0] == "installed tiny 1.0"
    assert serving(config) == "tiny-1.0"
    listed = hearsight("models", "list", "--config", config)
    assert listed.output.splitlines()[-1] == "installed: tiny 1.0, in slot a"
    assert "tiny-1.0" in hearsight("check", "--config", config).output
    back = hearsight("models", "rollback", "--config", config, "--json")
    assert back.json == {"serves": True, "name": "qwen2.5-coder-0.5b", "version": ""}


def test_a_model_with_senses_is_tried_on_golden_clips(place: Path, config: Path) -> None:
    write_mmproj(place / "mmproj.gguf")
    (place / "clip.jpg").write_bytes(cv2.imencode(".jpg", np.ascontiguousarray(picture(5)))[1].tobytes())
    (place / "clip.wav").write_bytes(wav_bytes(tone(0.5)))
    message = GoldenMessage("user", "What happens?", ("clip.jpg",), ("clip.wav",))
    case = GoldenCase("clip", (message,), "", 12)
    process = LanguageProcess(
        place / "tiny.gguf", mmproj_path=place / "mmproj.gguf", context_tokens=4096, threads=1
    )
    try:
        answer = ask_golden(process, [case], place)[0].answer
    finally:
        process.close()
    media = ("mmproj.gguf", "clip.jpg", "clip.wav")
    pack(place, "2.0", "tiny.gguf", (replace(case, answer=answer),), more=media, role="omni")
    done = hearsight("models", "install", place / "2.0.bundle", "--config", config)
    assert done.status == 0, done.errors
    settings = Settings.model_validate({"models": {"dir": config.with_name("models")}})
    assert Parts(settings, Manifest.load()).language_has_senses
    (place / "clip.wav").write_bytes(b"RIFF of no kind")
    pack(place, "2.1", "tiny.gguf", (case,), more=media, role="omni")
    assert "cannot read the sound" in refused("models", "install", place / "2.1.bundle", "--config", config)


def test_an_omni_bundle_without_its_projector_is_not_made(place: Path) -> None:
    with pytest.raises(ModelError, match="needs its mmproj file"):
        pack(place, "3.0", "tiny.gguf", (), role="omni")


def test_a_model_that_answers_otherwise_than_it_should_is_not_installed(place: Path, config: Path) -> None:
    said = refused("models", "install", place / "1.1.bundle", "--config", config)
    assert "does not answer its golden cases" in said
    assert not (config.with_name("models") / "bundles" / "state.json").exists()


def test_a_model_that_does_not_load_is_not_installed(place: Path, config: Path) -> None:
    assert "broken.gguf" in refused("models", "install", place / "1.2.bundle", "--config", config)
    assert not (config.with_name("models") / "bundles" / "state.json").exists()


def test_nobody_is_trusted_by_default(place: Path, tmp_path: Path) -> None:
    config = tmp_path / "robot.yaml"
    config.write_text(f"models: {{dir: {tmp_path / 'models'}}}\n")
    assert "no public key is trusted yet" in refused(
        "models", "install", place / "1.0.bundle", "--config", config
    )
    assert "no public key is trusted yet" in refused(
        "models", "verify", place / "1.0.bundle", "--config", config
    )
    make_key_pair(tmp_path / "other")
    trusted = tmp_path / "models" / "trusted_keys"
    trusted.mkdir(parents=True, exist_ok=True)
    (trusted / "other.pub").write_text((tmp_path / "other.pub").read_text())
    assert "not trusted" in refused("models", "verify", place / "1.0.bundle", "--config", config)
    (trusted / "key.pub").write_text((place / "key.pub").read_text())
    done = hearsight("models", "verify", place / "1.0.bundle", "--config", config, "--json")
    assert done.json["name"] == "tiny" and done.json["key"] == PrivateKey.read(place / "key").public.id


def test_a_model_chosen_by_name_goes_before_an_installed_one(place: Path, config: Path) -> None:
    config.write_text(config.read_text().replace("models: {", "models: {language: smollm2-135m, "))
    done = hearsight("models", "install", place / "1.0.bundle", "--config", config)
    assert "robot.yaml chooses models.language: smollm2-135m" in done.output


def test_a_file_that_is_no_bundle_is_refused(config: Path, tmp_path: Path) -> None:
    for name, data in (("empty.bundle", b""), ("text.bundle", b"hello" * 500), ("zeros.bundle", bytes(4096))):
        (tmp_path / name).write_bytes(data)
        assert name in refused("models", "install", tmp_path / name, "--config", config)
    assert "gone.bundle" in refused("models", "install", tmp_path / "gone.bundle", "--config", config)


def test_agreement_tells_the_same_from_another() -> None:
    assert agreement("The cup is red.", "The cup is red.") == 1.0
    assert agreement("The cup is red.", "The cup is blue.") > 0.6
    assert agreement("The cup is red.", "zzz") < 0.2
    assert mean_agreement([]) == 1.0
