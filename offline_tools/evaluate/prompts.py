"""What the evaluation itself says to language models (prompts.yaml), as messages."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from models.language import Message


def framed(purpose: str, **values: str) -> list[Message]:
    """The messages of a purpose: its system text, its examples, and the values in its frame."""
    prompt = _prompts()[purpose]
    turns = [Message("system", " ".join(prompt["system"].split()))]
    for example in prompt["examples"]:
        turns += [Message("user", example["user"].strip()), Message("assistant", example["assistant"])]
    return [*turns, Message("user", prompt["user"].strip().format(**values))]


def written(messages: list[Message]) -> str:
    """Messages as one text, for records."""
    return "\n".join(f"{message.role}: {message.content}" for message in messages)


@cache
def _prompts() -> dict[str, Any]:
    return dict(yaml.safe_load(Path(__file__).with_name("prompts.yaml").read_text(encoding="utf-8")))
