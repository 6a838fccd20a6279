"""A memory of many nodes with lines of text and vectors, written at once, and what opening it costs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_store import MemoryStore, VectorSpace
from memory_store.database import Database
from memory_store.index import SpaceIndex
from memory_store.index_file import IndexFile

START_UTC_S = 1_700_000_000.0
CLIP_S = 30.0
NODES_A_CLIP = 10
_CHUNK = 20_000

# fmt: off
_PEOPLE = (
    "Anna", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Hugo", "Ida", "Jonas", "Klara", "Leo",
)
_VERBS = (
    "puts", "takes", "leaves", "finds", "washes", "drops", "hides", "moves", "brings", "carries",
    "opens", "breaks", "wants", "likes",
)
_COLOURS = (
    "red", "blue", "green", "yellow", "black", "white", "grey", "brown", "orange", "silver", "striped",
    "wooden",
)
_THINGS = (
    "cup", "plate", "keys", "phone", "book", "lamp", "basket", "bottle", "jacket", "umbrella", "remote",
    "charger", "towel", "blanket", "scissors", "wallet", "laptop", "glasses", "medicine", "newspaper",
    "bread", "apple", "kettle", "vacuum", "bucket", "hammer", "guitar", "camera", "pillow", "backpack",
    "toy", "candle", "envelope", "notebook", "battery", "screwdriver", "thermos", "helmet", "slippers",
    "ladder",
)
_PLACES = (
    "kitchen", "hallway", "bathroom", "bedroom", "balcony", "garage", "cellar", "garden", "office",
    "nursery", "attic", "pantry", "staircase", "terrace", "workshop",
)
# fmt: on


@dataclass(frozen=True)
class Opened:
    """What opening a memory and asking it once took, in a process of its own."""

    open_s: float
    first_search_s: float
    anonymous_mib: float  # memory of its own, beyond what the imports take
    mapped_mib: float  # pages of files, which the system may drop
    second_mib: float  # memory of its own that a second connection of the process takes


def line(number: int) -> str:
    """The text of a node; which words it has depends on the number alone."""
    person, verb, colour, thing, place = (
        _word(words, number) for words in (_PEOPLE, _VERBS, _COLOURS, _THINGS, _PLACES)
    )
    return f"{person} {verb} the {colour} {thing} in the {place} and talks about item {number % 977}"


def question(number: int) -> str:
    """Words to look for: a thing, its colour and a place."""
    colour, thing, place = (_word(words, 1_000_000_007 + number) for words in (_COLOURS, _THINGS, _PLACES))
    return f"where is the {colour} {thing}, is it in the {place}?"


def _word(words: Sequence[str], number: int) -> str:
    """A word by chance; the first ones come up most."""
    chance = zlib.crc32(f"{words[0]} {number}".encode()) / 2**32
    return words[int(len(words) * chance**1.5)]


def fill(directory: Path, space: VectorSpace, vectors: NDArray[np.float32]) -> None:
    """Write a node for each vector, ten a clip; the last two are the only images, the others episodic."""
    database = Database.open(directory / "memory.db")
    for first in range(0, len(vectors), _CHUNK):
        with database.transaction():
            for i in range(first, min(first + _CHUNK, len(vectors))):
                kind = "image" if i >= len(vectors) - 2 else "episodic"
                _fill_node(database, space, i, kind, vectors[i])
    database.close()


def _fill_node(
    database: Database, space: VectorSpace, i: int, kind: str, vector: NDArray[np.float32]
) -> None:
    """Rows as the memory writes them, but without its checks."""
    clip, (start_utc_s, end_utc_s) = i // NODES_A_CLIP, _span(i // NODES_A_CLIP)
    if i % NODES_A_CLIP == 0:
        database.write(
            """INSERT INTO clips (source_key, source_name, boot_id, media_start_s, media_end_s, start_utc_s, end_utc_s,
            time_known, place, has_video, has_audio, dropped_frames, audio_gap_s, state)
            VALUES (?, 'bench', '', 0, 30, ?, ?, 1, '', 1, 1, 0, 0, 'described')""",
            (f"bench:{clip}", start_utc_s, end_utc_s),
        )
    database.write(
        """INSERT INTO nodes (id, kind, text, clip_id, start_utc_s, end_utc_s, first_seen_utc_s, last_seen_utc_s,
        provenance) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?5, ?6, ?7)""",
        (
            i + 1,
            kind,
            line(i),
            clip + 1,
            start_utc_s,
            end_utc_s,
            '{"event": "heard"}' if i % 3 == 0 else "{}",
        ),
    )
    database.write(
        "INSERT INTO node_clips (node_id, clip_id, weight, start_utc_s, end_utc_s) VALUES (?, ?, 1, ?, ?)",
        (i + 1, clip + 1, start_utc_s, end_utc_s),
    )
    database.write(
        "INSERT INTO vectors (space, model, node_id, clip_id, exemplar, vector) VALUES (?, ?, ?, ?, 0, ?)",
        (space.name, space.model, i + 1, clip + 1, vector.astype("<f4").tobytes()),
    )


def opened(directory: Path, space: VectorSpace) -> tuple[MemoryStore, SpaceIndex]:
    """The memory, and its index."""
    database = Database.open(directory / "memory.db")
    index = SpaceIndex(database, space, IndexFile(directory / "index", space))
    return MemoryStore(database, [space], {space.name: index}), index


def opening(directory: Path, space: VectorSpace, query: NDArray[np.float32]) -> Opened:
    """Open the memory in another process and ask it once."""
    command = [
        sys.executable,
        "-m",
        "offline_tools.bench.index_memory",
        str(directory),
        *map(str, _values(space)),
    ]
    done = subprocess.run(
        command, input=json.dumps(query.tolist()), capture_output=True, text=True, check=True
    )
    return Opened(**json.loads(done.stdout))


def _span(clip: int) -> tuple[float, float]:
    return START_UTC_S + CLIP_S * clip, START_UTC_S + CLIP_S * (clip + 1)


def _values(space: VectorSpace) -> tuple[str, int, str]:
    return space.name, space.dimension, space.model


def _memory_mib() -> tuple[float, float]:
    fields = dict(
        line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    )
    anonymous, mapped = (int(fields[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile"))
    return anonymous, mapped


def _open_and_ask(directory: Path, name: str, dimension: int, model: str, query: list[float]) -> Opened:
    before = _memory_mib()
    start_s = time.perf_counter()
    space = VectorSpace(name, dimension, model)
    store, _ = opened(directory, space)
    open_s = time.perf_counter() - start_s
    with store:
        assert store.search_node(vector=query, k=10, threshold=-1.0)
        first_search_s = time.perf_counter() - start_s - open_s
        after = _memory_mib()
        with opened(directory, space)[0] as second:
            assert second.search_node(vector=query, k=10, threshold=-1.0)
            second_mib = _memory_mib()[0] - after[0]
    return Opened(open_s, first_search_s, after[0] - before[0], after[1] - before[1], second_mib)


if __name__ == "__main__":
    values = sys.argv
    asked = json.loads(sys.stdin.read())
    print(json.dumps(asdict(_open_and_ask(Path(values[1]), values[2], int(values[3]), values[4], asked))))
