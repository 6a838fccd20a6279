"""Writing zip-format PyTorch checkpoints without PyTorch, for the tests of the conversions."""

import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EMPTY_ORDERED_DICT = b"ccollections\nOrderedDict\n)R"


def write_checkpoint(path: Path, weights: Mapping[str, NDArray[Any]], *, prologue: bytes = b"") -> None:
    """A state dict of float32 tensors as torch.save writes it; `prologue` goes before it in the pickle."""
    pickled = b"\x80\x02" + prologue + _EMPTY_ORDERED_DICT + b"("
    with zipfile.ZipFile(path, "w") as archive:
        for number, (name, values) in enumerate(weights.items()):
            array = np.ascontiguousarray(values, np.float32)
            pickled += _text(name) + _tensor(str(number), array)
            archive.writestr(f"toy/data/{number}", array.tobytes())
        archive.writestr("toy/data.pkl", pickled + b"u.")


def write_pickle(path: Path, pickled: bytes) -> None:
    """A checkpoint with the given pickle and no storages."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("toy/data.pkl", pickled)


def tensor_of(storage_values: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    """The pickle of one tensor over storage 0, whose numbers may be impossible."""
    return b"\x80\x02" + _rebuild("0", storage_values, shape, stride) + b"."


def _tensor(key: str, array: NDArray[Any]) -> bytes:
    stride = tuple(step // array.itemsize for step in array.strides)
    return _rebuild(key, array.size, array.shape, stride)


def _rebuild(key: str, values: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    storage = (
        b"(" + _text("storage") + b"ctorch\nFloatStorage\n" + _text(key) + _text("cpu") + _int(values) + b"tQ"
    )
    numbers = _int(0) + _ints(shape) + _ints(stride)
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + numbers + b"\x89" + _EMPTY_ORDERED_DICT + b"tR"


def _text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def _int(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def _ints(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(_int(value) for value in values) + b"t"
