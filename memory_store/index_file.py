"""An hnswlib index on disk with the sidecar that says what it was built from; nothing in it is trusted."""

import fcntl
import json
import os
import struct
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

import hnswlib

from memory_store.records import VectorSpace

EF_CONSTRUCTION = 200
M = 16
EF_SEARCH = 128
# offsetLevel0, max_elements, count, bytes per element, label offset, data offset (hnswlib 0.8.0)
_HEADER = struct.Struct("<6Q")
_LABEL_BYTES = 8


@dataclass(frozen=True)
class Sidecar:
    """What an index file was built from; one that disagrees with the file or the database is rebuilt."""

    space: str
    dimension: int
    model: str
    count: int
    last_vector_id: int
    ef: int
    ef_construction: int
    m: int
    file_bytes: int
    crc32: int


@dataclass(frozen=True)
class IndexFile:
    """Where the index of one space is kept."""

    directory: Path
    space: VectorSpace

    @property
    def path(self) -> Path:
        """The file of hnswlib."""
        return self.directory / f"{self.space.name}.hnsw"

    @property
    def sidecar_path(self) -> Path:
        """The sidecar beside it."""
        return self.directory / f"{self.space.name}.json"

    def save(self, index: hnswlib.Index, last_vector_id: int) -> bool:
        """Write both files, each whole or not at all; False where another process is just doing it.

        Raises OSError.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / f"{self.space.name}.lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            part = self.path.with_suffix(".part")
            self._write(index, part)
            self.sidecar_path.unlink(missing_ok=True)  # from here until the end there is no index
            os.replace(part, self.path)
            sidecar = Sidecar(
                space=self.space.name,
                dimension=self.space.dimension,
                model=self.space.model,
                count=index.get_current_count(),
                last_vector_id=last_vector_id,
                ef=EF_SEARCH,
                ef_construction=EF_CONSTRUCTION,
                m=M,
                file_bytes=self.path.stat().st_size,
                crc32=_crc32(self.path),
            )
            part = self.sidecar_path.with_suffix(".json.part")
            part.write_text(json.dumps(asdict(sidecar), indent=1))
            os.replace(part, self.sidecar_path)
        return True

    def remove(self) -> None:
        """Delete both files; raises OSError."""
        self.sidecar_path.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def load(self) -> tuple[hnswlib.Index, Sidecar] | str:
        """The index and its sidecar, or why there is none to use. hnswlib itself checks nothing."""
        sidecar = self._read_sidecar()
        if isinstance(sidecar, str):
            return sidecar
        try:
            if self.path.stat().st_size != sidecar.file_bytes:
                return f"{self.path} has not the {sidecar.file_bytes} bytes of its sidecar"
            with open(self.path, "rb") as file:
                header = file.read(_HEADER.size)
            if len(header) < _HEADER.size or _crc32(self.path) != sidecar.crc32:
                return f"{self.path} is damaged: its checksum is not that of its sidecar"
        except OSError as error:
            return f"{self.path} cannot be read ({error.strerror})"
        _, _, count, element_bytes, label_offset, data_offset = _HEADER.unpack(header)
        vector_bytes = 4 * sidecar.dimension
        if label_offset - data_offset != vector_bytes or element_bytes != label_offset + _LABEL_BYTES:
            return f"{self.path} holds vectors of another dimension than {sidecar.dimension}"
        if count != sidecar.count:
            return f"{self.path} holds {count} vectors, its sidecar says {sidecar.count}"
        index = hnswlib.Index(space="ip", dim=sidecar.dimension)
        try:
            index.load_index(str(self.path), max_elements=max(2 * count, 1024))
        except RuntimeError as error:
            return f"{self.path} is refused by hnswlib ({error})"
        index.set_ef(EF_SEARCH)  # loading resets it to 10
        return index, sidecar

    def _write(self, index: hnswlib.Index, part: Path) -> None:
        try:
            index.save_index(str(part))
        except RuntimeError as error:
            raise OSError(f"{part} cannot be written: {error}") from error
        with open(part, "rb+") as file:
            os.fsync(file.fileno())

    def _read_sidecar(self) -> Sidecar | str:
        try:
            sidecar = Sidecar(**json.loads(self.sidecar_path.read_text()))
        except FileNotFoundError:
            return f"{self.sidecar_path} does not exist"
        except (OSError, TypeError, ValueError) as error:
            return f"{self.sidecar_path} cannot be read ({error})"
        expected = (self.space.name, self.space.dimension, self.space.model, M, EF_CONSTRUCTION)
        found = (sidecar.space, sidecar.dimension, sidecar.model, sidecar.m, sidecar.ef_construction)
        if found != expected:
            return f"{self.sidecar_path} is about {found}, wanted is {expected}"
        return sidecar


def new_index(space: VectorSpace, capacity: int) -> hnswlib.Index:
    """An empty index for a space; inner product of vectors of length 1 is their cosine."""
    index = hnswlib.Index(space="ip", dim=space.dimension)
    index.init_index(max_elements=max(capacity, 1024), ef_construction=EF_CONSTRUCTION, M=M, random_seed=1)
    index.set_ef(EF_SEARCH)
    return index


def _crc32(path: Path) -> int:
    value = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            value = zlib.crc32(block, value)
    return value
