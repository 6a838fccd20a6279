"""`python -m offline_tools.synthesize`: makes training rows, checks them, and measures them against a truth."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from models.errors import ModelError
from offline_tools.chatml import check_rows
from offline_tools.chosen_model import CHOICES, KEY_VARIABLE, has_senses, open_model
from offline_tools.consent import EVERYBODY, ConsentRule, consent_rule
from offline_tools.errors import OfflineToolError
from offline_tools.extras import missing_extra
from runtime.config import Settings, load_settings
from runtime.errors import HearsightError

if TYPE_CHECKING:
    from offline_tools.synthesize.annotate import Annotators


def main(arguments: Sequence[str]) -> int:
    """0: done; 1: one sentence says why not, or rows have faults; 130: interrupted."""
    try:
        if arguments[:1] == ["check"]:
            return _check(arguments[1:])
        if arguments[:1] == ["validate"]:
            return _validate(arguments[1:])
        return _synthesize(arguments)
    except (OfflineToolError, ModelError, HearsightError) as error:
        return _fail(str(error))
    except ModuleNotFoundError as error:
        sentence = missing_extra(error)
        if sentence is None:
            raise
        return _fail(sentence)
    except KeyboardInterrupt:
        return _fail("interrupted; the same command goes on where it was", 130)


def _fail(message: str, status: int = 1) -> int:
    print(f"synthesize: {message}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m offline_tools.synthesize",
        description="Makes training rows of the memory model. Also: check ROWS; validate ROWS --truth TRUTH.",
        epilog=f"MODEL is {CHOICES}. An endpoint's key is read from the environment variable of --key-variable.",
    )
    parser.add_argument(
        "--memory", type=Path, nargs="+", default=[], metavar="DATA_DIR", help="robots' memories"
    )
    parser.add_argument(
        "--replay", type=Path, nargs="+", default=[], metavar="VIDEO",
        help="videos, whose people have agreed to be in a dataset",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, required=True, metavar="ROWS.jsonl", help="goes on where it was")
    parser.add_argument("--memories", type=Path, metavar="DIR", help="of the videos, made by memorize_many")
    parser.add_argument(
        "--captions", required=True, metavar="MODEL", help="captions frames; none: no captions"
    )
    parser.add_argument("--merge", required=True, metavar="MODEL", help="merges captions, pictures and sound")
    parser.add_argument(
        "--semantic", metavar="MODEL", help="writes what stays true; default: that of --merge"
    )
    parser.add_argument(
        "--allow", nargs="+", default=[], metavar="CONSENT",
        help="of a memory also: guest, unknown; never do_not_remember",
    )  # fmt: skip
    parser.add_argument("--share", type=float, default=0.5, help="p: of a voice's and a face's votes (0.5)")
    parser.add_argument(
        "--least-votes", type=int, default=2, help="edges of fewer meta-clips are dropped (2)"
    )
    parser.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="of one call (120)")
    parser.add_argument("--max-tokens", type=int, default=512, metavar="N", help="of one answer (512)")
    parser.add_argument(
        "--give-up-after", type=int, default=20, metavar="N", help="clips failing in a row (20)"
    )
    parser.add_argument("--key-variable", default=KEY_VARIABLE, metavar="NAME", help=f"({KEY_VARIABLE})")
    parser.add_argument("--config", type=Path, metavar="FILE", help="a robot.yaml")
    return parser


def _synthesize(arguments: Sequence[str]) -> int:
    from offline_tools.synthesize.equivalence import VotingRule
    from offline_tools.synthesize.rows import Rules
    from offline_tools.synthesize.run import Plan, synthesize

    options = _parser().parse_args(arguments)
    _check_options(options)
    consent: ConsentRule = EVERYBODY if options.replay else consent_rule(options.allow)
    import networkx  # noqa: F401 - missing, it is said before any model is loaded

    settings = load_settings(options.config) if options.config else Settings()
    plan = Plan(tuple(options.memory), tuple(options.replay), options.out, settings, options.memories)
    with ExitStack() as stack:
        models = _models(options, settings, stack)
        voting = VotingRule(options.least_votes, options.share)
        tally = synthesize(plan, models, Rules(consent, voting, options.give_up_after))
    for line in tally.skipped:
        print(f"skipped: {line}", file=sys.stderr)
    figures = {"rows": str(options.out), "written": tally.written, "known": tally.known, **tally.counts}
    print(json.dumps(figures))
    return 0


def _check_options(options: argparse.Namespace) -> None:
    if bool(options.memory) == bool(options.replay):
        raise OfflineToolError("give either --memory DATA_DIR… or --replay VIDEO…")
    if "none" in (options.merge, options.semantic):
        raise OfflineToolError("--merge and --semantic must be models: only --captions may be none")
    if not 0 < options.share <= 1 or min(options.least_votes, options.max_tokens) < 1 or options.timeout <= 0:
        raise OfflineToolError(
            "--share must be above 0 and at most 1, --least-votes, --max-tokens and --timeout above 0"
        )
    if options.captions != "none" and not has_senses(options.captions):
        raise OfflineToolError(f"--captions {options.captions} sees no pictures: give an omni model, or none")


def _models(options: argparse.Namespace, settings: Settings, stack: ExitStack) -> Annotators:
    """The models of the stages, each opened once and closed with the stack."""
    from offline_tools.synthesize.annotate import Annotators

    semantic = options.semantic or options.merge
    opened = {}
    for choice in {options.captions, options.merge, semantic} - {"none"}:
        opened[choice] = open_model(choice, key_variable=options.key_variable, settings=settings)
        stack.callback(opened[choice].close)
    return Annotators(
        opened.get(options.captions),
        opened[options.merge],
        opened[semantic],
        has_senses(options.merge),
        has_senses(semantic),
        options.timeout,
        options.max_tokens,
    )


def _check(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m offline_tools.synthesize check")
    parser.add_argument("rows", type=Path)
    rows, faults = check_rows(parser.parse_args(arguments).rows)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(json.dumps({"rows": len(rows), "faults": len(faults)}))
    return 1 if faults else 0


def _validate(arguments: Sequence[str]) -> int:
    from offline_tools.synthesize.validate import main as validate

    return validate(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
