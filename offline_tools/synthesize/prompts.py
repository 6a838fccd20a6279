"""The prompts of prompts.yaml, filled in for one clip."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from models.language import Message

_FILE = Path(__file__).with_name("prompts.yaml")
DIMENSIONS = ("attributes", "relations", "plot", "knowledge")


@cache
def _prompts() -> dict[str, Any]:
    prompts: dict[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return prompts


def prompts_sha256() -> str:
    """Which prompts these are, for provenance."""
    return sha256(_FILE.read_bytes()).hexdigest()


def caption_messages(jpeg: bytes) -> list[Message]:
    """Asks what one frame shows."""
    return [Message("user", _prompts()["caption"].strip(), images=(jpeg,))]


def episodic_messages(user: Message) -> list[Message]:
    """Asks what happened in a clip."""
    return [Message("system", f"{_prompts()['episodic'].strip()}\n{_prompts()['rules'].strip()}"), user]


def semantic_messages(dimension: str, most: int, user: Message) -> list[Message]:
    """Asks what stays true, in one dimension."""
    what = _prompts()["dimensions"][dimension].strip()
    asked = _prompts()["semantic"].strip().replace("{dimension}", what).replace("{most}", str(most))
    return [Message("system", f"{asked}\n{_prompts()['rules'].strip()}"), user]


def material_text(
    lines: Sequence[str], captions: Sequence[str], events: Sequence[str], *, with_media: bool
) -> str:
    """The clip as a model reads it."""
    media = "Pictures and sound of the clip come first." if with_media else ""
    text: str = _prompts()["material"].replace("{media}", media).replace("{lines}", "\n".join(lines))
    if captions:
        text += _prompts()["captions"].replace("{captions}", "\n".join(captions))
    if events:
        text += _prompts()["events"].replace("{events}", "\n".join(events))
    return text.strip()
