"""The files of one space's index: an hnswlib graph each, with a sidecar that says what it was built from."""

import fcntl
import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import hnswlib
import numpy as np
from numpy.typing import NDArray

from memory_store.records import Vector, VectorSpace

EF_CONSTRUCTION = 200
M = 16
# offsetLevel0, max_elements, count, bytes per element, label offset, data offset (hnswlib 0.8.0), and after them
# max_level, enterpoint, max_M, max_M0, M, mult, ef_construction
_HEADER = struct.Struct("<6Q")
_HEADER_END = struct.Struct("<iI3QdQ")
# What hnswlib's pickled state calls them; a graph is full, so that its size is its capacity.
_HEADER_KEYS = [
    "offset_level0",
    *["cur_element_count"] * 2,
    "size_data_per_element",
    "label_offset",
    "offset_data",
]
_HEADER_END_KEYS = ["max_level", "enterpoint_node", "max_M", "max_M0", "M", "mult", "ef_construction"]
_LABEL_BYTES = 8
_BLOCK_BYTES = 1 << 20

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Sidecar:
    """What a graph was built from; one that disagrees with the file or the database is not used.

    `duplicates` pairs the id of a vector with the id of the same vector that stands for it in the graph.
    """

    space: str
    dimension: int
    model: str
    count: int
    ef_construction: int
    m: int
    duplicates: list[list[int]]
    file_bytes: int
    crc32: int


@dataclass(frozen=True)
class StoredGraph:
    """A graph with its vectors (count, dimension) and their ids (0 where one was scrubbed), row by row.

    Without a name it is in no file; with one, `vectors` and `ids` are the mapped file.
    """

    graph: hnswlib.Index
    vectors: Vector
    ids: Ids
    duplicates: Ids  # (n, 2): an id, and the id that stands for it
    name: str | None


# The graphs of this process that are in a file as it now is: whoever opens the same memory takes them over. A graph
# is never changed; its width of search is set before each search, and a graph searched by two may use the other's.
_IN_MEMORY: WeakValueDictionary[tuple[int, ...], StoredGraph] = WeakValueDictionary()


