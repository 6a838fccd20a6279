"""Reads the body of `POST /v1/ask`: which keys it may have, and a picture or a sound in it."""

from __future__ import annotations

import base64
import binascii
import json

from runtime.answering import Asked
from runtime.errors import HearsightError
from runtime.shown_reader import MOST_BYTES as MOST_MEDIA_BYTES

SMALL_BYTES = 256 * 1024
MOST_BYTES = SMALL_BYTES + -(-MOST_MEDIA_BYTES // 3) * 4  # three bytes are four characters

_KEYS: dict[str, type] = {
    "question": str,
    "asker": int,
    "conversation": str,
    "stream": bool,
    "picture": str,
    "sound": str,
    "before_clip": int,
}


def read_ask(body: bytes) -> tuple[Asked, bool]:
    """What is asked, and whether its answer is to be followed. Raises HearsightError naming what is wrong."""
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HearsightError(f'the request is no JSON ({error}): send {{"question": "…"}}') from error
    if not isinstance(values, dict):
        raise HearsightError('the request is no JSON object: send {"question": "…"}')
    for key, value in values.items():
        if key not in _KEYS:
            raise HearsightError(f"unknown key {key!r}: the keys are {', '.join(_KEYS)}")
        if value is not None and (not isinstance(value, _KEYS[key]) or (_KEYS[key] is int and value is True)):
            raise HearsightError(f"{key} must be of type {_KEYS[key].__name__}, not {type(value).__name__}")
    if not values.get("question"):
        raise HearsightError("the key question is missing or empty: say what you want to know")
    asked = Asked(
        values["question"],
        values.get("asker"),
        values.get("conversation"),
        picture=_bytes(values.get("picture"), "picture"),
        sound=_bytes(values.get("sound"), "sound"),
        before_clip=values.get("before_clip"),
    )
    return asked, bool(values.get("stream"))


def _bytes(text: str | None, key: str) -> bytes | None:
    if text is None:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise HearsightError(f"{key} must be the bytes of a file in base64: {error}") from error
