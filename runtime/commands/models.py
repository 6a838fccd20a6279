"""`hearsight models`: fetch model files, list them, verify them; bundles are left to models_bundles."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

from models.fetch import FetchProgress, ModelStatus, fetch, list_models, verify
from models.inventory import model_status
from models.slots import Slots
from runtime.commands import models_bundles, session
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
    checking = verbs.add_parser("verify", parents=[shared], help="hash every file again, or check a bundle")
    checking.add_argument("model", nargs="*", help="a model of the manifest, or the file of a bundle")
    checking.set_defaults(command=verify_models)
    models_bundles.add_to(verbs, shared)


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
    """List every entry of the manifest, and the bundles that are installed."""
    parts = session.parts_of(options)
    directory = parts.settings.models.dir
    slots = Slots(directory)
    _print([*list_models(parts.manifest, directory), *_slot_statuses(slots)], as_json=options.json)
    active = slots.active()
    if active is not None and not options.json:
        print(f"installed: {active.manifest.name} {active.manifest.version}, in slot {active.slot}")
    return 0


def verify_models(options: argparse.Namespace) -> int:
    """Read and hash the files, of the installed bundle too; 1 when one is wrong."""
    parts = session.parts_of(options)
    bundles = [Path(name) for name in options.model if models_bundles.is_bundle(name)]
    models_bundles.verify_bundles(bundles, parts, as_json=options.json)
    names = [name for name in options.model if not models_bundles.is_bundle(name)]
    if bundles and not names:
        return 0
    directory = parts.settings.models.dir
    installed = [] if names else _slot_statuses(Slots(directory), rehash=True)
    return _print([*verify(parts.manifest, directory, names), *installed], as_json=options.json)


def _slot_statuses(slots: Slots, *, rehash: bool = False) -> list[ModelStatus]:
    """What the slots hold, the one that serves first."""
    state = slots.state()
    models = [slots.model(slot) for slot in (state.active, state.before) if slot is not None]
    return [model_status(one.entry, one.root, rehash=rehash) for one in models if one is not None]


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
        "revision": entry.revision,
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
