"""Fine-tuning of Qwen2.5-Omni's thinker on rows with video, sound, a face and a voice, with a tiny random model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the training extra: make setup-training")

from offline_tools.chatml_writer import write_rows
from offline_tools.train.__main__ import main
from offline_tools.train.errors import TrainingError
from offline_tools.train.omni_media import VisionPatches, frames_of, picture_of, sound_of, sound_tokens
from offline_tools.train.sft_recipe import MediaRecipe, SftRecipe
from tests.training.tiny_omni_thinker import save_tiny_thinker
from tests.training_rows import ANSWER, training_row

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]

MEDIA = "media: {{video_as: {}, frame_rate_hz: 5, frames: 4, pixels: 12544, sound_as: qwen, sound_s: 5}}"
RECIPE = "batch: 4\nbatch_per_device: 2\nlearning_rate: 0.01\nschedule: constant\ndtype: float32\nmax_tokens: 2048\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny thinker and four rows with media."""
    folder = tmp_path_factory.mktemp("omni")
    save_tiny_thinker(folder / "thinker")
    write_rows(folder / "rows.jsonl", [training_row(folder, f"row-{number}") for number in range(4)])
    return folder


@pytest.fixture(scope="module")
def loaded(place: Path) -> Any:
    from offline_tools.train.sft_model import load_model

    return load_model(place / "thinker", "float32")


def train(place: Path, out: Path, recipe: str, steps: int) -> int:
    path = out.with_suffix(".yaml")
    path.write_text(recipe)
    arguments = [
        "sft",
        "--data",
        place / "rows.jsonl",
        "--model",
        place / "thinker",
        "--recipe",
        path,
        "--out",
        out,
    ]
    return main([*map(str, arguments), "--max-steps", str(steps)])


def losses(out: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (out / "losses.jsonl").read_text().splitlines()]


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(folder / "model.safetensors"))


@pytest.mark.parametrize("video_as", ["images", "video"])
def test_a_thinker_learns_from_video_and_sound(place: Path, tmp_path: Path, video_as: str) -> None:
    out = tmp_path / video_as
    assert train(place, out, RECIPE + MEDIA.format(video_as), 6) == 0
    told = losses(out)
    assert told[0] > 5.0 and told[-1] < 0.75 * told[0]
    before, after = weights(place / "thinker"), weights(out / "model")
    moved = {name for name in before if bool((before[name] != after[name]).any())}
    assert moved
    assert not any("visual" in name or "audio_tower" in name for name in moved), (
        "the encoders stay as they are"
    )


