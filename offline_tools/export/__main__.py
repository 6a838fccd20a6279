"""`python -m offline_tools.export CHECKPOINT …`, `keygen FILE` and `source`: from a checkpoint to a signed bundle."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from models.errors import ModelError
from models.signing import PrivateKey, make_key_pair
from offline_tools.errors import OfflineToolError
from offline_tools.export.llama_source import converter
from offline_tools.extras import missing_extra


def main(arguments: Sequence[str]) -> int:
    """0: done, 1: one clear sentence says why not, 2: wrong usage, 130: interrupted."""
    try:
        if arguments[:1] == ["keygen"]:
            return _keygen(arguments[1:])
        if arguments[:1] == ["source"]:
            print(converter())
            return 0
        return _export(arguments)
    except (OfflineToolError, ModelError) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"cannot read or write {error.filename}: {error.strerror}")
    except ModuleNotFoundError as error:
        sentence = missing_extra(error)
        if sentence is None:
            raise
        return _fail(sentence)
    except KeyboardInterrupt:
        return _fail("interrupted; no bundle is half written", status=130)


def _keygen(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m offline_tools.export keygen")
    parser.add_argument("file", type=Path, help="the private key; FILE.pub gets the public one")
    path = parser.parse_args(arguments).file
    public = make_key_pair(path)
    print(f"{path}: keep it secret\n{path}.pub: {public.text} (id {public.id})")
    print(
        "A robot trusts it with the .pub file in trusted_keys of its models directory, or with models.trusted_keys"
    )
    return 0


def _export(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    key = PrivateKey.read(options.key)  # what is asked for by hand is checked before anything takes minutes
    from offline_tools.chatml import read_rows
    from offline_tools.export.pipeline import ExportPlan, export

    checkpoint = (
        options.checkpoint / "model" if (options.checkpoint / "model").is_dir() else options.checkpoint
    )
    plan = ExportPlan(
        checkpoint=checkpoint,
        to=options.to,
        kinds=tuple(options.quantize.split(",")),
        golden=tuple(read_rows(options.golden)),
        key=key,
        name=options.name,
        version=options.version,
        licence=options.licence,
        publisher=options.publisher,
        max_tokens=options.max_tokens,
        context_tokens=options.context_tokens,
        least_likeness=options.least_likeness,
    )
    done = export(plan)
    print(f"\n{'step':<12} {'MB':>9} {'first tokens':>13} {'same':>7} {'likeness':>9} {'golden':>7} {'s':>7}")
    for step in done.steps:
        print(
            f"{step.step:<12} {step.bytes / 1e6:>9.1f} {step.first_tokens:>13.3f} {step.same_answers:>7.3f} "
            f"{step.likeness:>9.3f} {step.golden:>7.3f} {step.duration_s:>7.1f}"
        )
    rows = [asdict(step) for step in done.steps]
    print(json.dumps({"export": {"bundles": [str(path) for path in done.bundles], "steps": rows}}))
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m offline_tools.export",
        epilog="also: `keygen FILE` makes a key to sign with; `source` fetches llama.cpp's converter",
    )
    parser.add_argument(
        "checkpoint", type=Path, help="a run of offline_tools.train, a model's folder or an adapter's"
    )
    parser.add_argument(
        "--to", type=Path, required=True, metavar="DIR", help="where everything that is made goes"
    )
    parser.add_argument(
        "--golden", type=Path, required=True, metavar="FILE", help="rows in ChatML to compare with"
    )
    parser.add_argument(
        "--key", type=Path, required=True, metavar="FILE", help="the private key to sign with"
    )
    parser.add_argument("--name", required=True, help="of the model, such as hearsight-memory")
    parser.add_argument(
        "--version", required=True, help="numbers and dots; robots take none older than they had"
    )
    parser.add_argument("--licence", required=True, help="of the weights")
    parser.add_argument("--publisher", required=True, help="where the model comes from")
    parser.add_argument(
        "--quantize", default="Q4_K_M", metavar="KIND,…", help="a bundle for each (default Q4_K_M)"
    )
    parser.add_argument("--max-tokens", type=int, default=64, help="of each golden answer (default 64)")
    parser.add_argument(
        "--context-tokens", type=int, default=4096, help="window while they are asked (default 4096)"
    )
    parser.add_argument(
        "--least-likeness", type=float, default=0.5, help="to the checkpoint's answers, else not packed (0.5)"
    )
    return parser.parse_args(arguments)


def _fail(message: str, status: int = 1) -> int:
    print(f"export: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
