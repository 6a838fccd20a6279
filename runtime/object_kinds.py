"""The detector's classes as a household knows them: what they are called, what they are for (prompts/objects.yaml)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from runtime.grounding import Language

# Classes that the detector takes for one another: an id may be of any of them.
_ALIKE = (
    {"cup", "bowl", "vase", "wine glass"},
    {"bottle", "vase"},
    {"couch", "chair", "bed", "bench"},
    {"tv", "laptop"},
    {"cell phone", "remote"},
    {"handbag", "backpack", "suitcase"},
    {"microwave", "oven", "refrigerator"},
)
SURFACES = frozenset({"dining table", "couch", "bed", "chair", "bench", "refrigerator", "microwave", "oven"})
CONTAINERS = frozenset({"sink", "bowl", "cup", "suitcase", "vase"})
_FITS = {
    "sink": frozenset({"cup", "bowl", "fork", "knife", "spoon", "bottle", "wine glass", "vase"}),
    "bowl": frozenset({"apple", "orange", "banana", "carrot", "broccoli", "spoon", "fork"}),
    "cup": frozenset({"spoon", "toothbrush", "fork"}),
    "vase": frozenset({"scissors"}),
    "suitcase": frozenset({"book", "teddy bear", "cell phone", "laptop"}),
}


@dataclass(frozen=True)
class Kind:
    """One class: its names, the one the robot says first, and its role ("" where it has none)."""

    label: str
    english: tuple[str, ...]
    chinese: tuple[str, ...]
    role: str


@cache
def kinds() -> dict[str, Kind]:
    """All classes but people, by label."""
    path = Path(__file__).parent / "prompts" / "objects.yaml"
    return {
        str(label): Kind(
            str(label),
            (str(label), *entry.get("also", ())),
            tuple(entry["zh"]),
            entry.get("role", ""),
        )
        for label, entry in yaml.safe_load(path.read_text(encoding="utf-8")).items()
    }


def may_have_id(label: str) -> bool:
    """Whether a thing of this class can be one of the household's, met again: not a car in the street, not a tie."""
    kind = kinds().get(label)
    return kind is not None and kind.role not in ("passing", "worn")


def role(label: str) -> str:
    """The role of a class; "" for none."""
    kind = kinds().get(label)
    return kind.role if kind is not None else ""


def alike(label: str) -> frozenset[str]:
    """The class and those that the detector takes it for."""
    return frozenset({label}.union(*(group for group in _ALIKE if label in group)))


def fits_in(label: str, container: str) -> bool:
    """Whether a thing of a class is one that is put into such a container."""
    return label in _FITS.get(container, frozenset())


def name_of(label: str, language: Language) -> str:
    """What the robot calls a class."""
    kind = kinds().get(label)
    return label if kind is None or language == "en" else kind.chinese[0]


def names_of(label: str) -> tuple[str, ...]:
    """All words for a class, English and Chinese; none for what is no class."""
    kind = kinds().get(label)
    return () if kind is None else (*kind.english, *kind.chinese)


# A name of one character must stand alone: 书 also begins 书包.
_BEFORE_ONE = r"(?:^|(?<=[^\u3400-\u9fff])|(?<=[本的把只条台张个我你他她它这那见到了]))"
_AFTER_ONE = r"(?:$|(?=[^\u3400-\u9fff])|(?=[在放是去呢哪有了吗给长被不还也都送上里]))"


def _pattern(name: str) -> re.Pattern[str]:
    if name.isascii():
        return re.compile(rf"(?<![a-z]){re.escape(name)}(?:e?s)?(?![a-z])", re.IGNORECASE)
    return re.compile(_BEFORE_ONE + re.escape(name) + _AFTER_ONE if len(name) == 1 else re.escape(name))


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    names = [(name, kind.label) for kind in kinds().values() for name in (*kind.english, *kind.chinese)]
    longest_first = sorted(names, key=lambda pair: (-len(pair[0]), pair[0]))
    return tuple((_pattern(name), label) for name, label in longest_first)


def find_kinds(text: str) -> list[tuple[int, int, str]]:
    """The classes that a text names, the longest name first: (start, end, label), in the order of the text."""
    found: list[tuple[int, int, str]] = []
    for pattern, label in _patterns():
        for match in pattern.finditer(text):
            if all(match.end() <= start or match.start() >= end for start, end, _ in found):
                found.append((match.start(), match.end(), label))
    return sorted(found)
