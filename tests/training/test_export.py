"""The whole way, with a real small model: rows → SFT → GGUF → quantized → bundle → installed → the robot answers.

SmolLM2-135M is trained for a few steps on rows of a form that it does not write by itself; after that the robot's own
process, running what was installed from a signed bundle, writes that form.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the training extra: make setup-training")

import cv2
import numpy as np

from models.bundle import read_manifest
from models.language import Message
from models.manifest import Manifest
from models.signing import PrivateKey
from offline_tools.chatml import MediaKind, Medium, Row, Text, Turn
from offline_tools.chatml_media import file_sha256
from offline_tools.chatml_writer import write_rows
from offline_tools.export.__main__ import main as export
from offline_tools.export.convert import convert
from offline_tools.export.errors import ExportError
from offline_tools.train.__main__ import main as train
from offline_tools.wav_file import wav_bytes
from runtime.compose import Parts, language_model
from runtime.config import Settings
from tests.command_line import hearsight, refused
from tests.recordings import tone
from tests.training.memory_rows import memory_rows, write_memory_rows
from tests.training.tiny_omni_thinker import save_tiny_thinker

ENTRY = Manifest.load().entry("smollm2-135m")
MODELS = Path(os.environ.get("HEARSIGHT_CACHE", "~/.cache/hearsight")).expanduser() / "models"
GGUF = ENTRY.directory(MODELS) / ENTRY.main_file
STEPS = 6

pytestmark = [
    pytest.mark.training,
    pytest.mark.timeout(1500),  # three minutes of a processor; on a busy machine that takes long
    pytest.mark.skipif(not GGUF.is_file(), reason="needs SmolLM2: hearsight models fetch smollm2-135m"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows, a key, and two golden prompts."""
    folder = tmp_path_factory.mktemp("export")
    write_memory_rows(folder, 16)
    (folder / "golden.jsonl").write_text("".join(row.as_line() for row in memory_rows(2)))
    assert export(["keygen", str(folder / "key")]) == 0
    return folder


@pytest.fixture(scope="module")
def trained(place: Path) -> Path:
    """A run of a few steps of supervised fine-tuning."""
    out = place / "run"
    arguments = [
        "sft",
        "--data",
        place / "rows.jsonl",
        "--model",
        GGUF,
        "--recipe",
        "sft_smollm2_135m",
        "--out",
        out,
    ]
    assert train([*map(str, arguments), "--max-steps", str(STEPS)]) == 0
    return out


@pytest.fixture(scope="module")
def exported(place: Path, trained: Path) -> Path:
    """The folder with everything the export made."""
    assert export(export_command(place, trained, place / "exported")) == 0
    return place / "exported"


@pytest.fixture(scope="module")
def robot(place: Path, exported: Path) -> Path:
    """A configuration whose models directory has the bundle installed."""
    config = place / "robot.yaml"
    config.write_text(f"models: {{dir: {place / 'models'}}}\n")
    trusted = place / "models" / "trusted_keys"
    trusted.mkdir(parents=True)
    (trusted / "key.pub").write_text((place / "key.pub").read_text())
    done = hearsight("models", "install", bundle(exported), "--config", config, "--json", timeout_s=200)
    assert done.status == 0, done.errors
    assert done.json == {"serves": True, "name": "toy-memory", "version": "1.0"}
    return config


def export_command(place: Path, checkpoint: Path, to: Path, **changed: str) -> list[str]:
    options: dict[str, Any] = {
        "to": to, "golden": place / "golden.jsonl", "key": place / "key", "name": "toy-memory", "version": "1.0",
        "licence": "Apache-2.0", "publisher": "https://example.org", "quantize": "Q4_K_M", "max-tokens": "24", **changed
    }  # fmt: skip
    return [str(checkpoint), *(str(part) for name, value in options.items() for part in (f"--{name}", value))]


def bundle(exported: Path) -> Path:
    return exported / "toy-memory-1.0-Q4_K_M.bundle"


def test_the_loss_falls(trained: Path) -> None:
    losses = [json.loads(line)["loss"] for line in (trained / "losses.jsonl").read_text().splitlines()]
    assert len(losses) == STEPS
    assert losses[-1] < 0.5 * losses[0]


def test_each_step_answers_as_the_checkpoint_does(exported: Path) -> None:
    steps = {step["step"]: step for step in json.loads((exported / "report.json").read_text())["steps"]}
    assert list(steps) == ["checkpoint", "f16", "Q4_K_M"]
    assert steps["checkpoint"]["golden"] > 0.8, "it writes what it was taught"
    assert steps["f16"]["first_tokens"] == 1.0
    assert steps["Q4_K_M"]["first_tokens"] >= 0.75
    assert steps["Q4_K_M"]["golden"] > 0.7
    assert steps["Q4_K_M"]["bytes"] < 0.5 * steps["f16"]["bytes"]


