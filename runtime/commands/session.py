"""What every command does first: read the settings, the model manifest and, mostly, open the memory."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from memory_store.store import MemoryStore
from models.manifest import Manifest
from runtime import compose
from runtime.clock import local_zone, parse_instant
from runtime.config import Settings, load_settings
from runtime.errors import HearsightError

Commands = Any  # argparse's sub-parsers action, which has no public name


def config_path(options: argparse.Namespace) -> Path | None:
    """The file named on the command line, else robot.yaml here, else the one beside the code, else None."""
    if options.config is not None:
        return Path(options.config)
    places = (Path("robot.yaml"), Path(__file__).resolve().parents[2] / "robot.yaml")
    return next((place for place in places if place.is_file()), None)


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings with what the command line overrides."""
    path = config_path(options)
    settings = load_settings(path) if path is not None else Settings()
    if options.data_dir is not None:
        settings = settings.model_copy(update={"data_dir": options.data_dir.expanduser()})
    language = getattr(options, "language", None)  # an option of run and ask alone
    if language is not None:
        models = settings.models.model_copy(update={"language": language})
        settings = settings.model_copy(update={"models": models})
    return settings


def parts_of(options: argparse.Namespace) -> compose.Parts:
    """Settings and manifest."""
    return compose.Parts(settings_of(options), Manifest.load())


@contextmanager
def opened(options: argparse.Namespace) -> Iterator[tuple[compose.Parts, MemoryStore]]:
    """Parts and the open memory, closed afterwards."""
    parts = parts_of(options)
    store = compose.open_store(parts)
    try:
        yield parts, store
    finally:
        store.close()


def require_memory(parts: compose.Parts) -> None:
    """Raise HearsightError where there is no memory yet: an empty one made by mistake would pass for a sound one."""
    directory = parts.settings.data_dir
    if not any((directory / name).exists() for name in ("memory.db", "switch.json")):
        raise HearsightError(f"no memory in {directory}: name another directory with --data-dir")


def zone_of(parts: compose.Parts) -> ZoneInfo:
    """The residents' time zone."""
    return local_zone(parts.settings.robot.timezone)


def instant(text: str | None, zone: ZoneInfo, option: str) -> float | None:
    """An ISO time from the command line, or None. Raises HearsightError naming the option."""
    if text is None:
        return None
    try:
        return parse_instant(text, zone)
    except ValueError as error:
        raise HearsightError(f"{option}: {error}") from error


def limit(options: argparse.Namespace) -> int | None:
    """The value of --limit, or None. Raises HearsightError unless it is above zero."""
    number: int | None = options.limit
    if number is not None and number < 1:
        raise HearsightError(f"--limit {number}: give a number above zero")
    return number


def print_json(value: object) -> None:
    """One JSON value on one line."""
    print(json.dumps(value, ensure_ascii=False), flush=True)
