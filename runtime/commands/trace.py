"""`hearsight trace`: how an answer came about."""

from __future__ import annotations

import argparse
import json

from runtime.commands import session
from runtime.errors import HearsightError


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("trace", parents=[shared], help="how an answer came about")
    parser.add_argument(
        "number", type=int, nargs="?", help="the trace that `ask` named; the latest by default"
    )
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Print one trace."""
    with session.opened(options) as (_, store):
        if options.number is not None:
            trace = store.trace(options.number)
        else:
            latest = store.traces(limit=1)
            if not latest:
                raise HearsightError('no question was asked yet: `hearsight ask "…"`')
            trace = latest[0]
    if options.json:
        session.print_json({"id": trace.id, **trace.trace})
        return 0
    print(f"trace {trace.id}\nquestion: {trace.question}\nanswer: {trace.answer}")
    print(json.dumps(trace.trace, ensure_ascii=False, indent=2))
    return 0
