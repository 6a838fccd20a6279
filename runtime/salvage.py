"""Reads what can be read of a model's JSON, however broken: with prose around it, cut off, wrongly quoted, too long."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

from json_repair import repair_json

LineKind = Literal["episodic", "semantic"]
MOST_CHARACTERS = 16_000  # a model that writes more has gone astray; what it wrote first is read
MOST_PIECE_CHARACTERS = 2_000
MOST_PIECES = 64
MOST_BRACKETS = 8  # in one piece: real answers need three, and mending takes long for many
KINDS: dict[str, LineKind] = {
    "event": "episodic", "episodic": "episodic", "fact": "semantic", "semantic": "semantic"
}  # fmt: skip
_EQUIVALENCE = "equivalence"
_TEXT_KEYS = ("text", "description", "content", "line", "value")
_KEY = rf"(?:{'|'.join([*KINDS, _EQUIVALENCE])})s?"
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_PIECE = re.compile(rf"(?=[{{,]\s*[\"'“”‘’]?{_KEY}[\"'“”‘’]?\s*[:：])", re.IGNORECASE)
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe\uffff]")
_CLOSED = re.compile(r"[\"'”’\]}]\W*\Z")


@dataclass(frozen=True)
class SalvagedLine:
    """One text under a key that says what it is. mended: the JSON was not whole; cut: nor was this text."""

    kind: LineKind
    text: str
    mended: bool
    cut: bool


@dataclass(frozen=True)
class Salvaged:
    """What could be read: lines, and the texts given as equivalences; unread: how many pieces could not be."""

    lines: tuple[SalvagedLine, ...]
    equivalences: tuple[str, ...]
    unread: int


def plain_text(text: str) -> str:
    """The text as UTF-8 can hold it: no lone surrogates, no NUL, no control characters but line breaks and tabs."""
    return _UNPRINTABLE.sub("", text.encode("utf-8", "ignore").decode("utf-8"))


def without_thoughts(text: str) -> str:
    """The text without what a model thought aloud, also where only the end of it, or no end, is marked."""
    return _THOUGHT.sub("", _THOUGHT_END.sub("", text))


def salvage(text: str) -> Salvaged:
    """Read a model's answer; never raises, and takes a bounded time."""
    text = without_thoughts(plain_text(text[:MOST_CHARACTERS]))
    lines: list[SalvagedLine] = []
    equivalences: list[str] = []
    unread = 0
    pieces = [piece for piece in _PIECE.split(text) if _PIECE.match(piece)]
    for number, piece in enumerate(pieces[:MOST_PIECES], start=1):
        whole, value = _read(piece)
        found = list(_walk(value, None, 0))
        unread += not found
        cut = not whole and number == len(pieces) and not _CLOSED.search(piece)
        for kind, told in found:
            if kind == _EQUIVALENCE:
                equivalences.append(told)
            else:
                lines.append(SalvagedLine(cast(LineKind, kind), plain_text(told), not whole, cut))
    return Salvaged(tuple(lines), tuple(equivalences), unread + max(0, len(pieces) - MOST_PIECES))


def _read(piece: str) -> tuple[bool, Any]:
    """Whether the piece is JSON as it stands but for what follows it, and its value, mended where it is not."""
    piece = "{" + piece[1:].rstrip().rstrip(",").removesuffix("```").rstrip() if piece[0] == "," else piece
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(piece)
        return True, value if end else None
    except (ValueError, RecursionError):
        pass
    piece = piece[:MOST_PIECE_CHARACTERS]
    if sum(piece.count(bracket) for bracket in "{[") > MOST_BRACKETS:
        return False, None
    try:
        return False, repair_json(piece, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, TypeError, IndexError, KeyError):
        return False, None


def _walk(value: Any, kind: str | None, depth: int) -> Iterator[tuple[str, str]]:
    """Kind and text of whatever stands under a known key."""
    if depth > MOST_BRACKETS:
        return
    if isinstance(value, str):
        if kind is not None and value.strip():
            yield kind, value
    elif isinstance(value, list):
        if kind == _EQUIVALENCE and all(isinstance(item, str) for item in value):
            yield kind, ", ".join(value)
            return
        for item in value:
            yield from _walk(item, kind, depth + 1)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _walk(inner, _kind(str(key), kind), depth + 1)


def _kind(key: str, outer: str | None) -> str | None:
    """What a key says its text is; a key that only says that it holds the text keeps what stands around it."""
    key = key.strip().lower()
    if key in _TEXT_KEYS:
        return outer
    key = key.removesuffix("s")
    return _EQUIVALENCE if key == _EQUIVALENCE else KINDS.get(key)
