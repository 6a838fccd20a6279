"""`python -m offline_tools.evaluate DATASET` asks a benchmark; its other commands look back and try judges."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from offline_tools.errors import OfflineToolError
from offline_tools.extras import missing_extra


def main(arguments: Sequence[str]) -> int:
    """0: done, 1: one message says why not, 2: wrong usage, 3: not all is asked and judged yet, 130: interrupted."""
    try:
        return _run(arguments)
    except OfflineToolError as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        sentence = missing_extra(error)
        if sentence is None:
            raise
        print(f"evaluate: {sentence}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("evaluate: interrupted; the same command goes on from there", file=sys.stderr)
        return 130


def _run(arguments: Sequence[str]) -> int:
    from offline_tools.evaluate import agreement, judge_trial, leaderboard

    commands: dict[str, Callable[[Sequence[str]], int]] = {
        "leaderboard": leaderboard.main,
        "agreement": agreement.agreement,
        "label": agreement.label,
        "trial": judge_trial.main,
    }
    command = commands.get(arguments[0]) if arguments else None
    return _evaluate(arguments) if command is None else command(arguments[1:])


def _evaluate(arguments: Sequence[str]) -> int:
    from offline_tools.bench.report import commit
    from offline_tools.evaluate.chosen_models import opened, text_model
    from offline_tools.evaluate.evaluation import Tools, evaluate
    from offline_tools.evaluate.options import parse

    options = parse(arguments)
    tools = Tools(
        lambda: text_model(facts=not options.no_facts),
        lambda model, limit_s: opened(model, options.context_tokens, options.threads, limit_s),
        commit(),
    )
    return evaluate(options, tools)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
