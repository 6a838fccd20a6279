"""Lets the model of each step answer the golden prompts: the checkpoint by torch, a GGUF by the robot's own process."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.errors import ModelError
from models.golden import message_of
from models.language_process import LanguageProcess
from offline_tools.export.errors import ExportError
from offline_tools.export.golden import Answers, GoldenPrompt

if TYPE_CHECKING:
    from offline_tools.train.sft_model import Loaded


def answers_of_checkpoint(loaded: Loaded, prompts: Sequence[GoldenPrompt], max_tokens: int) -> Answers:
    """Greedy answers of the model in torch, on a GPU where there is one."""
    import torch

    started = time.monotonic()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = loaded.model.to(device).eval()
    texts = [_greedy(model, loaded.tokenizer, prompt, max_tokens, device) for prompt in prompts]
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


def _greedy(model: Any, tokenizer: Any, prompt: GoldenPrompt, max_tokens: int, device: str) -> str:
    import torch

    messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    asked = tokenizer(text, add_special_tokens=False, return_tensors="pt").to(device)
    with torch.inference_mode():
        given = model.generate(
            **asked, max_new_tokens=max_tokens, do_sample=False, pad_token_id=tokenizer.pad_token_id
        )
    said: str = tokenizer.decode(given[0, asked["input_ids"].shape[1] :], skip_special_tokens=True)
    return said
