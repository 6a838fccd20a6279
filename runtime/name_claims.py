"""What a heard sentence says of names: who the speaker is, whom they talk to, whom they introduce.

Whom such a claim names, and how much it counts, is left to runtime/names.py.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import yaml

from runtime.name_claim import Claim
from runtime.name_claims_en import EnglishNames
from runtime.name_claims_zh import ChineseNames

LONGEST_TEXT = 2000  # characters of one heard line that are read

_SENTENCE_END = re.compile(r"(?<=[!?。！？…])\s*|(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<=\.)\s+")


def claims_in(text: str) -> tuple[Claim, ...]:
    """The distinct claims of one line, in the order of the text."""
    english, chinese = _rules()
    claims: dict[Claim, None] = {}
    for sentence in _SENTENCE_END.split(text[:LONGEST_TEXT]):
        for claim in (*english.claims(sentence.strip()), *chinese.claims(sentence.strip())):
            claims[claim] = None
    return tuple(claims)


@cache
def _rules() -> tuple[EnglishNames, ChineseNames]:
    directory = Path(__file__).parent / "prompts"
    raw = [
        yaml.safe_load((directory / f"names.{language}.yaml").read_text(encoding="utf-8"))
        for language in ("en", "zh")
    ]
    return EnglishNames(raw[0]), ChineseNames(raw[1])