def test_the_bundle_says_what_it_is(place: Path, exported: Path) -> None:
    manifest = read_manifest(bundle(exported), [PrivateKey.read(place / "key").public]).manifest
    assert (manifest.name, manifest.version, manifest.role) == ("toy-memory", "1.0", "language")
    assert [case.id for case in manifest.golden] == ["row-0", "row-1"]
    assert manifest.made_of["quantization"] == "Q4_K_M"
    assert len(manifest.accuracy["steps"]) == 3


def test_the_robot_answers_with_what_was_installed(robot: Path) -> None:
    settings = Settings.model_validate({"models": {"dir": robot.with_name("models")}})
    process = language_model(Parts(settings, Manifest.load()))
    assert process is not None and process.name == "toy-memory-1.0"
    row = memory_rows(12)[11]  # was trained on, and is no golden prompt
    try:
        messages = [Message(turn.role, turn.text) for turn in row.turns[:-1]]
        answer = process.complete(messages, max_tokens=24).text
    finally:
        process.close()
    assert json.loads(answer.strip().splitlines()[0]).keys() == {"event"}
    listed = hearsight("models", "list", "--config", robot)
    assert "installed: toy-memory 1.0, in slot a" in listed.output


def test_a_bundle_verifies_until_a_byte_of_it_changes(robot: Path, exported: Path, tmp_path: Path) -> None:
    done = hearsight("models", "verify", bundle(exported), "--config", robot)
    assert done.status == 0 and "toy-memory 1.0" in done.output
    content = bytearray(bundle(exported).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "changed.bundle").write_bytes(content)
    assert "has sha256" in refused("models", "verify", tmp_path / "changed.bundle", "--config", robot)


def test_a_thinker_sees_and_hears_on_the_robot_as_its_checkpoint_does(
    place: Path, trained: Path, tmp_path: Path
) -> None:
    """A tiny random thinker with its encoders: any mistake in a layout would give other tokens."""
    from transformers import AutoTokenizer

    words = AutoTokenizer.from_pretrained(trained / "model")
    words.pad_token = "<|endoftext|>"
    save_tiny_thinker(tmp_path / "thinker", words=words)
    write_rows(tmp_path / "golden.jsonl", [seen_and_heard(tmp_path)])
    changed = {"golden": str(tmp_path / "golden.jsonl"), "quantize": "Q8_0", "max-tokens": "6"}
    command = export_command(place, tmp_path / "thinker", tmp_path / "out", **changed)
    assert export([*command, "--least-likeness", "0"]) == 0
    steps = {
        step["step"]: step for step in json.loads((tmp_path / "out" / "report.json").read_text())["steps"]
    }
    assert steps["f16"]["first_tokens"] == 1.0
    made = tmp_path / "out" / "toy-memory-1.0-Q8_0.bundle"
    manifest = read_manifest(made, [PrivateKey.read(place / "key").public]).manifest
    assert manifest.role == "omni"
    assert [file.name.partition("-")[0] for file in manifest.files] == ["toy", "mmproj", "golden", "golden"]


def seen_and_heard(folder: Path) -> Row:
    """A picture that needs no resizing, and a second of sound."""
    coarse = np.random.default_rng(1).integers(0, 255, (8, 8, 3), np.uint8)
    cv2.imwrite(str(folder / "picture.jpg"), cv2.resize(coarse, (448, 448), interpolation=cv2.INTER_CUBIC))
    (folder / "sound.wav").write_bytes(wav_bytes(tone(1.0)))
    files: tuple[tuple[MediaKind, str], ...] = (("image", "picture.jpg"), ("audio", "sound.wav"))
    media = [Medium(kind, name, file_sha256(folder / name)) for kind, name in files]
    turns = (Turn("user", (*media, Text("What happens?"))), Turn("assistant", (Text("Nothing."),)))
    return Row("seen-and-heard", turns, {}, folder)


def test_a_checkpoint_of_another_architecture_is_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from transformers import BertConfig, BertModel

    BertModel(BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
                         vocab_size=50)).save_pretrained(tmp_path / "bert")  # fmt: skip
    for checkpoint, sentence in (
        (tmp_path / "bert", "holds a BertModel"),
        (tmp_path / "none", "is no checkpoint"),
    ):
        assert export(export_command(place, checkpoint, tmp_path / "out")) == 1
        assert sentence in capsys.readouterr().err
    assert export(export_command(place, place, tmp_path / "out", quantize="Q4_K_M,Q9")) == 1
    assert "--quantize Q9" in capsys.readouterr().err
    assert export(export_command(place, place, tmp_path / "out", name="Not A Name", version="1.x")) == 1
    said = capsys.readouterr().err
    assert "name: " in said and "version: " in said
    (tmp_path / "templated").mkdir()
    (tmp_path / "templated" / "chat_template.jinja").write_text("{% generation %}x{% endgeneration %}")
    with pytest.raises(ExportError, match=r"chat template for training"):
        convert(tmp_path / "templated", tmp_path / "x.gguf")
