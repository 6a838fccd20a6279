"""One run of the synthesis: opens recordings, makes rows, and leaves the same file however often it was stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drivers.media import DriverError
from memory_store.errors import MemoryStoreError
from offline_tools.chatml import read_rows
from offline_tools.chatml_writer import RowWriter, write_rows
from offline_tools.consent import ConsentRule
from offline_tools.errors import OfflineToolError
from offline_tools.memorize_video import memorize_video, memory_directory, parts_for
from offline_tools.recordings.faces import FaceFinder
from offline_tools.synthesize.annotate import Annotators
from offline_tools.synthesize.material import MemoryMaterial, ReplayMaterial
from offline_tools.synthesize.prompts import prompts_sha256
from offline_tools.synthesize.rows import Recorded, Rules, Tally, make_rows
from runtime import compose
from runtime.config import Settings


@dataclass(frozen=True)
class Plan:
    """What a run reads and where it writes. memories: data directories of robots; videos: files.

    replayed: where the memories of the videos lie or come to lie, as offline_tools.memorize_many makes them; None:
    beside the rows.
    """

    memories: tuple[Path, ...]
    videos: tuple[Path, ...]
    out: Path
    settings: Settings
    replayed: Path | None = None


def synthesize(plan: Plan, models: Annotators, rules: Rules) -> Tally:
    """Make all rows that are not there yet; at the end they stand in the order of the recordings.

    A recording that cannot be read is skipped and named. Raises OfflineToolError where the file was begun with other
    models or rules, EndpointRefused where a model refuses every call.
    """
    tally = Tally()
    with RowWriter(plan.out) as writer:
        _keep_about(plan.out, about(models, rules), begun=bool(writer.known))
        try:
            for directory in plan.memories:
                with _memory(plan, directory, rules.consent) as recorded:
                    make_rows(recorded, models, rules, writer, tally)
            for video in plan.videos:
                _make_video_rows(plan, video, models, rules, writer, tally)
        finally:
            _keep_skipped(plan.out, tally)
        _in_order(plan.out, tally.order)
    return tally


def about(models: Annotators, rules: Rules) -> dict[str, Any]:
    """What a file of rows was made with; a run that goes on must be the same."""
    return {
        "captions": None if models.captions is None else models.captions.name,
        "merge": models.merge.name,
        "semantic": models.semantic.name,
        "prompts_sha256": prompts_sha256(),
        "least_votes": rules.voting.least,
        "share": rules.voting.share,
        "allowed": sorted(rules.consent.allowed),
    }


def _make_video_rows(
    plan: Plan, video: Path, models: Annotators, rules: Rules, writer: RowWriter, tally: Tally
) -> None:
    try:
        data_dir = memory_directory(plan.replayed or plan.out.with_name(plan.out.stem + ".memories"), video)
        parts = parts_for(plan.settings, data_dir)
        memorize_video(parts, video)
    except (DriverError, OSError) as error:
        tally.skip(str(video), str(error))
        return
    store = compose.open_store(parts)
    try:
        material = ReplayMaterial(store, data_dir, video)
        make_rows(Recorded(video.name, store, material.of), models, rules, writer, tally)
    finally:
        store.close()


@contextmanager
def _memory(plan: Plan, directory: Path, consent: ConsentRule) -> Iterator[Recorded]:
    if not (directory / "memory.db").is_file():
        raise OfflineToolError(f"no memory in {directory}: name a data directory of a robot")
    parts = parts_for(plan.settings, directory)
    try:
        store = compose.open_store(parts)
    except MemoryStoreError as error:
        raise OfflineToolError(f"the memory in {directory} cannot be read: {error}") from error
    try:
        finder = FaceFinder(parts, store, consent)
        material = MemoryMaterial(store, directory, lambda jpeg: finder.still(jpeg)[0])
        yield Recorded(str(directory), store, material.of)
    finally:
        store.close()


def _keep_about(out: Path, made_with: dict[str, Any], *, begun: bool) -> None:
    path = out.with_name(out.name + ".about.json")
    if begun and path.exists():
        before: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        differing = sorted(key for key in made_with if before.get(key) != made_with[key])
        if differing:
            key = differing[0]
            raise OfflineToolError(
                f"{out} was begun with {key} {before.get(key)!r}, now it is {made_with[key]!r}: "
                "go on with the same, or write another file"
            )
    _replace(path, json.dumps(made_with, indent=1, sort_keys=True) + "\n")


def _keep_skipped(out: Path, tally: Tally) -> None:
    """What gave no row in this run, and why."""
    lines = [
        *(f"skipped: {one}\n" for one in tally.skipped),
        *(f"rejected: {one}\n" for one in tally.rejected),
    ]
    _replace(out.with_name(out.name + ".left_out.txt"), "".join(lines))


def _in_order(out: Path, order: Sequence[str]) -> None:
    """Rows that were made late, since a model had failed, take the place they would have had."""
    if not out.stat().st_size:
        return
    rows = read_rows(out, media=False)
    place = {row_id: number for number, row_id in enumerate(order)}
    first = [row for row in rows if row.id not in place]
    ordered = first + sorted((row for row in rows if row.id in place), key=lambda row: place[row.id])
    if ordered != rows:
        write_rows(out, ordered)


def _replace(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise OfflineToolError(f"cannot write {path}: {error.strerror}") from error
