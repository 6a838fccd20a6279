"""Compares what a timeline says with who really was there: purity, completeness, words tied to people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_DIGITS = {str(value): f" {name} " for value, name in enumerate(_NAMES)}


@dataclass(frozen=True)
class TrueSegment:
    """What happened: somebody was in view, and said something."""

    start_s: float
    end_s: float
    person: str
    transcript: str


@dataclass(frozen=True)
class Claim:
    """What the robot says happened: `who` is an id it gave."""

    start_s: float
    end_s: float
    who: Hashable
    text: str = ""


@dataclass(frozen=True)
class Agreement:
    """Both weighted by shared seconds, 1 is perfect. `ids`: how many ids were given.

    purity: no id holds two people; completeness: no person has two ids.
    """

    ids: int
    purity: float
    completeness: float


def true_segments(document: dict[str, Any]) -> list[TrueSegment]:
    """From the ground truth file beside a stream."""
    return [
        TrueSegment(row["start_s"], row["end_s"], row["person"], row.get("transcript", ""))
        for row in document["segments"]
    ]


def shared_s(claim: Claim, segment: TrueSegment) -> float:
    """Seconds that a claim and a segment have in common."""
    return max(0.0, min(claim.end_s, segment.end_s) - max(claim.start_s, segment.start_s))


def agreement(claims: Sequence[Claim], truth: Sequence[TrueSegment]) -> Agreement:
    """How well the ids of the claims match the people of the truth."""
    table: dict[Hashable, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for claim in claims:
        for segment in truth:
            if seconds := shared_s(claim, segment):
                table[claim.who][segment.person] += seconds
    total = sum(sum(row.values()) for row in table.values())
    if not total:
        return Agreement(0, 0.0, 0.0)
    people = {segment.person for segment in truth}
    pure = sum(max(row.values()) for row in table.values())
    complete = sum(max(row[person] for row in table.values()) for person in people)
    return Agreement(len(table), pure / total, complete / total)


def people_of_ids(claims: Iterable[Claim], truth: Sequence[TrueSegment]) -> dict[Hashable, str]:
    """For each id the person it was met with longest."""
    table: dict[Hashable, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for claim in claims:
        for segment in truth:
            table[claim.who][segment.person] += shared_s(claim, segment)
    return {who: max(sorted(row), key=lambda person: row[person]) for who, row in table.items() if row}


def tied_transcripts(
    heard: Sequence[Claim], truth: Sequence[TrueSegment], names: dict[Hashable, str]
) -> list[str | None]:
    """For each true segment the words tied to its person, or None where no line with words is tied to them."""
    tied: list[str | None] = []
    for segment in truth:
        lines = [claim for claim in heard if shared_s(claim, segment) > 0.5 * (claim.end_s - claim.start_s)]
        right = [claim.text for claim in lines if claim.text and names.get(claim.who) == segment.person]
        tied.append(" ".join(right) if right else None)
    return tied


def word_error_rate(said: Sequence[str], heard: Sequence[str]) -> float:
    """Edits for each true word, over all pairs; case and punctuation do not count."""
    edits = words = 0
    for truth, guess in zip(said, heard, strict=True):
        wanted, given = _words(truth), _words(guess)
        edits += _distance(wanted, given)
        words += len(wanted)
    return edits / words if words else 0.0


def _words(text: str) -> list[str]:
    letters = (_DIGITS.get(letter, letter) if letter.isalnum() or letter == "'" else " " for letter in text)
    return "".join(letters).casefold().split()


def _distance(one: Sequence[str], other: Sequence[str]) -> int:
    row = list(range(len(other) + 1))
    for index, word in enumerate(one, 1):
        above, row[0] = row[0], index
        for column, guess in enumerate(other, 1):
            above, row[column] = (
                row[column],
                min(row[column] + 1, row[column - 1] + 1, above + (word != guess)),
            )
    return row[-1]
