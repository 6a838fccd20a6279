"""What the answers of a run are worth: shares of right ones by type and sample, words, and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any

from offline_tools.evaluate.answers import Given, Verdict
from offline_tools.evaluate.questions import F1, Question
from offline_tools.evaluate.statistics import METHOD, estimate


@dataclass(frozen=True)
class Scored:
    """A question with its answer. right: None where it is not judged; f1: None where words are not counted.

    score: from 0 to 1, None where answers get no marks.
    """

    question: Question
    given: Given
    right: bool | None
    f1: float | None
    score: float | None = None


def scored(
    questions: Sequence[Question],
    answers: Mapping[str, Given],
    verdicts: Mapping[str, Verdict],
    f1: F1 | None,
) -> list[Scored]:
    """The questions that were answered, in their order."""
    found = []
    for question in questions:
        given = answers.get(question.id)
        if given is None:
            continue
        verdict = verdicts.get(question.id)
        words = None
        if f1 is not None and given.short is not None:
            words = f1(question, given.short, given.abstained)
        right, score = (verdict.right, verdict.score) if verdict else (None, None)
        found.append(Scored(question, given, right, words, score))
    return found


def figures_of(items: Sequence[Scored], samples: Mapping[int, frozenset[str]]) -> dict[str, Any]:
    """All figures of a run. samples: by seed, the ids that it drew."""
    answerable = [one for one in items if one.question.answerable]
    return {
        **_right(items),
        "interval": METHOD,
        "f1": _estimate(items, {one.question.id: one.f1 for one in items}),
        "marks": _estimate(items, {one.question.id: one.score for one in items}),
        "recall": {
            "found": _estimate(items, {one.question.id: one.given.found for one in items}),
            "cited": _estimate(items, {one.question.id: one.given.cited for one in items}),
        },
        "answerable": {
            **_right(answerable),
            "abstained": _mean(one.given.abstained for one in answerable),
        },
        "unanswerable": {
            "answered": len(items) - len(answerable),
            "false_answers": _mean(not one.given.abstained for one in items if not one.question.answerable),
        },
        "failed": sum(bool(one.given.failure) for one in items),
        "refused": sum(bool(one.given.refused) for one in items),
        "by_type": {name: _right(part) for name, part in _by_type(items).items()},
        "by_seed": {
            str(seed): _right([one for one in items if one.question.id in ids])
            for seed, ids in samples.items()
        },
        "cost": _cost(items),
        "commits": sorted({one.given.commit for one in items}),
    }


def rights(items: Sequence[Scored]) -> dict[str, float]:
    """By id whether the answer is right, of those that are judged."""
    return {one.question.id: float(one.right) for one in items if one.right is not None}


def _right(items: Sequence[Scored]) -> dict[str, Any]:
    return {
        "answered": len(items),
        "not_judged": sum(one.right is None for one in items),
        "right": _estimate(items, rights(items)),
    }


def _by_type(items: Sequence[Scored]) -> dict[str, list[Scored]]:
    parts: dict[str, list[Scored]] = {}
    for one in items:
        for name in one.question.types:
            parts.setdefault(name, []).append(one)
    return dict(sorted(parts.items()))


def _estimate(items: Sequence[Scored], values: Mapping[str, float | None]) -> dict[str, Any] | None:
    """The mean of the values there are, by id, with its interval."""
    kept = [
        (value, one.question.memory) for one in items if (value := values.get(one.question.id)) is not None
    ]
    found = estimate([value for value, _ in kept], [memory for _, memory in kept])
    if found is None:
        return None
    return {name: round(value, 4) for name, value in asdict(found).items()}


def _mean(values: Iterable[float]) -> float | None:
    kept = [float(value) for value in values]
    return round(mean(kept), 4) if kept else None


def _cost(items: Sequence[Scored]) -> dict[str, float | None]:
    answers = [one.given.answered for one in items]
    return {
        "model_calls": _mean(one.model_calls for one in answers),
        "model_s": _mean(one.model_s for one in answers),
        "tokens_read": _mean(one.prompt_tokens - one.cached_tokens for one in answers),
        "tokens_written": _mean(one.generated_tokens for one in answers),
    }
