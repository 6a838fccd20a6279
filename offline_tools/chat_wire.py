"""How messages and replies look in the chat protocol of OpenAI-compatible endpoints."""

from __future__ import annotations

import base64
from typing import Any

from models.language import Completion, FinishReason, Message
from offline_tools.wav_file import wav_bytes


def wire_message(message: Message) -> dict[str, Any]:
    """A message as the protocol has it: plain text, or parts with pictures and sound first."""
    if not message.images and not message.audio:
        return {"role": message.role, "content": message.content}
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{_base64(jpeg)}"}}
        for jpeg in message.images
    ]
    parts += [
        {"type": "input_audio", "input_audio": {"data": _base64(wav_bytes(sound)), "format": "wav"}}
        for sound in message.audio
    ]
    return {"role": message.role, "content": [*parts, {"type": "text", "text": message.content}]}


def read_completion(reply: Any) -> Completion:
    """A reply's first choice and its counts. Raises KeyError, TypeError, ValueError or IndexError where it is none."""
    choice = reply["choices"][0]
    text, why = choice["message"]["content"], choice.get("finish_reason")
    if not isinstance(text, str) or why == "content_filter":
        raise ValueError("no text")
    usage = reply.get("usage") or {}
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    finish: FinishReason = "length" if why == "length" else "stop"
    counts = [int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")]
    return Completion(text, counts[0], int(cached), counts[1], 0.0, finish)


def read_model_names(reply: Any) -> list[str]:
    """The ids of a reply to `GET /models`. Raises KeyError or TypeError where it is none."""
    return [str(model["id"]) for model in reply["data"]]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
