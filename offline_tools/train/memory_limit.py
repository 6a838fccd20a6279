"""Running out of memory, on a GPU or on the machine, told apart from other failures of a library."""

from __future__ import annotations

_SIGNS = (
    "out of memory",
    "not enough memory",
    "can't allocate memory",
    "cannot allocate memory",
    "bad_alloc",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch, CUDA or Python could not get memory."""
    return isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in _SIGNS)
