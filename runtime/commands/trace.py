"""`hearsight trace`: how an answer came about, or the latest answers."""

from __future__ import annotations

import argparse

from memory_store.records import Trace
from runtime.clock import iso_utc
from runtime.commands import session
from runtime.errors import HearsightError
from runtime.trace_view import TraceView, last_prompt

LATEST = 20


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("trace", parents=[shared], help="how an answer came about")
    parser.add_argument(
        "number", type=int, nargs="?", help="the trace that `ask` named; without it the latest are listed"
    )
    parser.add_argument("--prompt", action="store_true", help="the whole prompt of the last round")
    parser.add_argument("--limit", type=int, metavar="N", help=f"how many are listed (default {LATEST})")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Print one trace, its last prompt, or the list."""
    if options.prompt and options.number is None:
        raise HearsightError("--prompt: name the trace, `hearsight trace` lists them")
    limit = session.limit(options) or LATEST
    with session.opened(options) as (parts, store):
        view = TraceView(store, session.zone_of(parts))
        if options.number is None:
            _list(view, store.traces(limit=limit), as_json=options.json)
            return 0
        trace = store.trace(options.number)
        if options.prompt:
            _show_prompt(trace, as_json=options.json)
        elif options.json:
            session.print_json({"id": trace.id, **trace.trace})
        else:
            print("\n".join(view.lines(trace)))
    return 0


def _list(view: TraceView, traces: list[Trace], *, as_json: bool) -> None:
    if as_json:
        session.print_json([_row(trace) for trace in traces])
        return
    for trace in traces:
        print(view.summary(trace))
    if not traces:
        print('No question was asked yet: `hearsight ask "…"`')


def _row(trace: Trace) -> dict[str, object]:
    told = trace.trace
    return {
        "id": trace.id,
        "asked": iso_utc(trace.created_utc_s),
        "question": trace.question,
        "answer": trace.answer,
        "method": told.get("method"),
        "abstained": told.get("abstained"),
    }


def _show_prompt(trace: Trace, *, as_json: bool) -> None:
    prompt = last_prompt(trace)
    if as_json:
        session.print_json({"id": trace.id, "prompt": prompt})
    elif prompt is None:
        print(f"No language model was asked for trace {trace.id}.")
    else:
        print(prompt)
