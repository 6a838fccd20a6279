"""Corrections in words, right after an answer: "no, that was Leo", 不对，那是Leo. They are read here, not made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memory_store.records import Person

_NO = r"(?:no|nope|wrong|that['’]?s (?:wrong|not right)|that is (?:wrong|not right)|not (?:quite|right)|incorrect)"
_THAT = r"(?:that|it|this|the (?:one|person) (?:who|that) (?:said|did) (?:that|it|this))"
_NAME = r"(?P<name>[^\W\d_][^\s,.!?;:\"，。！？；：“”]{0,39}(?: [A-Z][^\s,.!?;:\"]{0,39}){0,2})"
_WAS = re.compile(
    rf"^(?:{_NO}[\s,.!]*)?{_THAT} (?:was|is)(?:n['’]t| not) [^,.;]{{1,60}}[,.;]\s*(?:but )?"
    rf"(?:{_THAT} (?:was|is) )?{_NAME}\W*$"
    rf"|^{_NO}[\s,.!]*(?:{_THAT} (?:was|is)|it['’]s|that['’]s)\s+{_NAME.replace('name', 'other')}\W*$",
    re.IGNORECASE,
)
_NOT = re.compile(rf"^(?:{_NO}[\s,.!]*)?{_THAT} (?:was|is)(?:n['’]t| not) {_NAME}\W*$", re.IGNORECASE)
_ZH_NAME = r"(?P<name>[^\s，。！？；：“”,.!?]{1,20}?)"
_WAS_ZH = re.compile(
    rf"^(?:不对|不是|错了|不)[，,。\s]*(?:那|这|说话的)(?:个人)?(?:人)?(?:是|应该是){_ZH_NAME}(?:说的)?[。！\s]*$"
)
_NOT_ZH = re.compile(rf"^(?:不对|错了|不)?[，,。\s]*(?:那|这)(?:个人)?不是{_ZH_NAME}[。！\s]*$")
_UNDO = re.compile(
    r"^(?:no[\s,.!]*)?(?:undo (?:that|it)|take (?:that|it) back|that was right(?: before)?)\W*$"
    r"|^(?:撤销|撤回|刚才是对的)\W*$",
    re.IGNORECASE,
)
# Words that a name cannot be: "that was great", "it is me".
_NO_NAME = frozenset(
    [
        "it",
        "that",
        "this",
        "great",
        "good",
        "right",
        "wrong",
        "fine",
        "nice",
        "fun",
        "not",
        "me",
        "you",
        "us",
        "all",
        "true",
        "false",
        "yesterday",
        "today",
        "here",
        "there",
        "so",
        "really",
        "very",
        "too",
        "enough",
        "the",
        "a",
        "an",
        "my",
        "your",
        "his",
        "her",
        "our",
        "their",
        "what",
        "who",
        "when",
        "where",
        "why",
        "how",
        "because",
        "just",
        "only",
    ]
)


@dataclass(frozen=True)
class Correction:
    """What a resident says instead. name: who it was, or who it was not; "" for taking the last correction back."""

    kind: Literal["was", "was_not", "undo"]
    name: str = ""


def read_correction(text: str) -> Correction | None:
    """The correction that a sentence is, or None; a question never is one."""
    said = " ".join(text.split())
    if said.endswith(("?", "？")):
        return None
    if _UNDO.match(said):
        return Correction("undo")
    for kind, patterns in (("was", (_WAS, _WAS_ZH)), ("was_not", (_NOT, _NOT_ZH))):
        for pattern in patterns:
            match = pattern.match(said)
            if match is None:
                continue
            name = next(value for value in match.groupdict().values() if value)
            if name.split()[0].casefold() not in _NO_NAME:
                return Correction("was" if kind == "was" else "was_not", name)
    return None


def person_called(name: str, people: Sequence[Person]) -> tuple[Person, ...]:
    """Who carries the name, or the label such as person_4."""
    folded = name.casefold()
    return tuple(
        person
        for person in people
        if (person.name or "").casefold() == folded or person.label.casefold() == folded
    )
