"""Supervised fine-tuning of a tiny model: the loss falls where it should, and an interrupted run ends the same."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the training extra: make setup-training")
pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]

from offline_tools.train.__main__ import main  # noqa: E402
from tests.training.memory_rows import memory_rows, write_memory_rows  # noqa: E402
from tests.training.tiny_models import save_tiny_llama, tokenizer  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RECIPE = """
epochs: 3
learning_rate: 0.003
batch: 4
batch_per_device: 2
schedule: linear
dtype: float32
save_steps: 3
max_tokens: 512
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, sixteen rows and a recipe."""
    folder = tmp_path_factory.mktemp("sft")
    save_tiny_llama(folder / "tiny")
    write_memory_rows(folder, 16)
    (folder / "recipe.yaml").write_text(RECIPE)
    return folder


@pytest.fixture(scope="module")
def whole(place: Path) -> Path:
    """A run that nobody interrupted: 12 steps."""
    out = place / "whole"
    assert main(command(place, out)) == 0
    return out


def command(place: Path, out: Path, **changed: str | Path) -> list[str]:
    options: dict[str, Any] = {
        "data": place / "rows.jsonl", "model": place / "tiny", "recipe": place / "recipe.yaml", "out": out, **changed
    }  # fmt: skip
    return ["sft", *(str(part) for name, value in options.items() for part in (f"--{name}", value))]


def losses(out: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (out / "losses.jsonl").read_text().splitlines()]


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(folder / "model.safetensors"))


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The sentence with which a training is refused."""
    capsys.readouterr()
    assert main(arguments) == 1
    return capsys.readouterr().err


def test_the_loss_falls_and_the_model_is_saved(whole: Path) -> None:
    told = losses(whole)
    assert len(told) == 12
    assert told[0] > 5.0 and told[-1] < 0.8 * told[0]
    report = json.loads((whole / "report.json").read_text())
    assert (report["steps"], report["rows"], report["resumed_at"]) == (12, 16, 0)
    assert (report["first_loss"], report["last_loss"]) == (told[0], told[-1])


def test_only_what_the_assistant_says_is_learned() -> None:
    from offline_tools.train.sft_tokens import IGNORED, encode_row, plain_text

    words = tokenizer()
    row = encode_row(words, memory_rows(1)[0], plain_text(words))
    learned = [token for token in row.labels if token != IGNORED]
    assert words.decode(learned) == '{"event": "<face_0> shows a cup."}\n<|im_end|>'
    assert words.decode(row.input_ids).endswith("<|im_start|>assistant\n" + words.decode(learned))
    assert all(label in (IGNORED, token) for token, label in zip(row.input_ids, row.labels, strict=True))


def test_every_answer_of_a_longer_conversation_is_learned() -> None:
    from offline_tools.chatml import Row, Text, Turn
    from offline_tools.train.sft_tokens import IGNORED, encode_row, plain_text

    words = tokenizer()
    said = [("user", "a"), ("assistant", "one"), ("user", "b"), ("assistant", "two")]
    row = encode_row(
        words, Row("r", tuple(Turn(role, (Text(text),)) for role, text in said)), plain_text(words)
    )  # type: ignore[arg-type]
    assert words.decode([t for t in row.labels if t != IGNORED]) == "one<|im_end|>two<|im_end|>"
    template = [{"role": role, "content": text} for role, text in said]
    assert words.decode(row.input_ids) == words.apply_chat_template(template, tokenize=False).rstrip()


def test_control_tokens_in_a_row_are_words_and_no_control_tokens() -> None:
    from offline_tools.chatml import Row, Text, Turn
    from offline_tools.train.sft_tokens import encode_row, plain_text

    words = tokenizer()
    said = Turn("user", (Text("He said: <|im_end|><|im_start|>system"),))
    row = encode_row(words, Row("r", (said, Turn("assistant", (Text("so"),)))), plain_text(words))
    assert "< |im_end|>< |im_start|>system" in words.decode(row.input_ids)
    assert row.input_ids.count(words.convert_tokens_to_ids("<|im_end|>")) == 2


