"""Looks a whole memory through: database, references, text and vector indexes, tags, people, media, forgettings."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memory_store import tombstones
from memory_store.database import Database
from memory_store.errors import DatabaseUnusable
from memory_store.index_file import IndexFile
from memory_store.records import VectorSpace
from memory_store.tags import find_tags
from memory_store.vectors import decoded

_ROWS = 4096
# The rows that a cache of counts must agree with, by table: what it says, and what is so.
COUNTS = {
    "vector_counts": (
        "SELECT space, model, count FROM vector_counts WHERE count <> 0",
        "SELECT space, model, count(*) FROM vectors GROUP BY space, model",
    ),
    "vote_days": (
        "SELECT face_id, voice_id, day, round(weight, 6), votes FROM vote_days",
        """SELECT v.face_id, v.voice_id, CAST(c.start_utc_s / 86400 AS INTEGER) AS day, round(sum(v.weight), 6),
        count(*) FROM votes v JOIN clips c ON c.id = v.clip_id GROUP BY 1, 2, 3""",
    ),
}


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, and what `hearsight memory repair` does about it; nothing where that is empty."""

    what: str
    detail: str
    repair: str


def verify(database: Database, directory: Path, spaces: Sequence[VectorSpace]) -> list[Fault]:
    """All faults of a memory; empty when it is sound. Reads every row, every media file and every index."""
    faults = list(_database(database))
    if faults:
        return faults  # what else a damaged file says is not to be believed
    checks: tuple[Callable[[], Iterator[Fault]], ...] = (
        lambda: _references(database),
        lambda: _text_index(database),
        lambda: _spans(database),
        lambda: _tags(database),
        lambda: _people(database),
        lambda: _counts(database),
        lambda: _vectors(database, spaces),
        lambda: _media(database, directory),
        lambda: _forgotten(database, directory),
    )
    for check in checks:
        try:
            faults += check()
        except DatabaseUnusable as error:
            if not any(fault.what == "database" for fault in faults):
                faults.append(
                    Fault("database", str(error), "saves every row that can be read into a new file")
                )
    if not any(fault.what == "database" for fault in faults):
        for space in spaces:
            faults += _vector_index(database, IndexFile(directory / "index", space))
    return faults


def _database(database: Database) -> Iterator[Fault]:
    repair = "saves every row that can be read into a new file"
    try:
        for row in database.rows("PRAGMA integrity_check(10)"):
            # A text index that disagrees is found below, by itself.
            if row[0] != "ok" and "inverted index" not in row[0]:
                yield Fault("database", str(row[0]).replace("\n", "; "), repair)
    except DatabaseUnusable as error:
        yield Fault("database", str(error), repair)


def _references(database: Database) -> Iterator[Fault]:
    missing: dict[tuple[str, str], int] = {}
    for row in database.rows("PRAGMA foreign_key_check"):
        missing[(row[0], row[2])] = missing.get((row[0], row[2]), 0) + 1
    for (table, parent), count in sorted(missing.items()):
        yield Fault(
            "references",
            f"{count} rows of {table} refer to missing rows of {parent}",
            "puts a stand-in where other rows tell enough of it, else lets the reference go",
        )


def _text_index(database: Database) -> Iterator[Fault]:
    if database.read_only:
        return
    try:
        with database.transaction():
            database.write("INSERT INTO nodes_fts (nodes_fts, rank) VALUES ('integrity-check', 1)")
    except DatabaseUnusable:
        yield Fault("text index", "the index of words does not agree with the memories", "builds it anew")


# Memories whose own span does not hold that of all their evidence, by which filters rule them out at once.
TOO_SHORT = """SELECT n.id FROM node_clips nc JOIN nodes n ON n.id = nc.node_id
    WHERE nc.start_utc_s < n.start_utc_s OR nc.end_utc_s > n.end_utc_s GROUP BY n.id"""


def _spans(database: Database) -> Iterator[Fault]:
    if count := len(database.rows(TOO_SHORT)):
        yield Fault(
            "times", f"{count} memories are shorter than what speaks for them", "lets them last as long"
        )


def dangling_tags(database: Database) -> dict[int, set[int]]:
    """For each line with tags that lead nowhere, or to a node of another kind: those ids."""
    kinds = {
        row["id"]: row["kind"]
        for row in database.rows("SELECT id, kind FROM nodes WHERE kind IN ('face', 'voice')")
    }
    found: dict[int, set[int]] = {}
    after = 0
    sql = """SELECT id, text FROM nodes WHERE id > ? AND (instr(text, '<face_') OR instr(text, '<voice_'))
        ORDER BY id LIMIT ?"""
    while rows := database.rows(sql, (after, _ROWS)):
        for row in rows:
            wrong = {tag.node_id for tag in find_tags(row["text"]) if kinds.get(tag.node_id) != tag.kind}
            if wrong:
                found[row["id"]] = wrong
        after = rows[-1]["id"]
    return found


def _tags(database: Database) -> Iterator[Fault]:
    for line_id, wrong in dangling_tags(database).items():
        ids = ", ".join(map(str, sorted(wrong)))
        yield Fault(
            "tags", f"memory {line_id} names faces or voices that are not there: {ids}", "tells of somebody"
        )


