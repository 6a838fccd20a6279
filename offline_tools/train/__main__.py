"""`python -m offline_tools.train NAME`: runs one training; its module parses the rest of the command line."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from offline_tools.errors import OfflineToolError
from offline_tools.extras import missing_extra

# The module of each, with main(arguments) -> exit code.
TRAININGS = {"sft": "offline_tools.train.sft", "rl": "offline_tools.train.rl"}


def main(arguments: Sequence[str]) -> int:
    """0: done, 1: one clear sentence says why not, 2: wrong usage, 130: interrupted."""
    if not arguments or arguments[0] not in TRAININGS:
        print(f"usage: python -m offline_tools.train NAME [options]; NAME is one of: {', '.join(TRAININGS)}")
        return 0 if arguments[:1] == ["--help"] else 2
    name = arguments[0]
    try:
        status: int = importlib.import_module(TRAININGS[name]).main(arguments[1:])
        return status
    except OfflineToolError as error:
        return _fail(name, str(error))
    except ModuleNotFoundError as error:
        sentence = missing_extra(error)
        if sentence is None:
            raise
        return _fail(name, sentence)
    except KeyboardInterrupt:
        return _fail(name, "interrupted; the same command goes on from the last checkpoint", status=130)


def _fail(name: str, message: str, status: int = 1) -> int:
    print(f"train {name}: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
