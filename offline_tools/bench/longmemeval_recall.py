"""LongMemEval (Wu et al., ICLR 2025), a sample of three histories: whether the sessions that answer are found.

Only sessions are annotated: one counts as found where any of its turns is among the first k.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from offline_tools.bench.dialogues import Asked, Dialogue, Session, Turn
from offline_tools.bench.evidence_recall import Found, durations_ms, figures_of, measure, rows_of
from offline_tools.bench.report import BenchmarkError, media, print_report

_SPEAKERS = {"user": "Robin", "assistant": "the assistant"}


def main(arguments: list[str]) -> int:
    """Print the table and the JSON line."""
    if arguments:
        raise BenchmarkError(f"no options are known, but {arguments[0]!r} was given")
    samples = json.loads(media("benchmarks/longmemeval_sample3.json").read_text(encoding="utf-8"))
    dialogues = [read_dialogue(sample) for sample in samples]
    found = [_by_session(item) for item in measure(dialogues)]
    figures = figures_of(found)
    turns = sum(len(session.turns) for dialogue in dialogues for session in dialogue.sessions)
    milliseconds = durations_ms(found)
    rows = [
        ("histories, turns, questions", f"{len(dialogues)}, {turns}, {len(found)}", ""),
        *rows_of("sessions", figures),
        ("search p50, p99", f"{milliseconds['p50']}, {milliseconds['p99']} ms", ""),
    ]
    name = "sessions found among the first 5/10/20 turns, LongMemEval sample, in %"
    print_report(name, rows, {"sessions": figures, "search_ms": milliseconds})
    return 0


def read_dialogue(sample: dict[str, Any]) -> Dialogue:
    """One history; the keys of its turns are "session id#place"."""
    sessions = [
        Session(
            _utc_s(date),
            [
                Turn(f"{name}#{place}", _SPEAKERS[turn["role"]], turn["content"])
                for place, turn in enumerate(turns)
                if turn["content"].strip()
            ],
        )
        for name, date, turns in zip(
            sample["haystack_session_ids"], sample["haystack_dates"], sample["haystack_sessions"], strict=True
        )
    ]
    questions = [
        Asked(question, sample["question_type"], frozenset(answers), asker=_SPEAKERS["user"])
        for question, answers in zip(sample["questions"], sample["answer_session_ids"], strict=True)
    ]
    return Dialogue(sample["question_id"], sessions, questions, _utc_s(sample["question_date"]))


def _utc_s(date: str) -> float:
    return datetime.strptime(date, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC).timestamp()


def _by_session(found: Found) -> Found:
    """The same with the evidence told as the session's turns that were found first."""
    ranked = {method: [key.split("#")[0] for key in keys] for method, keys in found.ranked.items()}
    return Found(found.dialogue, found.question, ranked, found.duration_s)