def test_adapters_go_to_the_language_model_alone(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "lora"
    recipe = RECIPE + "method: lora\nlora: {rank: 4, alpha: 8}\n" + MEDIA.format("images")
    assert train(place, out, recipe, 2) == 0
    targets = json.loads((out / "model" / "adapter_config.json").read_text())["target_modules"]
    assert targets and not any("visual" in name or "audio_tower" in name for name in targets)


@pytest.mark.parametrize("video_as", ["images", "video"])
def test_a_batch_holds_a_token_for_each_piece_of_a_medium(place: Path, loaded: Any, video_as: str) -> None:
    from offline_tools.chatml import read_rows
    from offline_tools.train.omni_data import omni_data
    from offline_tools.train.sft_tokens import IGNORED

    media = MediaRecipe(
        video_as=video_as, frame_rate_hz=5, frames=4, pixels=12544, sound_as="qwen", sound_s=5
    )  # type: ignore[arg-type]
    data, _ = omni_data(loaded, read_rows(place / "rows.jsonl"), SftRecipe(media=media), "")
    batch = data.collator(list(data.rows[:2]))
    ids, config = batch["input_ids"], loaded.model.config
    pieces = {
        config.image_token_id: sum(int(grid.prod()) // 4 for grid in batch["image_grid_thw"]),
        config.audio_token_id: sum(sound_tokens(int(mask.sum())) for mask in batch["feature_attention_mask"]),
    }
    if video_as == "video":
        pieces[config.video_token_id] = sum(int(grid.prod()) // 4 for grid in batch["video_grid_thw"])
        assert batch["video_second_per_grid"].tolist() == pytest.approx([0.4, 0.4])
    for token, count in pieces.items():
        assert int((ids == token).sum()) == count > 0
    learned = [token for token in batch["labels"][0].tolist() if token != IGNORED]
    assert loaded.tokenizer.decode(learned) == ANSWER + "<|im_end|>"
    assert not set(learned) & set(pieces)
    assert bool(loaded.model(**batch).loss.isfinite())


def test_sound_as_the_robot_hears_it_takes_whole_stretches(place: Path, tmp_path: Path) -> None:
    from offline_tools.chatml import read_rows
    from offline_tools.train.omni_data import omni_data
    from offline_tools.train.sft_model import load_model

    loaded = load_model(place / "thinker", "float32")
    media = MediaRecipe(frame_rate_hz=5, frames=4, pixels=12544)
    data, _ = omni_data(loaded, read_rows(place / "rows.jsonl"), SftRecipe(media=media), "")
    batch = data.collator(list(data.rows[:1]))
    assert int((batch["input_ids"] == loaded.model.config.audio_token_id).sum()) == 2 * 750
    assert batch["feature_attention_mask"].tolist() == [[1] * 3000] * 2
    assert bool(loaded.model(**batch).loss.isfinite())
    loaded.model.save_pretrained(tmp_path)
    assert load_model_config(tmp_path)["audio_config"]["n_window"] == 1500


def load_model_config(folder: Path) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads((folder / "config.json").read_text())
    return stored


def test_the_most_a_row_may_grow_to_is_counted_beforehand(place: Path, loaded: Any) -> None:
    from offline_tools.chatml import read_rows
    from offline_tools.train.omni_data import omni_data

    rows = read_rows(place / "rows.jsonl")
    media = MediaRecipe(frame_rate_hz=5, frames=4, pixels=12544, sound_as="qwen", sound_s=5)
    data, _ = omni_data(loaded, rows, SftRecipe(media=media, max_tokens=2048), "")
    grown = int(data.collator(list(data.rows[:1]))["attention_mask"].sum())
    assert grown < 1500
    with pytest.raises(TrainingError, match=r"4 of 4 rows have more than max_tokens = 300"):
        omni_data(loaded, rows, SftRecipe(media=media, max_tokens=300), "")


def test_paired_frames_are_what_a_video_processor_makes_of_them() -> None:
    """Against the definition: (time, 2, channels, rows, 2, side, columns, 2, side), laid out as Qwen2-VL's does."""
    random = np.random.default_rng(4)
    frames = [random.integers(0, 255, (56, 84, 3), np.uint8) for _ in range(4)]
    patches = VisionPatches(side=14, frames=2, merge=2, pixels=100_000).video(frames)
    mean, deviation = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    stacked = (np.stack(frames).transpose(0, 3, 1, 2) / 255.0 - np.reshape(mean, (1, 3, 1, 1))) / np.reshape(
        deviation, (1, 3, 1, 1)
    )
    blocks = stacked.reshape(2, 2, 3, 2, 2, 14, 3, 2, 14).transpose(0, 3, 6, 4, 7, 2, 1, 5, 8)
    assert patches.grid == (2, 4, 6)
    assert patches.tokens(2) == 12
    np.testing.assert_allclose(patches.values, blocks.reshape(48, 1176), atol=1e-5)


def test_an_odd_number_of_frames_ends_with_its_last_twice() -> None:
    frames = [np.full((56, 56, 3), shade, np.uint8) for shade in (0, 100, 200)]
    patches = VisionPatches(side=14, frames=2, merge=2, pixels=100_000)
    made = patches.video(frames)
    assert made.grid == (2, 4, 4)
    np.testing.assert_array_equal(made.values[16:], patches.picture(frames[2]).values)


def test_media_that_went_missing_or_bad_are_named(place: Path, tmp_path: Path) -> None:
    recipe = MediaRecipe()
    bad = tmp_path / "bad.bin"
    bad.write_bytes(b"nothing of the kind")
    for read in (picture_of, lambda path: frames_of(path, recipe), lambda path: sound_of(path, 5.0)):
        for path in (bad, tmp_path / "gone"):
            with pytest.raises(TrainingError, match=path.name):
                read(path)


def test_a_run_without_its_media_says_which(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = training_row(tmp_path, "lost")
    write_rows(tmp_path / "rows.jsonl", [row])
    row.file(row.turns[1].media[0]).unlink()
    arguments = [
        "sft",
        "--data",
        tmp_path / "rows.jsonl",
        "--model",
        place / "thinker",
        "--out",
        tmp_path / "out",
    ]
    assert main([*map(str, arguments), "--recipe", "sft_omni_7b"]) == 1
    said = capsys.readouterr().err
    assert "rows.jsonl:1: " in said and "clip.mp4" in said
