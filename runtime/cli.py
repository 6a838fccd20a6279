"""The command `hearsight`: loads the rest while Ctrl-C already has its answer, then runs it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

INTERRUPTED = 130  # 128 + SIGINT, as shells give it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0: done, 1: one clear sentence says why not, 2: wrong usage, 130: interrupted.

    Loading the libraries takes a second, in which nothing is open or half written: an interrupt then ends the
    process at once, since an exception inside of a library that is being loaded cannot be caught reliably.
    """
    given = sys.argv[1:] if arguments is None else arguments
    before = signal.signal(signal.SIGINT, _leave_with_json if "--json" in given else _leave)
    from runtime import command_line

    parser = command_line.build_parser(given)
    signal.signal(signal.SIGINT, before)
    return command_line.main(given, parser)


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, b"hearsight: interrupted\n")
    os._exit(INTERRUPTED)


def _leave_with_json(number: int, frame: FrameType | None) -> None:
    os.write(1, json.dumps({"error": "interrupted"}).encode() + b"\n")
    _leave(number, frame)


if __name__ == "__main__":
    sys.exit(main())
