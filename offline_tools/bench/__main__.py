"""`python -m offline_tools.bench NAME`: runs one benchmark, which prints a table and one JSON line."""

from __future__ import annotations

import importlib
import sys

from offline_tools.bench.report import BenchmarkError

BENCHMARKS = (
    "visitors",
    "meta_clips",
    "looking",
    "first_word",
    "faces",
    "voices",
    "diarization",
    "own_speech",
    "days",
    "identity_stress",
    "locomo_recall",
    "locomo_answers",
    "longmemeval_recall",
    "facts",
    "times",
    "index",
    "writes",
    "prompt_reuse",
    "keeping",
    "objects",
    "household",
)


def main(arguments: list[str]) -> int:
    """Run the module of that name with the remaining arguments."""
    if not arguments or arguments[0] not in BENCHMARKS:
        print(f"usage: python -m offline_tools.bench NAME [options]; NAME is one of: {', '.join(BENCHMARKS)}")
        return 2
    try:
        status: int = importlib.import_module(f"offline_tools.bench.{arguments[0]}").main(arguments[1:])
        return status
    except BenchmarkError as error:
        print(f"bench {arguments[0]}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
