"""What comes out of the benchmark `household`: shares of right answers by type, language and half, and their cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offline_tools.bench.household_questions import TYPES
from offline_tools.bench.household_run import Given

SPLITS = ("tune", "report", "practice")


def figures_of(given: Sequence[Given]) -> dict[str, Any]:
    """All shares; of right answers also by type, language and half."""
    answerable = [one for one in given if one.question.answerable]
    evidence = max(1, sum(len(one.question.evidence) for one in answerable))
    parts: dict[str, list[Given]] = {}
    for one in given:
        for name in (one.question.type, one.question.language, one.question.split):
            parts.setdefault(name, []).append(one)
    return {
        **_right(given),
        "answerable": _right(answerable),
        "by": {name: _right(part) for name, part in sorted(parts.items())},
        "splits": {name: _honest(parts[name]) for name in SPLITS if name in parts},
        "false_answers": _mean([not one.exact for one in given if not one.question.answerable]),
        "unanswered": _mean([one.answered.abstained for one in answerable]),
        "right_words": _mean([one.told for one in answerable]),
        "evidence_cited": round(sum(len(one.recalled) for one in answerable) / evidence, 4),
        "evidence_found": round(sum(len(one.found) for one in answerable) / evidence, 4),
        "model_calls": _mean([one.answered.model_calls for one in given]),
        "model_s": _mean([one.answered.model_s for one in given]),
        "tokens_read": _mean([one.answered.prompt_tokens - one.answered.cached_tokens for one in given]),
        "tokens_written": _mean([one.answered.generated_tokens for one in given]),
    }


def rows_of(method: str, told: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The figures of one method as rows of (what, measured, target)."""
    answerable = told["answerable"]
    rows = [
        (f"{method}: right, {told['questions']} questions", _shares(told), ""),
        (f"  answerable, {answerable['questions']}", _shares(answerable), ""),
    ]
    for name in (*TYPES, "en", "zh", *SPLITS):
        if name in told["by"]:
            part = told["by"][name]
            rows.append((f"  {name.replace('_', ' ')}, {part['questions']}", _shares(part), ""))
    for name, part in told["splits"].items():
        right, false = (
            f"{part['exact']:.3f} of {part['answerable']}",
            f"{part['false_answers']:.3f} of {part['unanswerable']}",
        )
        rows.append((f"  {name}: answerable, exact; unanswerable, answered", f"{right}; {false}", ""))
    cited, found = told["evidence_cited"], told["evidence_found"]
    return [
        *rows,
        ("  false answers to unanswerable questions", f"{told['false_answers']:.3f}", "≤ .10"),
        ("  answerable questions left unanswered", f"{told['unanswered']:.3f}", ""),
        ('  their right words told, also after "I don\'t know"', f"{told['right_words']:.3f}", ""),
        ("  evidence under the answer; found at all", f"{cited:.3f}; {found:.3f}", ""),
        ("  model calls a question", f"{told['model_calls']:.2f}", "≤ 1.8"),
        ("  tokens read, written a question", f"{told['tokens_read']:.0f}, {told['tokens_written']:.0f}", ""),
        ("  seconds of the model a question", f"{told['model_s']:.1f}", ""),
    ]


def _honest(given: Sequence[Given]) -> dict[str, Any]:
    """Of one part of the questions: how many are answered rightly, and how many that have no answer all the same."""
    known = [one.exact for one in given if one.question.answerable]
    unknown = [not one.exact for one in given if not one.question.answerable]
    return {
        "answerable": len(known),
        "exact": _mean(known),
        "unanswerable": len(unknown),
        "false_answers": _mean(unknown),
    }


def _right(given: Sequence[Given]) -> dict[str, Any]:
    return {
        "questions": len(given),
        "exact": _mean([one.exact for one in given]),
        "judged": _mean([one.judged for one in given if one.judged is not None]),
        "not_judged": sum(one.judged is None for one in given),
    }


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / max(1, len(values)), 4)


def _shares(part: Mapping[str, Any]) -> str:
    if part["not_judged"]:
        return f"exact {part['exact']:.3f}, {part['not_judged']} answers not judged"
    return f"exact {part['exact']:.3f}, judged {part['judged']:.3f}"