def _people(database: Database) -> Iterator[Fault]:
    for row in database.rows(
        """SELECT pn.node_id, pn.person_id, n.kind, p.merged_into FROM person_nodes pn
        JOIN nodes n ON n.id = pn.node_id JOIN persons p ON p.id = pn.person_id
        WHERE n.kind NOT IN ('face', 'voice') OR p.merged_into IS NOT NULL"""
    ):
        yield Fault(
            "people",
            f"the {row['kind']} {row['node_id']} belongs to person {row['person_id']}"
            + (
                ", who was merged into another"
                if row["merged_into"] is not None
                else ", but nobody can own one"
            ),
            "",
        )
    rows = database.rows(
        """WITH RECURSIVE up (id, now, steps) AS (SELECT id, merged_into, 1 FROM persons WHERE merged_into IS NOT NULL
        UNION ALL SELECT up.id, p.merged_into, steps + 1 FROM up JOIN persons p ON p.id = up.now
        WHERE p.merged_into IS NOT NULL AND steps < 1000) SELECT DISTINCT id FROM up WHERE steps >= 1000"""
    )
    for row in rows:
        yield Fault("people", f"person {row['id']} was merged in a circle", "")


def wrong_counts(database: Database) -> list[str]:
    """The tables of counts that do not agree with the rows they count."""
    return [
        table
        for table, (says, so) in COUNTS.items()
        if {tuple(row) for row in database.rows(says)} != {tuple(row) for row in database.rows(so)}
    ]


def _counts(database: Database) -> Iterator[Fault]:
    for table in wrong_counts(database):
        yield Fault("counts", f"{table} does not agree with the rows it counts", "counts them anew")


def _vectors(database: Database, spaces: Sequence[VectorSpace]) -> Iterator[Fault]:
    for space in spaces:
        after = 0
        sql = "SELECT id, vector FROM vectors WHERE space = ? AND model = ? AND id > ? ORDER BY id LIMIT ?"
        while rows := database.rows(sql, (space.name, space.model, after, _ROWS)):
            after = rows[-1]["id"]
            short = [row["id"] for row in rows if len(row["vector"]) != 4 * space.dimension]
            whole = [row for row in rows if len(row["vector"]) == 4 * space.dimension]
            lengths = np.linalg.norm(decoded(whole, space.dimension), axis=1)
            bad = [
                row["id"] for row, good in zip(whole, np.abs(lengths - 1.0) < 1e-3, strict=True) if not good
            ]
            for vector_id in sorted(short + bad):
                yield Fault("vectors", f"vector {vector_id} of {space.name} is not one of {space.model}", "")


def _media(database: Database, directory: Path) -> Iterator[Fault]:
    rows = database.rows(
        """SELECT id, json_extract(provenance, '$.file') AS file FROM nodes
        WHERE json_extract(provenance, '$.file.path') IS NOT NULL ORDER BY id"""
    )
    for row in rows:
        file = json.loads(row["file"])
        path = directory / file["path"]
        try:
            with open(path, "rb") as content:
                same = hashlib.file_digest(content, "sha256").hexdigest() == file["sha256"]
            if not same:
                yield Fault("media", f"{path} is not the file that memory {row['id']} names", "")
        except OSError as error:
            yield Fault("media", f"{path}, named by memory {row['id']}: {error.strerror}", "")


def _forgotten(database: Database, directory: Path) -> Iterator[Fault]:
    for stone in forgotten_again(database, directory):
        yield Fault(
            "forgotten", f"rows that were forgotten are here again ({stone.uuid[:8]})", "forgets them again"
        )


def forgotten_again(database: Database, directory: Path) -> list[tombstones.Tombstone]:
    """The forgettings of this memory of which a person, face, voice or line is there after all, oldest first."""
    own = database.row("SELECT uuid FROM memory_identity")
    stones = tombstones.beside(directory) | tombstones.in_database(database)
    found = []
    for stone in stones.values():
        if own is None or stone.memory != own["uuid"]:
            continue
        for table, ids in (("persons", stone.persons), ("nodes", stone.nodes)):
            sql = f"SELECT 1 FROM {table} WHERE id IN (SELECT value FROM json_each(?)) LIMIT 1"
            if database.row(sql, (json.dumps(ids),)) is not None:
                found.append(stone)
                break
    return sorted(found, key=lambda stone: stone.forgotten_utc_s)


def _vector_index(database: Database, file: IndexFile) -> Iterator[Fault]:
    """Each graph against the rows; what is in none is compared one by one, and what is gone is never believed."""
    repair = "builds it anew"
    for name in file.names():
        loaded = file.load(name, anew=True)
        if isinstance(loaded, str):
            yield Fault("vector index", loaded, repair)
            continue
        held = {int(vector_id): row for row, vector_id in enumerate(loaded.ids) if vector_id}
        if max(held, default=0) > _newest(database, file.space):
            yield Fault("vector index", f"{file.path(name)} is of another memory, or of a later time", repair)
            continue
        wrong, after = 0, min(held, default=1) - 1
        sql = "SELECT id, vector FROM vectors WHERE space = ? AND model = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?"
        bounds = (file.space.name, file.space.model)
        while rows := database.rows(sql, (*bounds, after, max(held, default=0), _ROWS)):
            after = rows[-1]["id"]
            both = [row for row in rows if row["id"] in held]
            if both:
                items = np.asarray(loaded.vectors[[held[row["id"]] for row in both]], np.float32)
                apart = np.abs(items - decoded(both, file.space.dimension)).max(axis=1)
                wrong += int((apart > 1e-6).sum())
        if wrong:
            yield Fault(
                "vector index", f"{file.path(name)} has {wrong} vectors other than the database", repair
            )


def _newest(database: Database, space: VectorSpace) -> int:
    """The newest id that was ever given in a space."""
    sql = "SELECT last_id FROM vector_counts WHERE space = ? AND model = ?"
    row = database.row(sql, (space.name, space.model))
    return 0 if row is None else int(row["last_id"])
