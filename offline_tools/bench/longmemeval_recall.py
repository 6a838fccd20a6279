"""LongMemEval (Wu et al., ICLR 2025), a sample of three histories: whether the sessions that answer are found.

Only sessions are annotated, and 23 of the 26 questions are about the subject of one session alone, which any method
finds among the first five. So the histories are also remembered as one, and what counts is how far in front it stands.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from offline_tools.bench.dialogues import Asked, Dialogue, Session, Turn
from offline_tools.bench.evidence_recall import (
    METHODS,
    Found,
    durations_ms,
    figures_of,
    measure,
    reciprocal_rank,
    rows_of,
)
from offline_tools.bench.report import BenchmarkError, media, print_report

_SPEAKERS = {"user": "Robin", "assistant": "the assistant"}
_KS = (1, 3, 5)


def main(arguments: list[str]) -> int:
    """Print the table and the JSON line."""
    if arguments:
        raise BenchmarkError(f"no options are known, but {arguments[0]!r} was given")
    samples = json.loads(media("benchmarks/longmemeval_sample3.json").read_text(encoding="utf-8"))
    dialogues = [read_dialogue(sample) for sample in samples]
    parts = {"each history alone": dialogues, "all three as one": [as_one(dialogues)]}
    turns = sum(len(session.turns) for dialogue in dialogues for session in dialogue.sessions)
    asked = sum(len(dialogue.questions) for dialogue in dialogues)
    rows = [("histories, turns, questions", f"{len(dialogues)}, {turns}, {asked}", "")]
    figures: dict[str, Any] = {}
    for name, part in parts.items():
        found = [by_session(item) for item in measure(part)]
        recall = {"all": figures_of(found, _KS)["all"]}
        ranks = {method: round(reciprocal_rank(found, method), 4) for method in METHODS}
        rows += rows_of(name, recall)
        beaten = all(ranks["robot"] > ranks[method] for method in METHODS[1:])
        told = "; ".join(f"{method} {value:.3f}" for method, value in ranks.items())
        rows.append((f"{name}: mean reciprocal rank", told, "above each" if beaten else "not above each"))
        milliseconds = durations_ms(found)
        rows.append((f"{name}: search p50, p99", f"{milliseconds['p50']}, {milliseconds['p99']} ms", ""))
        figures[name] = {"recall": recall["all"], "mrr": ranks, "search_ms": milliseconds}
    print_report("sessions among the first 1/3/5, LongMemEval sample, in %", rows, figures)
    return 0


def as_one(dialogues: list[Dialogue]) -> Dialogue:
    """The sessions of several histories in the order of time, and all that is asked of them."""
    sessions = sorted((s for one in dialogues for s in one.sessions), key=lambda session: session.start_utc_s)
    questions = [question for one in dialogues for question in one.questions]
    last = max(dialogues, key=lambda one: one.asked_utc_s)
    return replace(last, name="all", sessions=sessions, questions=questions)


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


def by_session(found: Found) -> Found:
    """The same with sessions, in the order in which a turn of theirs was found first."""
    ranked = {
        method: list(dict.fromkeys(key.split("#")[0] for key in keys))
        for method, keys in found.ranked.items()
    }
    return Found(found.dialogue, found.question, ranked, found.duration_s)
