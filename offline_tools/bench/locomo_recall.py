"""LoCoMo (Maharana et al., ACL 2024): ten long dialogues, and whether the turns that answer a question are found.

The ranking's constants were chosen on the first five dialogues; the other five are reported by themselves.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

from offline_tools.bench.dialogues import Asked, Dialogue, Session, Turn
from offline_tools.bench.evidence_recall import durations_ms, figures_of, measure, rows_of
from offline_tools.bench.report import media, print_report

TUNED_ON = 5
DAY_S = 86400.0
CATEGORIES = {
    1: "1 multi-hop",
    2: "2 temporal",
    3: "3 open-domain",
    4: "4 single-hop",
    5: "5 adversarial",
}
DATE_FORM = "%I:%M %p on %d %B, %Y"
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


def main(arguments: list[str]) -> int:
    """Print the table and the JSON line."""
    parser = argparse.ArgumentParser(prog="bench locomo_recall")
    parser.add_argument("--dialogues", type=int, default=10, help="how many of the ten")
    options = parser.parse_args(arguments)
    dialogues = read_dialogues(json.loads(media("benchmarks/locomo10.json").read_text(encoding="utf-8")))
    dialogues = dialogues[: options.dialogues]
    found = measure(dialogues)
    tuned = {dialogue.name for dialogue in dialogues[:TUNED_ON]}
    parts = {
        "other five": [item for item in found if item.dialogue not in tuned],
        "tuned on": [item for item in found if item.dialogue in tuned],
        "all": found,
    }
    figures = {name: figures_of(items) for name, items in parts.items() if items}
    turns = sum(len(session.turns) for dialogue in dialogues for session in dialogue.sessions)
    milliseconds = durations_ms(found)
    rows = [
        ("dialogues, turns, questions", f"{len(dialogues)}, {turns}, {len(found)}", ""),
        *(row for name, by_category in figures.items() for row in rows_of(name, by_category)),
        ("search p50, p99", f"{milliseconds['p50']}, {milliseconds['p99']} ms", ""),
    ]
    print_report("evidence recall@5/10/20, LoCoMo, in %", rows, {**figures, "search_ms": milliseconds})
    return 0


def read_dialogues(samples: list[dict[str, Any]]) -> list[Dialogue]:
    """The dialogues with those of their questions whose evidence names turns; all but four of 1,986."""
    return [_dialogue(sample) for sample in samples]


def _dialogue(sample: dict[str, Any]) -> Dialogue:
    talk = sample["conversation"]
    numbers = sorted(
        int(key.split("_")[1]) for key in talk if re.fullmatch(r"session_\d+", key) and talk[key]
    )
    sessions = [
        Session(
            datetime.strptime(talk[f"session_{number}_date_time"], DATE_FORM).replace(tzinfo=UTC).timestamp(),
            [
                Turn(turn["dia_id"], turn["speaker"], turn["text"], turn.get("blip_caption", ""))
                for turn in talk[f"session_{number}"]
            ],
        )
        for number in numbers
    ]
    known = {turn.key for session in sessions for turn in session.turns}
    questions = []
    for asked in sample["qa"]:
        evidence = evidence_of(asked.get("evidence", []), known)
        if evidence:
            questions.append(Asked(asked["question"], CATEGORIES[asked["category"]], evidence))
    asked_utc_s = max(session.start_utc_s for session in sessions) + DAY_S
    return Dialogue(sample["sample_id"], sessions, questions, asked_utc_s)


def evidence_of(told: Iterable[str], known: Collection[str]) -> frozenset[str]:
    """The turns that annotations name in various ways ("D2:1; D:10:03"), as far as they are known."""
    named = {f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(" ".join(told))}
    return frozenset(key for key in named if key in known)
