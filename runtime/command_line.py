"""The command line: parses, calls, prints."""

from __future__ import annotations

import argparse
import importlib
import io
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from drivers.media import DriverError
from memory_store.errors import MemoryStoreError
from models.errors import ModelError
from runtime.errors import HearsightError

COMMANDS = (
    "run",
    "serve",
    "ask",
    "listen",
    "people",
    "timeline",
    "memory",
    "trace",
    "backup",
    "restore",
    "models",
    "check",
)


def main(arguments: Sequence[str], parser: argparse.ArgumentParser | None = None) -> int:
    """Run one command, with the parser that `build_parser` made for it.

    0: done, 1: one clear sentence says why not, 2: wrong usage, 130: interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names from another alphabet than the terminal's
    options = (parser or build_parser(arguments)).parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO if options.verbose else logging.WARNING, format="%(levelname)s %(message)s"
    )
    try:
        status: int = options.command(options)
        print(end="", flush=True)
        return status
    except (HearsightError, DriverError, ModelError, MemoryStoreError) as error:
        return _fail(str(error), as_json=options.json)
    except KeyboardInterrupt:
        return _fail("interrupted", as_json=options.json, status=130)
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        if error.filename is None:
            _drop_output()
        what = error.filename or "the output"
        return _fail(f"cannot read or write {what}: {error.strerror}", as_json=options.json)


def _drop_output() -> None:
    """Nobody takes what is printed: let the rest, also what Python still holds, go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, *, as_json: bool, status: int = 1) -> int:
    if as_json:
        print(json.dumps({"error": message}, ensure_ascii=False))
    print(f"hearsight: {message}", file=sys.stderr)
    return status


def build_parser(arguments: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The command line: of the command that the arguments begin with, whose libraries alone are loaded; else of all."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--config", type=Path, metavar="FILE", help="configuration (default: robot.yaml here)"
    )
    shared.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="where the memory lives (default: as configured)"
    )
    shared.add_argument("--json", action="store_true", help="print JSON")
    shared.add_argument("--verbose", action="store_true", help="log what happens")
    parser = argparse.ArgumentParser(
        prog="hearsight", description="A household robot's memory: see, hear, ask."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in arguments[:1] if arguments[:1] and arguments[0] in COMMANDS else COMMANDS:
        importlib.import_module(f"runtime.commands.{name}").add_to(commands, shared)
    return parser
