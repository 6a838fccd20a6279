"""CAM++ speaker embedding (Wang et al. 2023, arXiv 2303.00332): checkpoint to ONNX, once, when fetched.

The carrier's network ends in a ReLU after the last batch norm. It is left out here, as in the published
model: with it the equal error rate more than doubles.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError
from models.onnx_graph import GraphWriter, write_model
from models.unpickle import Array, read_checkpoint, state_dict

_MEL_BANDS = 80
_NORM_EPSILON = 1e-5
_SEGMENT_FRAMES = 100
# kernel and dilation of the convolutions in each dense block; the number of layers is read from the weights
_BLOCKS = ((3, 1), (3, 2), (3, 2))


def convert(source: Path, target: Path) -> None:
    """Read the checkpoint at `source`, write ONNX to `target`.

    Input "features" (batch, frames, 80) float32; output "embedding" (batch, 192), not normalised.
    Raises ModelError where a weight is missing.
    """
    weights = state_dict(read_checkpoint(source), source)
    try:
        network = _Campplus(weights)
        width = network.write("features", "embedding")
    except KeyError as error:
        raise ModelError(f"{source} is no CAM++ checkpoint: it lacks the weight {error}") from error
    model = network.graph.model(
        {"features": (np.float32, ("batch", "frames", _MEL_BANDS))}, {"embedding": ("batch", width)}
    )
    write_model(model, target)


class _Campplus:
    """Writes the network layer by layer; a batch norm is folded into the convolution before it."""

    def __init__(self, weights: dict[str, Array]) -> None:
        self.graph = GraphWriter("campplus")
        self._weights = weights

    def write(self, features: str, embedding: str) -> int:
        graph = self.graph
        image = graph.node("Transpose", [features], perm=[0, 2, 1])
        image = graph.node("Unsqueeze", [image, graph.integers(1)])
        x = self._front(image)
        x = self._conv(
            "xvector.tdnn.linear", x, norm="xvector.tdnn.nonlinear.batchnorm", strides=[2], pads=[2, 2]
        )
        x = graph.node("Relu", [x])
        segment_of_frame = self._segment_of_frame(x)
        for number, (kernel, dilation) in enumerate(_BLOCKS, start=1):
            x = self._dense_block(f"xvector.block{number}", x, segment_of_frame, kernel, dilation)
            x = self._norm_relu(f"xvector.transit{number}.nonlinear.batchnorm", x)
            x = self._conv(f"xvector.transit{number}.linear", x)
        x = self._norm_relu("xvector.out_nonlinear.batchnorm", x)
        x = self._conv("xvector.dense.linear", self._statistics(x), norm="xvector.dense.nonlinear.batchnorm")
        graph.node("Squeeze", [x, graph.integers(2)], output=embedding)
        return int(self._weights["xvector.dense.linear.weight"].shape[0])

    def _front(self, image: str) -> str:
        """Two-dimensional residual front end; frequency is halved three times, time never."""
        graph = self.graph
        x = graph.node("Relu", [self._conv("head.conv1", image, norm="head.bn1", pads=[1] * 4)])
        for layer in ("head.layer1", "head.layer2"):
            for block, stride in (("0", 2), ("1", 1)):
                x = self._residual(f"{layer}.{block}", x, stride)
        x = self._conv("head.conv2", x, norm="head.bn2", strides=[2, 1], pads=[1] * 4)
        x = graph.node("Relu", [x])
        channels = self._weights["head.conv2.weight"].shape[0] * (_MEL_BANDS // 8)
        return graph.node("Reshape", [x, graph.integers(0, channels, -1)])

    def _residual(self, name: str, x: str, stride: int) -> str:
        graph = self.graph
        shortcut = x
        out = self._conv(f"{name}.conv1", x, norm=f"{name}.bn1", strides=[stride, 1], pads=[1] * 4)
        out = self._conv(f"{name}.conv2", graph.node("Relu", [out]), norm=f"{name}.bn2", pads=[1] * 4)
        if f"{name}.shortcut.0.weight" in self._weights:
            shortcut = self._conv(f"{name}.shortcut.0", x, norm=f"{name}.shortcut.1", strides=[stride, 1])
        return graph.node("Relu", [graph.node("Add", [out, shortcut])])

    def _dense_block(self, name: str, x: str, segment_of_frame: str, kernel: int, dilation: int) -> str:
        layer = 1
        while f"{name}.tdnnd{layer}.linear1.weight" in self._weights:
            added = self._dense_layer(f"{name}.tdnnd{layer}", x, segment_of_frame, kernel, dilation)
            x = self.graph.node("Concat", [x, added], axis=1)
            layer += 1
        if layer == 1:
            raise KeyError(f"{name}.tdnnd1.linear1.weight")
        return x

    def _dense_layer(self, name: str, x: str, segment_of_frame: str, kernel: int, dilation: int) -> str:
        """A dense layer with context-aware masking; the mask is one for all frames of a segment."""
        graph, pad = self.graph, (kernel - 1) // 2 * dilation
        x = self._norm_relu(f"{name}.nonlinear1.batchnorm", x)
        x = graph.node("Relu", [self._conv(f"{name}.linear1", x, norm=f"{name}.nonlinear2.batchnorm")])
        local = self._conv(f"{name}.cam_layer.linear_local", x, dilations=[dilation], pads=[pad, pad])
        segments = graph.node(
            "AveragePool", [x], kernel_shape=[_SEGMENT_FRAMES], strides=[_SEGMENT_FRAMES], ceil_mode=1
        )
        context = graph.node("Add", [graph.node("ReduceMean", [x, graph.integers(2)]), segments])
        mask = graph.node("Relu", [self._conv(f"{name}.cam_layer.linear1", context)])
        mask = graph.node("Sigmoid", [self._conv(f"{name}.cam_layer.linear2", mask)])
        return graph.node("Mul", [local, graph.node("Gather", [mask, segment_of_frame], axis=2)])

    def _segment_of_frame(self, x: str) -> str:
        """The number of the 100-frame segment each frame lies in, (frames,) int64."""
        graph = self.graph
        frames = graph.node("Squeeze", [graph.node("Shape", [x], start=2, end=3)])
        zero, one = (graph.constant(f"scalar_{value}", np.array(value, np.int64)) for value in (0, 1))
        numbers = graph.node("Range", [zero, frames, one])
        return graph.node("Div", [numbers, graph.integers(_SEGMENT_FRAMES)])

    def _statistics(self, x: str) -> str:
        """Mean and unbiased standard deviation over time, (batch, 2 · channels, 1)."""
        graph, time = self.graph, self.graph.integers(2)
        mean = graph.node("ReduceMean", [x, time])
        centred = graph.node("Sub", [x, mean])
        squares = graph.node("ReduceSum", [graph.node("Mul", [centred, centred]), time])
        count = graph.node("Cast", [graph.node("Shape", [x], start=2, end=3)], to=1)
        one = graph.constant("one", np.array([1.0], np.float32))
        less_one = graph.node("Max", [graph.node("Sub", [count, one]), one])
        deviation = graph.node("Sqrt", [graph.node("Div", [squares, less_one])])
        return graph.node("Concat", [mean, deviation], axis=1)

    def _scale_shift(self, norm: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        get = self._weights
        scale = 1.0 / np.sqrt(get[f"{norm}.running_var"].astype(np.float64) + _NORM_EPSILON)
        scale = scale * get.get(f"{norm}.weight", np.ones_like(scale))
        shift = get.get(f"{norm}.bias", np.zeros_like(scale)) - get[f"{norm}.running_mean"] * scale
        return scale, shift

    def _conv(self, name: str, x: str, *, norm: str = "", **attributes: Any) -> str:
        kernel = self._weights[f"{name}.weight"].astype(np.float64)
        bias = self._weights.get(f"{name}.bias", np.zeros(kernel.shape[0])).astype(np.float64)
        if norm:
            scale, shift = self._scale_shift(norm)
            kernel = kernel * scale.reshape(-1, *[1] * (kernel.ndim - 1))
            bias = bias * scale + shift
        inputs = [
            x,
            self.graph.constant(f"{name}.weight", kernel.astype(np.float32)),
            self.graph.constant(f"{name}.bias", bias.astype(np.float32)),
        ]
        return self.graph.node("Conv", inputs, kernel_shape=list(kernel.shape[2:]), **attributes)

    def _norm_relu(self, name: str, x: str) -> str:
        scale, shift = self._scale_shift(name)
        graph = self.graph
        channels = [
            graph.constant(f"{name}.scale", scale.astype(np.float32)),
            graph.constant(f"{name}.shift", shift.astype(np.float32)),
            graph.constant(f"zeros_{scale.size}", np.zeros(scale.size, np.float32)),
            graph.constant(f"ones_{scale.size}", np.ones(scale.size, np.float32)),
        ]
        return graph.node("Relu", [graph.node("BatchNormalization", [x, *channels], epsilon=0.0)])
