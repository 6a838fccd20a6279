"""Tombstones: ids and hashes of what was forgotten, in the memory and beside it, so that no backup brings it back."""

import hashlib
import json
import logging
import os
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from memory_store.database import Database
from memory_store.errors import DatabaseUnusable

logger = logging.getLogger(__name__)

FILE_NAME = "forgotten.jsonl"


@dataclass(frozen=True)
class Tombstone:
    """One forgetting. Ids mean rows of the memory named by `memory` alone, where none is ever given twice.

    identities: faces and voices; nodes: all deleted nodes, those included; rewritten and clips: the sha256 of a line
    and of a recording's name as they were told without the person; names: how many they had. It holds none of these
    names, and nothing that was said.
    """

    uuid: str
    memory: str
    forgotten_utc_s: float
    persons: tuple[int, ...]
    names: int
    identities: tuple[int, ...]
    nodes: tuple[int, ...]
    traces: tuple[int, ...]
    history: tuple[int, ...]
    name_evidence: tuple[int, ...]
    rewritten: Mapping[int, str]
    clips: Mapping[int, str]
    sound_clips: tuple[int, ...]
    files: tuple[str, ...]

    def as_line(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))


def from_line(line: str) -> Tombstone:
    """The tombstone of one line. Raises ValueError, KeyError or TypeError where it is none."""
    values = json.loads(line)
    for key in (
        "persons",
        "identities",
        "nodes",
        "traces",
        "history",
        "name_evidence",
        "sound_clips",
        "files",
    ):
        values[key] = tuple(values[key])
    for key in ("rewritten", "clips"):
        values[key] = {int(row): str(sha256) for row, sha256 in values[key].items()}
    return Tombstone(**values)


def fingerprint(*texts: str) -> str:
    """The sha256 by which a rewritten row is known again."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def memory_uuid(database: Database) -> str:
    """Which memory this is."""
    row = database.row("SELECT uuid FROM memory_identity")
    if row is None:
        raise DatabaseUnusable(
            f"{database.path} does not say which memory it is: run `hearsight memory repair`"
        )
    return str(row["uuid"])


def new_uuid() -> str:
    """An id for a new tombstone."""
    return uuid.uuid4().hex


def in_database(database: Database) -> dict[str, Tombstone]:
    """The tombstones that the memory holds, by uuid."""
    rows = database.rows("SELECT uuid, detail FROM forgotten ORDER BY forgotten_utc_s, uuid")
    return {row["uuid"]: from_line(row["detail"]) for row in rows}


def insert(database: Database, tombstones: Iterable[Tombstone]) -> None:
    """Put tombstones into the memory, inside the caller's transaction; those that are there already stay."""
    for stone in tombstones:
        database.write(
            "INSERT OR IGNORE INTO forgotten (uuid, memory, forgotten_utc_s, detail) VALUES (?, ?, ?, ?)",
            (stone.uuid, stone.memory, stone.forgotten_utc_s, stone.as_line()),
        )


def beside(directory: Path) -> dict[str, Tombstone]:
    """The tombstones of the file beside the memory, by uuid; a line that is damaged is left out. Raises OSError."""
    found: dict[str, Tombstone] = {}
    try:
        lines = (directory / FILE_NAME).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return found
    for line in lines:
        try:
            stone = from_line(line)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        found[stone.uuid] = stone
    return found


def keep_beside(database: Database) -> None:
    """Bring the file beside the memory up to date with it: what it lacks is added, nothing goes.

    Where it cannot be written that is logged, and tried again when the memory is opened next.
    """
    row = database.row("SELECT count(*) FROM forgotten")
    if row is None or not row[0]:
        return
    directory = database.path.parent
    path = directory / FILE_NAME
    try:
        known, held = beside(directory), in_database(database)
        if held.keys() <= known.keys():
            return
        part = path.with_suffix(".part")
        with open(part, "w", encoding="utf-8") as file:
            file.writelines(stone.as_line() + "\n" for stone in (known | held).values())
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        logger.warning("%s was not brought up to date: %s", path, error)
