"""One place that opens an ONNX file with onnxruntime: threads, memory, execution provider, named errors.

What goes in and what the outputs mean is left to the module that owns the model.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
import onnxruntime
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from models.errors import ModelError

log = logging.getLogger(__name__)

Accelerator = Literal["cpu", "cuda", "tensorrt"]
Array = NDArray[Any]

_PROVIDERS: dict[Accelerator, tuple[str, ...]] = {
    "cpu": ("CPUExecutionProvider",),
    "cuda": ("CUDAExecutionProvider", "CPUExecutionProvider"),
    "tensorrt": ("TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"),
}
_ONNXRUNTIME_ERRORS = (
    ort_errors.EPFail,
    ort_errors.Fail,
    ort_errors.InvalidArgument,
    ort_errors.InvalidGraph,
    ort_errors.InvalidProtobuf,
    ort_errors.NoSuchFile,
    ort_errors.NotImplemented,
    ort_errors.RuntimeException,
    RuntimeError,
    ValueError,
)


class Session:
    """An opened ONNX model; `provider` says where it really runs ("CPUExecutionProvider", ...)."""

    def __init__(self, path: Path, session: onnxruntime.InferenceSession) -> None:
        self.path = path
        self.provider: str = session.get_providers()[0]
        self.input_names: tuple[str, ...] = tuple(item.name for item in session.get_inputs())
        self.output_names: tuple[str, ...] = tuple(item.name for item in session.get_outputs())
        self._session = session

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """All outputs by name. Raises ModelError where onnxruntime refuses the input or fails."""
        try:
            outputs: list[Array] = self._session.run(None, dict(feeds))
        except _ONNXRUNTIME_ERRORS as error:
            shapes = {name: value.shape for name, value in feeds.items()}
            raise ModelError(f"{self.path.name} failed on inputs {shapes}: {str(error).strip()}") from error
        return dict(zip(self.output_names, outputs, strict=True))


def open_session(
    path: Path,
    *,
    threads: int = 1,
    accelerator: Accelerator = "cpu",
    input_shapes: Mapping[str, Sequence[int | str]] | None = None,
) -> Session:
    """Open an ONNX file.

    `input_shapes` replaces the fixed shapes of named inputs; a name in place of a size leaves it free.
    Weights that an old exporter also listed as inputs are then made constant, so that batch norms fold in.
    Raises ModelError when the file is missing or damaged.
    """
    if threads < 1:
        raise ModelError(f"threads is {threads} for {path.name}; give at least 1")
    if not path.is_file():
        raise ModelError(f"model file {path} is missing; run `hearsight models fetch`")
    source = str(path) if input_shapes is None else _reshaped(path, input_shapes)
    wanted = _PROVIDERS[accelerator]
    present = onnxruntime.get_available_providers()
    try:
        session = onnxruntime.InferenceSession(
            source, _options(threads), providers=[provider for provider in wanted if provider in present]
        )
    except _ONNXRUNTIME_ERRORS as error:
        raise ModelError(
            f"model file {path} cannot be opened ({str(error).strip()}); run `hearsight models verify` to check it"
        ) from error
    opened = Session(path, session)
    if opened.provider != wanted[0]:
        log.warning("%s runs on %s: %s was asked for and is not there", path.name, opened.provider, wanted[0])
    return opened


def _options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = False  # the arena keeps the largest input's buffers for ever
    options.enable_mem_pattern = False  # patterns are kept per input shape, and shapes vary here
    options.add_session_config_entry(
        "session.intra_op.allow_spinning", "0"
    )  # idle threads must not burn a core
    return options


def _reshaped(path: Path, input_shapes: Mapping[str, Sequence[int | str]]) -> bytes:
    try:
        model = onnx.load(str(path))
    except DecodeError as error:
        raise ModelError(
            f"model file {path} is damaged ({error}); run `hearsight models verify` to check it"
        ) from error
    graph = model.graph
    weights = {item.name for item in graph.initializer}
    inputs = [item for item in graph.input if item.name not in weights]
    for item in inputs:
        if item.name in input_shapes:
            _set_shape(item, input_shapes[item.name])
    for item in graph.output:
        item.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    del graph.input[:]
    graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 4)  # from version 4 on, weights need not be inputs
    serialized: bytes = model.SerializeToString()
    return serialized


def _set_shape(value: onnx.ValueInfoProto, sizes: Sequence[int | str]) -> None:
    shape = value.type.tensor_type.shape
    del shape.dim[:]
    for size in sizes:
        if isinstance(size, int):
            shape.dim.add().dim_value = size
        else:
            shape.dim.add().dim_param = size


def normalised(vectors: Array, model: str) -> NDArray[np.float32]:
    """Rows scaled to length 1. Raises ModelError naming the model for a row that is zero or not finite."""
    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or np.any(lengths == 0):
        raise ModelError(
            f"{model} gave a vector of length zero or not finite; check the input and the model file"
        )
    scaled: NDArray[np.float32] = rows / lengths
    return scaled
