"""Lets the model of each step answer the golden prompts: the checkpoint by torch, a GGUF by the robot's own process."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.control_texts import ControlTexts
from models.errors import ModelError
from models.golden import message_of
from models.language_process import LanguageProcess
from offline_tools.export.errors import ExportError
from offline_tools.export.golden import Answers, GoldenPrompt
from offline_tools.train.sft_recipe import SftRecipe

if TYPE_CHECKING:
    from offline_tools.train.sft_model import Loaded


def answers_of_checkpoint(loaded: Loaded, prompts: Sequence[GoldenPrompt], max_tokens: int) -> Answers:
    """Greedy answers of the model in torch, on a GPU where there is one."""
    import torch

    started = time.monotonic()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = loaded.model.to(device).eval()
    inputs = _with_media if loaded.has_senses else _of_text
    texts = []
    for prompt in prompts:
        given = {name: value.to(device) for name, value in inputs(loaded, prompt).items()}
        texts.append(_greedy(model, loaded.tokenizer, given, max_tokens))
    size = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    return Answers("checkpoint", tuple(texts), size, time.monotonic() - started)


def answers_of_gguf(
    step: str,
    path: Path,
    prompts: Sequence[GoldenPrompt],
    max_tokens: int,
    *,
    context_tokens: int,
    mmproj: Path | None = None,
    media: Path = Path(),
) -> Answers:
    """Answers at temperature 0 of the process that runs the model on the robot. media: where pictures and sounds lie.

    Raises ExportError where the model does not load or a prompt does not fit.
    """
    process = LanguageProcess(
        path, mmproj_path=mmproj, context_tokens=context_tokens, threads=os.cpu_count() or 1, kept_prefixes=0
    )
    started = time.monotonic()
    texts = []
    try:
        for prompt in prompts:
            messages = [message_of(message, media) for message in prompt.messages]
            texts.append(process.complete(messages, max_tokens=max_tokens, timeout_s=1800.0).text)
    except ModelError as error:
        raise ExportError(f"{path.name} does not run as the robot would run it: {error}") from error
    finally:
        process.close()
    return Answers(step, tuple(texts), path.stat().st_size, time.monotonic() - started)


def _greedy(model: Any, tokenizer: Any, given: Mapping[str, Any], max_tokens: int) -> str:
    import torch

    with torch.inference_mode():
        ids = model.generate(
            **given, max_new_tokens=max_tokens, do_sample=False, pad_token_id=tokenizer.pad_token_id
        )
    said: str = tokenizer.decode(ids[0, given["input_ids"].shape[1] :], skip_special_tokens=True)
    return said


def _of_text(loaded: Loaded, prompt: GoldenPrompt) -> Mapping[str, Any]:
    control = ControlTexts(loaded.tokenizer.get_added_vocab())
    messages = [{"role": one.role, "content": control.harmless(one.content)} for one in prompt.messages]
    text = loaded.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    encoded: Mapping[str, Any] = loaded.tokenizer(text, add_special_tokens=False, return_tensors="pt")
    return encoded


def _with_media(loaded: Loaded, prompt: GoldenPrompt) -> Mapping[str, Any]:
    """The row as it would be trained, cut off where its answer begins."""
    from offline_tools.train.omni_data import omni_data
    from offline_tools.train.sft_tokens import IGNORED

    data, _ = omni_data(loaded, [prompt.row], SftRecipe(max_tokens=1 << 20), "")
    row = data.rows[0]
    learned = [at for at, label in enumerate(row["labels"]) if label != IGNORED]
    end = learned[0]
    for before, at in pairwise(learned):
        if at != before + 1:  # the last answer alone is asked for
            end = at
    asked = {**row, "input_ids": row["input_ids"][:end], "labels": row["labels"][:end]}
    batch: dict[str, Any] = data.collator([asked])
    return {name: value for name, value in batch.items() if name != "labels"}
