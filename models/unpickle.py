"""Reading the tensors of a PyTorch checkpoint without PyTorch: a zip holding a pickle and raw arrays.

Only the handful of names a state dict needs can be resolved; any other global in the pickle is refused, so a
file from a stranger cannot run code.
"""

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError

Array = NDArray[Any]

# what a pickle with senseless contents can raise while it is read
_PICKLE_ERRORS = (
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    LookupError,
    EOFError,
    OSError,
    TypeError,
    ValueError,
    AttributeError,
)


@dataclass(frozen=True)
class _Storage:
    """A storage class named in the pickle, known only by its element type."""

    dtype: str


_STORAGES = {
    "DoubleStorage": _Storage("<f8"),
    "FloatStorage": _Storage("<f4"),
    "HalfStorage": _Storage("<f2"),
    "LongStorage": _Storage("<i8"),
    "IntStorage": _Storage("<i4"),
    "ShortStorage": _Storage("<i2"),
    "CharStorage": _Storage("<i1"),
    "ByteStorage": _Storage("<u1"),
    "BoolStorage": _Storage("?"),
}


def _rebuild_tensor(
    storage: Array, offset: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: object
) -> Array:
    """A copied array from a flat storage; sizes and strides count elements, as torch writes them."""
    reach = offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True)) + 1
    bad = offset < 0 or any(step < 0 for step in stride) or math.prod(shape) > storage.size
    if bad or (0 not in shape and reach > storage.size):
        raise pickle.UnpicklingError(
            f"a tensor of shape {shape} does not fit its {storage.size} stored values"
        )
    view = np.lib.stride_tricks.as_strided(
        storage[offset:], shape=shape, strides=tuple(step * storage.itemsize for step in stride)
    )
    return np.array(view)


class _StateDictUnpickler(pickle.Unpickler):
    """Resolves state-dict names only; storages come from the members of the surrounding zip."""

    def __init__(self, data: bytes, read_storage: Callable[[str], bytes]) -> None:
        super().__init__(io.BytesIO(data))
        self._read_storage = read_storage

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuild_tensor
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise pickle.UnpicklingError(
            f"the checkpoint asks for {module}.{name}, which a state dict never needs"
        )

    def persistent_load(self, pid: Any) -> Array:
        if not (
            isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage" and isinstance(pid[1], _Storage)
        ):
            raise pickle.UnpicklingError(f"unknown reference {pid!r}")
        _, storage, key, _, count = pid
        values = np.frombuffer(self._read_storage(str(key)), dtype=storage.dtype)
        if values.size < count:
            raise pickle.UnpicklingError(f"storage {key} holds {values.size} of {count} values")
        return cast(Array, values[:count])


def read_checkpoint(path: Path) -> Any:
    """The pickled object of a zip-format checkpoint, its tensors as numpy arrays.

    Raises ModelError where the file is no such zip, is damaged, or names anything outside a state dict.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            pickles = [
                name for name in archive.namelist() if name.count("/") == 1 and name.endswith("/data.pkl")
            ]
            if len(pickles) != 1:
                raise ModelError(f"{path} is no PyTorch checkpoint: it holds {len(pickles)} data.pkl members")
            folder = pickles[0].removesuffix("data.pkl")
            unpickler = _StateDictUnpickler(
                archive.read(pickles[0]), lambda key: archive.read(f"{folder}data/{key}")
            )
            return unpickler.load()
    except _PICKLE_ERRORS as error:
        raise ModelError(f"cannot read the checkpoint {path}: {error}") from error


def state_dict(checkpoint: Any, path: Path) -> dict[str, Array]:
    """The mapping of parameter name to array in `checkpoint`, perhaps under a key 'state_dict'."""
    if isinstance(checkpoint, dict) and isinstance(checkpoint.get("state_dict"), dict):
        checkpoint = checkpoint["state_dict"]
    if not isinstance(checkpoint, dict):
        raise ModelError(f"{path} holds a {type(checkpoint).__name__}, not a state dict")
    return {str(name): value for name, value in checkpoint.items() if isinstance(value, np.ndarray)}
