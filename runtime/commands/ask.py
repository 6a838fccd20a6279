"""`hearsight ask`: one question or, without one, a conversation; its answers, and what they rest on."""

from __future__ import annotations

import argparse
import logging
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError
from zoneinfo import ZoneInfo

from models.errors import ModelError
from models.language_process import LanguageProcess
from runtime import compose, compose_answers
from runtime.answer_json import answer_json
from runtime.answering import Asked
from runtime.api_client import DaemonClient, running_daemon
from runtime.commands import session
from runtime.compose_shown import shown_reader
from runtime.errors import HearsightError
from runtime.shown_reader import check_size
from runtime.trace_view import HOW

log = logging.getLogger(__name__)

_TIMEOUT_S = 600.0

Asker = Callable[[Asked], dict[str, Any]]


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("ask", parents=[shared], help="ask the memory a question")
    parser.add_argument("question", nargs="?", help="without one: a conversation, a question a line")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--picture", type=Path, metavar="FILE", help="what 'this', 'she' or 'he' is in; not kept"
    )
    shown.add_argument("--sound", type=Path, metavar="FILE", help="the voice asked about; not kept")
    parser.add_argument("--before-clip", type=int, metavar="N", help="as the memory was before this clip")
    parser.add_argument("--language", metavar="MODEL", help="entry of the model manifest, or none")
    parser.set_defaults(command=main)


def main(options: argparse.Namespace) -> int:
    """Answer, and print the answer with its evidence; by the running daemon, or else here."""
    asked = _asked(options)
    parts = session.parts_of(options)
    zone, directory = session.zone_of(parts), parts.settings.data_dir
    daemon = running_daemon(parts.settings.data_dir) if options.language is None else None
    with _by_daemon(daemon) if daemon is not None else _here(options) as ask:
        if options.question is not None:
            _show(ask(asked), zone, directory, as_json=options.json)
            return 0
        return _converse(ask, asked, zone, directory, as_json=options.json)


def _asked(options: argparse.Namespace) -> Asked:
    """The question, "" where there is none, and the file that comes with it."""
    if options.question is None and (options.picture or options.sound):
        raise HearsightError('a picture or a sound goes with a question: hearsight ask "Who is this?" …')
    return Asked(
        options.question or "",
        picture=_read("picture", options.picture),
        sound=_read("sound", options.sound),
        before_clip=options.before_clip,
    )


def _read(medium: str, path: Path | None) -> bytes | None:
    """The bytes of a file, not more than are taken. Raises ShownError, OSError naming it."""
    if path is None:
        return None
    check_size(medium, path.stat().st_size)
    return path.read_bytes()


@contextmanager
def _by_daemon(daemon: DaemonClient) -> Iterator[Asker]:
    conversation = str(uuid.uuid4())

    def ask(asked: Asked) -> dict[str, Any]:
        try:
            return daemon.ask(replace(asked, conversation=conversation), _TIMEOUT_S)
        except (OSError, URLError) as error:
            raise HearsightError(f"the running daemon gave no answer: {error}") from error

    yield ask


@contextmanager
def _here(options: argparse.Namespace) -> Iterator[Asker]:
    with session.opened(options) as (parts, store):
        language = _language(parts, options)
        answerer = compose_answers.control(parts, store, language)
        talks = compose_answers.conversations(parts, store, answerer, shown_reader(parts))
        try:
            yield lambda asked: answer_json(talks.answer(replace(asked, conversation="here")))
        finally:
            if language is not None:
                language.close()


def _language(parts: compose.Parts, options: argparse.Namespace) -> LanguageProcess | None:
    """The language model; one whose file is missing or damaged is answered without, unless it was asked for by name."""
    try:
        return compose.language_model(parts)
    except ModelError as error:
        if options.language is not None:
            raise
        log.warning("%s; answering without a language model", error)
        return None


def _converse(ask: Asker, first: Asked, zone: ZoneInfo, directory: Path, *, as_json: bool) -> int:
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
            _show(ask(replace(first, text=question.strip())), zone, directory, as_json=as_json)
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
    how, trace = HOW[answer["method"]], answer["trace"]
    kept = "no trace kept" if trace is None else f"trace {trace}"
    print(f"  {how}, {answer['model_calls']} model calls, {answer['duration_s']:.1f} s, {kept}", flush=True)
