"""`hearsight ask`: one question or, without one, a conversation; its answers, and what they rest on."""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError
from zoneinfo import ZoneInfo

from models.errors import ModelError
from runtime import compose
from runtime.answer_json import answer_json
from runtime.answering import Asked
from runtime.api_client import DaemonClient, running_daemon
from runtime.commands import session
from runtime.errors import HearsightError

_TIMEOUT_S = 600.0
_HOW = {"computed": "from the timeline", "model": "with the language model", "extractive": "by quotation"}

Asker = Callable[[str], dict[str, Any]]


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("ask", parents=[shared], help="ask the memory a question")
    parser.add_argument("question", nargs="?", help="without one: a conversation, a question a line")
    parser.add_argument("--language", metavar="MODEL", help="entry of the model manifest, or none")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Answer, and print the answer with its evidence; by the running daemon, or else here."""
    parts = session.parts_of(options)
    zone, directory = session.zone_of(parts), parts.settings.data_dir
    daemon = running_daemon(parts.settings.data_dir) if options.language is None else None
    with _by_daemon(daemon) if daemon is not None else _here(options) as ask:
        if options.question is not None:
            _show(ask(options.question), zone, directory, as_json=options.json)
            return 0
        return _converse(ask, zone, directory, as_json=options.json)


@contextmanager
def _by_daemon(daemon: DaemonClient) -> Iterator[Asker]:
    conversation = str(uuid.uuid4())

    def ask(question: str) -> dict[str, Any]:
        try:
            return daemon.ask(question, conversation, _TIMEOUT_S)
        except (OSError, URLError) as error:
            raise HearsightError(f"the running daemon gave no answer: {error}") from error

    yield ask


@contextmanager
def _here(options: argparse.Namespace) -> Iterator[Asker]:
    with session.opened(options) as (parts, store):
        language = compose.language_model(parts)
        talks = compose.conversations(parts, store, compose.control(parts, store, language))
        try:
            yield lambda question: answer_json(talks.answer(Asked(question, conversation="here")))
        finally:
            if language is not None:
                language.close()


def _converse(ask: Asker, zone: ZoneInfo, directory: Path, *, as_json: bool) -> int:
    """Questions from the standard input until it ends; one that cannot be answered does not end the rest."""
    status = 0
    while True:
        if sys.stdin.isatty():
            print("> ", end="", flush=True)
        question = sys.stdin.readline()
        if not question:
            return status
        if not question.strip():
            continue
        try:
            _show(ask(question.strip()), zone, directory, as_json=as_json)
        except (HearsightError, ModelError) as error:
            status = 1
            session.print_json({"error": str(error)}) if as_json else print(
                f"hearsight: {error}", file=sys.stderr
            )


def _show(answer: Mapping[str, Any], zone: ZoneInfo, directory: Path, *, as_json: bool) -> None:
    if as_json:
        session.print_json(answer)
    else:
        print_answer(answer, zone, directory)


def print_answer(answer: Mapping[str, Any], zone: ZoneInfo, directory: Path) -> None:
    """The answer and its evidence for people; pictures lie under the data directory."""
    print(answer["answer"])
    for item in answer["evidence"]:
        moment = datetime.fromisoformat(item["start"]).astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
        print(f"  [{item['id']}] {moment}  {item['text']}")
    for picture in answer.get("pictures", ()):
        print(f"  picture: {directory / picture['file']}")
    how, trace = _HOW[answer["method"]], answer["trace"]
    kept = "no trace kept" if trace is None else f"trace {trace}"
    print(f"  {how}, {answer['model_calls']} model calls, {answer['duration_s']:.1f} s, {kept}", flush=True)
