"""LongMemEval (Wu et al., ICLR 2025), a sample of three histories: whether the answers are found.

Mostly sessions are annotated, and nearly every question is about the subject of one session alone, so that any method
finds it first. Therefore the turns that hold the answer count as well: those that the benchmark marks, else those of
its sessions with most of the answer's words, at least half. All is asked once more of the three histories as one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memory_store.words import terms_of
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

DATE_FORM = "%Y/%m/%d (%a) %H:%M"
SPEAKERS = {"user": "Robin", "assistant": "the assistant"}
_KS = (1, 3, 5)


def main(arguments: list[str]) -> int:
    """Print the table and the JSON line."""
    if arguments:
        raise BenchmarkError(f"no options are known, but {arguments[0]!r} was given")
    samples = json.loads(media("benchmarks/longmemeval_sample3.json").read_text(encoding="utf-8"))
    dialogues = [read_dialogue(sample) for sample in samples]
    parts = {"each history alone": dialogues, "all three as one": [as_one(dialogues)]}
    holders = {question: keys for sample in samples for question, keys in answer_turns(sample).items()}
    turns = sum(len(session.turns) for dialogue in dialogues for session in dialogue.sessions)
    asked = sum(len(dialogue.questions) for dialogue in dialogues)
    rows = [("histories, turns, questions", f"{len(dialogues)}, {turns}, {asked}", "")]
    figures: dict[str, Any] = {}
    for name, part in parts.items():
        found = measure(part)
        figures[name] = {"search_ms": durations_ms(found)}
        for what, ranked in (
            ("sessions", [by_session(item) for item in found]),
            ("answers", [one for item in found if (one := by_answer(item, holders))]),
        ):
            recall = {what: figures_of(ranked, _KS)["all"]}
            ranks = {method: round(reciprocal_rank(ranked, method), 4) for method in METHODS}
            rows += rows_of(name, recall)
            told = "; ".join(f"{method} {value:.3f}" for method, value in ranks.items())
            rows.append((f"{name}: {what}, mean reciprocal rank of {len(ranked)}", told, ""))
            figures[name][what] = {"recall": recall[what], "mrr": ranks, "questions": len(ranked)}
    print_report("among the first 1/3/5, LongMemEval sample, in %", rows, figures)
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
                Turn(f"{name}#{place}", SPEAKERS[turn["role"]], turn["content"])
                for place, turn in enumerate(turns)
                if turn["content"].strip()
            ],
        )
        for name, date, turns in zip(
            sample["haystack_session_ids"], sample["haystack_dates"], sample["haystack_sessions"], strict=True
        )
    ]
    questions = [
        Asked(question, sample["question_type"], frozenset(answers), asker=SPEAKERS["user"])
        for question, answers in zip(sample["questions"], sample["answer_session_ids"], strict=True)
    ]
    return Dialogue(sample["question_id"], sessions, questions, _utc_s(sample["question_date"]))


def _utc_s(date: str) -> float:
    return datetime.strptime(date, DATE_FORM).replace(tzinfo=UTC).timestamp()


def by_session(found: Found) -> Found:
    """The same with sessions, in the order in which a turn of theirs was found first."""
    ranked = {
        method: list(dict.fromkeys(key.split("#")[0] for key in keys))
        for method, keys in found.ranked.items()
    }
    return Found(found.dialogue, found.question, ranked, found.duration_s)


def answer_turns(sample: dict[str, Any]) -> dict[str, frozenset[str]]:
    """By question the turns of its sessions that hold its answer; none where no turn has half of its words."""
    sessions = dict(zip(sample["haystack_session_ids"], sample["haystack_sessions"], strict=True))
    found = {}
    for question, answer, names in zip(
        sample["questions"], sample["answers"], sample["answer_session_ids"], strict=True
    ):
        turns = {f"{name}#{place}": turn for name in names for place, turn in enumerate(sessions[name])}
        marked = frozenset(key for key, turn in turns.items() if turn.get("has_answer"))
        words = set(terms_of(str(answer)))
        shares = {key: len(words & set(terms_of(turn["content"]))) for key, turn in turns.items()}
        most = max(shares.values())
        said = frozenset(key for key, share in shares.items() if share == most and 2 * share >= len(words))
        found[question] = marked or said
    return found


def by_answer(found: Found, holders: Mapping[str, frozenset[str]]) -> Found | None:
    """The same with the answer of a session in the place of the first turn that holds it; None where none does."""
    keys = holders[found.question.text]
    if not keys:
        return None
    ranked = {
        method: list(dict.fromkeys(key.split("#")[0] if key in keys else key for key in turns))
        for method, turns in found.ranked.items()
    }
    asked = replace(found.question, evidence=frozenset(key.split("#")[0] for key in keys))
    return Found(found.dialogue, asked, ranked, found.duration_s)
