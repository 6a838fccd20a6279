"""`hearsight ask`: one question, its answer, and what the answer rests on."""

from __future__ import annotations

import argparse
from datetime import datetime
from zoneinfo import ZoneInfo

from runtime import compose
from runtime.answer import Answer
from runtime.clock import iso_utc
from runtime.commands import session


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("ask", parents=[shared], help="ask the memory a question")
    parser.add_argument("question")
    parser.add_argument("--language", metavar="MODEL", help="entry of the model manifest, or none")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Answer, and print the answer with its evidence."""
    with session.opened(options) as (parts, store):
        language = compose.language_model(parts)
        try:
            answer = compose.control(parts, store, language).answer(options.question)
        finally:
            if language is not None:
                language.close()
        if options.json:
            session.print_json(answer_json(answer))
        else:
            print_answer(answer, session.zone_of(parts))
    return 0


def answer_json(answer: Answer) -> dict[str, object]:
    """The answer for scripts; times are ISO 8601 in UTC. The whole trace is at `hearsight trace`."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "abstained": answer.abstained,
        "method": answer.method,
        "confidence": answer.confidence,
        "persons": list(answer.persons),
        "evidence": [
            {
                "id": item.id,
                "clip": item.clip_id,
                "start": iso_utc(item.start_utc_s),
                "end": iso_utc(item.end_utc_s),
                "text": item.line,
                "score": item.score,
            }
            for item in answer.evidence
        ],
        "rounds": len(answer.rounds),
        "model_calls": answer.model_calls,
        "duration_s": answer.duration_s,
        "trace": answer.trace_id,
        "notes": list(answer.notes),
    }


def print_answer(answer: Answer, zone: ZoneInfo) -> None:
    """The answer and its evidence for people."""
    print(answer.text)
    for item in answer.evidence:
        moment = datetime.fromtimestamp(item.start_utc_s, zone).strftime("%Y-%m-%d %H:%M:%S")
        print(f"  [{item.id}] {moment}  {item.line}")
    how = {"computed": "from the timeline", "model": "with the language model", "extractive": "by quotation"}
    trace = "no trace kept" if answer.trace_id is None else f"trace {answer.trace_id}"
    print(f"  {how[answer.method]}, {answer.model_calls} model calls, {answer.duration_s:.1f} s, {trace}")
