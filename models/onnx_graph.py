"""A small writer of ONNX graphs, used by the conversions; the same weights always give the same bytes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Shape = Sequence[int | str]
OPSET = 20
IR_VERSION = 9
_MICROSOFT = "com.microsoft"


class GraphWriter:
    """Collects constants and nodes; every value is known by a name that the writer counts out in order."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._count = 0

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """Store an array under `name` (the first one stored under a name stays) and return the name."""
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def packed_int4(self, name: str, low_nibble_first: NDArray[np.uint8], shape: Sequence[int]) -> str:
        """Store two's-complement 4-bit values, two in a byte."""
        data = low_nibble_first.tobytes()
        self._constants[name] = helper.make_tensor(name, TensorProto.INT4, list(shape), data, raw=True)
        return name

    def integers(self, *values: int) -> str:
        """A one-dimensional int64 constant."""
        return self.constant("i_" + "_".join(str(value) for value in values), np.array(values, np.int64))

    def node(self, operator: str, inputs: Sequence[str], *, output: str = "", **attributes: Any) -> str:
        """Append a standard node with one output and return that output's name."""
        return self.nodes(operator, inputs, [output or self._fresh(operator)], **attributes)[0]

    def nodes(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        domain: str = "",
        **attributes: Any,
    ) -> list[str]:
        """Append a node of any domain with any number of outputs."""
        self._nodes.append(
            helper.make_node(operator, list(inputs), list(outputs), domain=domain or None, **attributes)
        )
        return list(outputs)

    def contrib(self, operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Append a node that onnxruntime adds to the standard (domain com.microsoft)."""
        return self.nodes(operator, inputs, [self._fresh(operator)], domain=_MICROSOFT, **attributes)[0]

    def _fresh(self, operator: str) -> str:
        self._count += 1
        return f"{operator.lower()}_{self._count}"

    def model(
        self, inputs: Mapping[str, tuple[type[np.generic], Shape]], outputs: Mapping[str, Shape]
    ) -> onnx.ModelProto:
        """The finished model; outputs are float32."""
        graph = helper.make_graph(
            self._nodes,
            self._name,
            [_value(name, kind, shape) for name, (kind, shape) in inputs.items()],
            [_value(name, np.float32, shape) for name, shape in outputs.items()],
            initializer=list(self._constants.values()),
        )
        opsets = [helper.make_opsetid("", OPSET)]
        if any(node.domain == _MICROSOFT for node in self._nodes):
            opsets.append(helper.make_opsetid(_MICROSOFT, 1))
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="hearsight"
        )


def _value(name: str, kind: type[np.generic], shape: Shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), list(shape))


def write_model(model: onnx.ModelProto, path: Path) -> None:
    """Write the model with its weights inside."""
    path.write_bytes(model.SerializeToString(deterministic=True))


def write_model_with_data(model: onnx.ModelProto, path: Path, *, at_least_bytes: int) -> None:
    """Write large tensors to `<path>.data`, which onnxruntime maps and does not copy, the rest to `path`."""
    data_path = path.with_name(path.name + ".data")
    page_bytes = 4096
    with data_path.open("wb") as data:
        for tensor in model.graph.initializer:
            if len(tensor.raw_data) < at_least_bytes:
                continue
            data.write(b"\0" * (-data.tell() % page_bytes))
            offset, length = data.tell(), len(tensor.raw_data)
            data.write(tensor.raw_data)
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (
                ("location", data_path.name),
                ("offset", str(offset)),
                ("length", str(length)),
            ):
                entry = tensor.external_data.add()
                entry.key, entry.value = key, value
    write_model(model, path)
