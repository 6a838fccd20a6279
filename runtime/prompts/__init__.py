"""The words the robot gives to language models and to people, as plain files, one per purpose and language."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import TypeAdapter

Language = Literal["en", "zh"]

_DIRECTORY = Path(__file__).parent


@dataclass(frozen=True)
class Example:
    """One example turn: what the model is shown, and what it should have written."""

    user: str
    assistant: str


@dataclass(frozen=True)
class Prompt:
    """A system text, example turns in one language, the frame of a real turn, and named sentences."""

    system: str
    examples: tuple[Example, ...]
    turn: str
    sentences: dict[str, str]


@cache
def load_prompt(purpose: str, language: Language) -> Prompt:
    """The prompt file ``<purpose>.<language>.yaml`` of this package."""
    raw = yaml.safe_load((_DIRECTORY / f"{purpose}.{language}.yaml").read_text(encoding="utf-8"))
    return Prompt(
        system=raw["system"].strip(),
        examples=tuple(Example(item["user"].strip(), item["assistant"].strip()) for item in raw["examples"]),
        turn=raw["turn"].strip(),
        sentences=dict(raw["sentences"]),
    )


@cache
def load_phrases(language: Language) -> dict[str, str]:
    """What the robot says by itself, as format strings: ``phrases.<language>.yaml``."""
    raw = yaml.safe_load((_DIRECTORY / f"phrases.{language}.yaml").read_text(encoding="utf-8"))
    return {str(key): str(value) for key, value in raw.items()}


@dataclass(frozen=True)
class TimeWords:
    """Words that name times, lower-case. parts: hours of the day, from 24 on the next; fixed_days: month, day."""

    parts: dict[str, tuple[float, float]]
    meals: dict[str, str]
    fixed_days: dict[str, tuple[int, int]]
    weekdays: tuple[str, ...] = ()
    months: tuple[str, ...] = ()
    numbers: dict[str, float] = field(default_factory=dict)
    ordinals: tuple[str, ...] = ()
    digits: dict[str, int] = field(default_factory=dict)


@cache
def time_words(language: Language) -> TimeWords:
    """The part of ``time_words.yaml`` in one language."""
    raw = yaml.safe_load((_DIRECTORY / "time_words.yaml").read_text(encoding="utf-8"))[language]
    return TypeAdapter(TimeWords).validate_python(raw)