@dataclass(frozen=True)
class IndexFile:
    """Where the graphs of one space are kept."""

    directory: Path
    space: VectorSpace

    def path(self, name: str) -> Path:
        """The file of hnswlib."""
        return self.directory / f"{name}.hnsw"

    def sidecar_path(self, name: str) -> Path:
        """The sidecar beside it."""
        return self.directory / f"{name}.json"

    def names(self) -> list[str]:
        """The graphs that have a sidecar."""
        return sorted(path.stem for path in self.directory.glob(f"{self.space.name}.*.json"))

    def save(self, stored: StoredGraph) -> StoredGraph:
        """Write both files, each whole or not at all, and return the graph as stored; raises OSError.

        Its memory is copied first, which holds the interpreter for 2 ms per 1,000 vectors; the rest does not.
        """
        name = f"{self.space.name}.{stored.ids.min()}-{stored.ids.max()}"
        with self._locked():
            part = self.directory / f"{name}.part"
            crc32 = _write_graph(stored.graph, part)
            self.sidecar_path(name).unlink(missing_ok=True)  # from here until the end there is no such graph
            os.replace(part, self.path(name))
            sidecar = Sidecar(
                space=self.space.name,
                dimension=self.space.dimension,
                model=self.space.model,
                count=len(stored.ids),
                ef_construction=EF_CONSTRUCTION,
                m=M,
                duplicates=stored.duplicates.tolist(),
                file_bytes=self.path(name).stat().st_size,
                crc32=crc32,
            )
            self._write_sidecar(name, sidecar)
        vectors, ids = self._mapped(name, sidecar)
        saved = replace(stored, vectors=vectors, ids=ids, name=name)
        _IN_MEMORY[_state(self.path(name))] = saved
        return saved

    def load(self, name: str, *, anew: bool = False) -> StoredGraph | str:
        """The graph, or why it is not to be used. hnswlib itself checks nothing.

        anew: read the file although its graph may be in memory.
        """
        sidecar = self._read_sidecar(name)
        if isinstance(sidecar, str):
            return sidecar
        path = self.path(name)
        try:
            if path.stat().st_size != sidecar.file_bytes:
                return f"{path} has not the {sidecar.file_bytes} bytes of its sidecar"
            with open(path, "rb") as file:
                header = file.read(_HEADER.size)
            state = _state(path)
            shared = None if anew else _IN_MEMORY.get(state)
            if shared is not None and len(shared.ids) == sidecar.count:
                return shared
            if len(header) < _HEADER.size or _crc32(path) != sidecar.crc32:
                return f"{path} is damaged: its checksum is not that of its sidecar"
        except OSError as error:
            return f"{path} cannot be read ({error.strerror})"
        _, _, count, element_bytes, label_offset, data_offset = _HEADER.unpack(header)
        vector_bytes = 4 * sidecar.dimension
        if label_offset - data_offset != vector_bytes or element_bytes != label_offset + _LABEL_BYTES:
            return f"{path} holds vectors of another dimension than {sidecar.dimension}"
        if _HEADER.size + _HEADER_END.size + count * element_bytes > sidecar.file_bytes:
            return f"{path} is shorter than the {count} vectors its header speaks of"
        if count != sidecar.count:
            return f"{path} holds {count} vectors, its sidecar says {sidecar.count}"
        graph = hnswlib.Index(space="ip", dim=sidecar.dimension)
        try:
            graph.load_index(str(path), max_elements=count)
        except RuntimeError as error:
            return f"{path} is refused by hnswlib ({error})"
        vectors, ids = self._mapped(name, sidecar)
        stored = StoredGraph(graph, vectors, ids, _pairs(sidecar.duplicates), name)
        _IN_MEMORY.setdefault(state, stored)
        return stored

    def scrub(self, name: str, rows: Ids, duplicates: Ids) -> None:
        """Overwrite some rows with zeros, and set what duplicates remain; raises OSError."""
        sidecar = self._read_sidecar(name)
        if isinstance(sidecar, str):
            raise FileNotFoundError(sidecar)
        with self._locked(), open(self.path(name), "rb+") as file:
            self.sidecar_path(name).unlink()
            _, _, _, element_bytes, _, data_offset = _HEADER.unpack(file.read(_HEADER.size))
            for row in rows.tolist():
                file.seek(_HEADER.size + _HEADER_END.size + row * element_bytes + data_offset)
                file.write(bytes(4 * sidecar.dimension + _LABEL_BYTES))
            file.flush()
            os.fsync(file.fileno())
            crc32 = _crc32(self.path(name))
            self._write_sidecar(name, replace(sidecar, duplicates=duplicates.tolist(), crc32=crc32))

    def remove(self, name: str) -> None:
        """Delete both files; raises OSError."""
        self.sidecar_path(name).unlink(missing_ok=True)
        self.path(name).unlink(missing_ok=True)

    def clean(self, names: Sequence[str]) -> None:
        """Delete some graphs, and the files of the space that belong to none; raises OSError."""
        if not self.directory.is_dir():
            return
        with self._locked():
            for name in names:
                self.remove(name)
            kept = set(self.names())
            for path in self.directory.glob(f"{self.space.name}.*"):
                if path.suffix != ".lock" and (path.stem not in kept or path.suffix == ".part"):
                    path.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone among processes and threads."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / f"{self.space.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _mapped(self, name: str, sidecar: Sidecar) -> tuple[Vector, Ids]:
        with open(self.path(name), "rb") as file:
            _, _, _, element_bytes, label_offset, data_offset = _HEADER.unpack(file.read(_HEADER.size))
        record = np.dtype(
            {
                "names": ["vector", "id"],
                "formats": [("<f4", (sidecar.dimension,)), "<i8"],
                "offsets": [data_offset, label_offset],
                "itemsize": element_bytes,
            }
        )
        mapped = np.memmap(
            self.path(name), record, "r", offset=_HEADER.size + _HEADER_END.size, shape=(sidecar.count,)
        )
        rows: NDArray[Any] = np.asarray(mapped)
        return rows["vector"], rows["id"]

    def _write_sidecar(self, name: str, sidecar: Sidecar) -> None:
        part = self.directory / f"{name}.json.part"
        part.write_text(json.dumps(asdict(sidecar), indent=1))
        os.replace(part, self.sidecar_path(name))

    def _read_sidecar(self, name: str) -> Sidecar | str:
        path = self.sidecar_path(name)
        try:
            sidecar = Sidecar(**json.loads(path.read_text()))
            _pairs(sidecar.duplicates)
        except FileNotFoundError:
            return f"{path} does not exist"
        except (OSError, TypeError, ValueError) as error:
            return f"{path} cannot be read ({error})"
        expected = (self.space.name, self.space.dimension, self.space.model, M, EF_CONSTRUCTION)
        found = (sidecar.space, sidecar.dimension, sidecar.model, sidecar.m, sidecar.ef_construction)
        if found != expected:
            return f"{path} is about {found}, wanted is {expected}"
        return sidecar


def new_graph(space: VectorSpace, capacity: int) -> hnswlib.Index:
    """An empty graph for a space; inner product of vectors of length 1 is their cosine."""
    graph = hnswlib.Index(space="ip", dim=space.dimension)
    graph.init_index(max_elements=capacity, ef_construction=EF_CONSTRUCTION, M=M, random_seed=1)
    return graph


def _write_graph(graph: hnswlib.Index, path: Path) -> int:
    """Write what hnswlib's `saveIndex` writes, which would hold the interpreter all the while; its CRC32."""
    state = graph.__getstate__()
    state = state[0] if isinstance(state, tuple) else state
    levels, link_bytes = state["element_levels"], state["size_links_per_element"]
    head = _HEADER.pack(*(state[key] for key in _HEADER_KEYS))
    head += _HEADER_END.pack(*(state[key] for key in _HEADER_END_KEYS))
    links, at, tail = state["link_lists"].tobytes(), 0, bytearray()
    for level in levels.tolist():
        size = level * link_bytes
        tail += size.to_bytes(4, "little") + links[at : at + size]
        at += size
    crc32 = 0
    with open(path, "wb") as file:
        for data in (head, memoryview(state["data_level0"]).cast("B"), tail):
            for start in range(0, len(data), _BLOCK_BYTES):
                block = data[start : start + _BLOCK_BYTES]
                crc32 = zlib.crc32(block, crc32)
                file.write(block)
        file.flush()
        os.fsync(file.fileno())
    return crc32


def _state(path: Path) -> tuple[int, ...]:
    """What tells one content of a file from another."""
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _pairs(values: list[list[int]]) -> Ids:
    return np.array(values, np.int64).reshape(-1, 2)


def _crc32(path: Path) -> int:
    value = 0
    with open(path, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            value = zlib.crc32(block, value)
    return value
