"""What comes out of the benchmark `household`: shares of right answers by type, language and half, and their cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from offline_tools.bench.household_questions import TYPES, HouseholdQuestion, is_right
from offline_tools.bench.household_records import Record

SPLITS = ("tune", "report")


@dataclass(frozen=True)
class Given:
    """A question, what was answered, and what the judge said: None where it was not asked."""

    question: HouseholdQuestion
    record: Record
    judged: bool | None

    @property
    def exact(self) -> bool:
        """Whether the answer holds what it must hold."""
        return is_right(self.question, self.record.text, abstained=self.record.abstained)

    @property
    def agreed(self) -> bool:
        """Whether the judge agrees; what needs no judge counts as it is."""
        if not self.question.answerable:
            return self.exact
        return bool(self.judged) and not self.record.abstained


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
        "by": {name: _right(part) for name, part in sorted(parts.items())},
        "false_answers": _mean([not one.exact for one in given if not one.question.answerable]),
        "unanswered": _mean([one.record.abstained for one in answerable]),
        "evidence_cited": round(sum(len(one.record.recalled) for one in answerable) / evidence, 4),
        "evidence_found": round(sum(len(one.record.found) for one in answerable) / evidence, 4),
        "model_calls": _mean([one.record.model_calls for one in given]),
        "seconds": _mean([one.record.duration_s for one in given]),
    }


def rows_of(method: str, told: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The figures of one method as rows of (what, measured, target)."""
    rows = [(f"{method}: right, {told['questions']} questions", _shares(told), "")]
    for name in (*TYPES, "en", "zh", *SPLITS):
        if name in told["by"]:
            part = told["by"][name]
            rows.append((f"  {name.replace('_', ' ')}, {part['questions']}", _shares(part), ""))
    cited, found = told["evidence_cited"], told["evidence_found"]
    return [
        *rows,
        ("  false answers to unanswerable questions", f"{told['false_answers']:.3f}", "≤ .10"),
        ("  answerable questions left unanswered", f"{told['unanswered']:.3f}", ""),
        ("  evidence under the answer; found at all", f"{cited:.3f}; {found:.3f}", ""),
        ("  model calls a question", f"{told['model_calls']:.2f}", "≤ 1.8"),
        ("  seconds a question", f"{told['seconds']:.1f}", ""),
    ]


def _right(given: Sequence[Given]) -> dict[str, Any]:
    return {
        "questions": len(given),
        "exact": _mean([one.exact for one in given]),
        "judged": _mean([one.agreed for one in given]),
    }


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / max(1, len(values)), 4)


def _shares(part: Mapping[str, Any]) -> str:
    return f"exact {part['exact']:.3f}, judged {part['judged']:.3f}"