def test_the_labels_are_those_that_generation_marks_give() -> None:
    """Against the libraries' own way: the template with {% generation %} marks, and TRL's one for Qwen2.5."""
    from trl.chat_template_utils import qwen2_5_chat_template, qwen2_5_training_chat_template

    from offline_tools.train.sft_tokens import IGNORED, encode_row, plain_text

    words = tokenizer(template=qwen2_5_chat_template)
    row = memory_rows(1)[0]
    messages = [{"role": turn.role, "content": turn.text} for turn in row.turns]
    marked = words.apply_chat_template(
        messages,
        chat_template=qwen2_5_training_chat_template,
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    ours = encode_row(words, row, plain_text(words))
    assert list(ours.input_ids) == marked["input_ids"][: len(ours.input_ids)]
    masked = [
        token for token, mask in zip(marked["input_ids"], marked["assistant_masks"], strict=True) if mask
    ]
    assert words.decode([t for t in ours.labels if t != IGNORED]) == words.decode(masked).strip("\n")


def test_the_saved_template_is_the_one_for_asking(whole: Path) -> None:
    from transformers import AutoTokenizer

    template = AutoTokenizer.from_pretrained(whole / "model").chat_template
    assert template == tokenizer().chat_template
    assert "generation %}" not in template


def test_a_killed_run_ends_as_one_that_was_not(place: Path, whole: Path) -> None:
    out = place / "killed"
    process = subprocess.Popen(
        [sys.executable, "-m", "offline_tools.train", *command(place, out)], cwd=ROOT,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    deadline = time.monotonic() + 200
    log = out / "losses.jsonl"
    while time.monotonic() < deadline and process.poll() is None:
        if log.exists() and len(log.read_text().splitlines()) >= 5:
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL, "it ended before it could be killed"
    assert main(command(place, out)) == 0
    report = json.loads((out / "report.json").read_text())
    assert report["resumed_at"] in (3, 6, 9)
    assert losses(out) == losses(whole)
    ours, theirs = weights(out / "model"), weights(whole / "model")
    assert ours.keys() == theirs.keys()
    assert all(bool((ours[name] == theirs[name]).all()) for name in ours)


def test_a_finished_run_is_not_trained_again(place: Path, whole: Path) -> None:
    told, trained = losses(whole), weights(whole / "model")
    assert main(command(place, whole)) == 0
    assert losses(whole) == told
    assert json.loads((whole / "report.json").read_text())["resumed_at"] == 12
    assert all(bool((tensor == trained[name]).all()) for name, tensor in weights(whole / "model").items())


def test_a_checkpoint_that_was_cut_off_is_passed_over(place: Path, whole: Path) -> None:
    from offline_tools.train.sft_run import last_checkpoint

    found = last_checkpoint(whole / "checkpoints")
    assert found is not None and found.name == "checkpoint-12"
    cut = place / "cut"
    for name, text in (
        ("checkpoint-3", '{"global_step": 3}'),
        ("checkpoint-6", '{"global'),
        ("checkpoint-9", None),
    ):
        (cut / name).mkdir(parents=True)
        if text is not None:
            (cut / name / "trainer_state.json").write_text(text)
    assert last_checkpoint(cut) == cut / "checkpoint-3"


def test_adapters_train_and_are_merged_when_loaded(place: Path) -> None:
    import torch

    from offline_tools.train.sft_model import load_model

    recipe = place / "lora.yaml"
    recipe.write_text(RECIPE.replace("0.003", "0.03") + "method: lora\nlora: {rank: 8, alpha: 32}\n")
    out = place / "lora"
    assert main(command(place, out, recipe=recipe)) == 0
    assert losses(out)[-1] < losses(out)[0]
    assert (out / "model" / "adapter_config.json").is_file()
    merged = load_model(out / "model", "float32").model
    base = load_model(place / "tiny", "float32").model
    assert type(merged) is type(base)
    moved = [
        name for (name, one), (_, other) in zip(merged.named_parameters(), base.named_parameters(), strict=True)
        if not torch.equal(one, other)
    ]  # fmt: skip
    assert moved and all("proj" in name for name in moved)


def test_two_processes_train_as_one(place: Path, whole: Path) -> None:
    out = place / "two"
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--master_port=29741",
         "-m", "offline_tools.train", *command(place, out)],
        cwd=ROOT, capture_output=True, text=True, timeout=250, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert losses(out) == pytest.approx(losses(whole), rel=1e-3)


def test_a_folder_of_another_run_is_left_alone(
    place: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = save_tiny_llama(place / "wider", width=128)
    before = losses(whole)
    assert "architecture" in refusal(command(place, whole, model=other), capsys)
    (place / "other").mkdir()
    rows = write_memory_rows(place / "other", 8)
    assert "rows_sha256" in refusal(command(place, whole, data=rows), capsys)
    assert losses(whole) == before


@pytest.mark.parametrize(
    ("recipe", "sentence"),
    [
        ("batch: 5\nbatch_per_device: 2", "cannot be shared"),
        ("learning_rate: -1\nepoch: 3", "epoch: "),
        ("method: lora\nlora: {targets: [nothing_like_it]}", "has no layers named nothing_like_it"),
        ("max_tokens: 16", "16 of 16 rows have more than max_tokens"),
        (": : :", "is no YAML"),
        (RECIPE.replace("0.003", "0.9") + "weight_decay: 1.0e+30", "is nan at step"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_said(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], recipe: str, sentence: str
) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe)
    assert sentence in refusal(command(place, tmp_path / "out", recipe=path), capsys)


def test_bad_rows_are_all_named_before_a_model_is_loaded(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (place / "rows.jsonl").read_text().splitlines()
    medium = '{"type": "audio", "audio": "media/gone.wav", "sha256": "' + "0" * 64 + '"}'
    bad = [lines[0], '{"id": "cut', lines[1], '{"id": "m", "messages": [{"role": "user", "content": [' + medium + "]},"
           '{"role": "assistant", "content": "yes"}]}']  # fmt: skip
    (tmp_path / "bad.jsonl").write_text("\n".join(bad) + "\n")
    said = refusal(
        command(place, tmp_path / "out", data=tmp_path / "bad.jsonl", model=tmp_path / "none"), capsys
    )
    assert "bad.jsonl:2: " in said and "bad.jsonl:4: " in said and "gone.wav" in said
    assert "bad.jsonl:1:" not in said and "bad.jsonl:3:" not in said


def test_a_model_of_another_kind_is_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from transformers import BertConfig, BertModel

    assert "there is no model" in refusal(command(place, tmp_path / "out", model=tmp_path / "none"), capsys)
    BertModel(BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
                         vocab_size=50)).save_pretrained(tmp_path / "bert")  # fmt: skip
    assert "holds a BertModel" in refusal(command(place, tmp_path / "out", model=tmp_path / "bert"), capsys)
    (tmp_path / "broken.gguf").write_bytes(b"GGUFnonsense")
    assert "cannot load the model" in refusal(
        command(place, tmp_path / "out", model=tmp_path / "broken.gguf"), capsys
    )
    shutil.copytree(place / "tiny", tmp_path / "cut")
    whole = (tmp_path / "cut" / "model.safetensors").read_bytes()
    (tmp_path / "cut" / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    assert "cannot load the model" in refusal(
        command(place, tmp_path / "out", model=tmp_path / "cut"), capsys
    )
    (tmp_path / "empty").mkdir()
    assert "cannot load the model" in refusal(
        command(place, tmp_path / "out", model=tmp_path / "empty"), capsys
    )


def test_running_out_of_memory_is_said_and_the_checkpoints_are_kept(place: Path, tmp_path: Path) -> None:
    """A real shortage: the process may not have more address space than a batch of long rows needs."""
    from offline_tools.chatml import Row, Text, Turn
    from offline_tools.chatml_writer import write_rows

    long = [
        Row(f"r{n}", (Turn("user", (Text("x" * 1800),)), Turn("assistant", (Text("y"),)))) for n in range(64)
    ]
    write_rows(tmp_path / "rows.jsonl", long)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        RECIPE.replace("batch: 4\nbatch_per_device: 2", "batch: 64\nbatch_per_device: 64") + "\n"
    )
    recipe.write_text(recipe.read_text().replace("max_tokens: 512", "max_tokens: 2048"))
    script = (
        "import resource, sys\n"
        "import torch, trl, transformers\n"
        "from trl import SFTTrainer\n"
        "from offline_tools.train.__main__ import main\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 900_000_000,) * 2)\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    arguments = command(place, tmp_path / "out", data=tmp_path / "rows.jsonl", recipe=recipe)
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=250, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr[-2000:]
    assert "memory ran out (no checkpoint was written yet): lower batch_per_device (64)" in done.stderr
    assert "Traceback" not in done.stderr
