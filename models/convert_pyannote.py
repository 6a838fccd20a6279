"""pyannote segmentation-3.0 (who speaks when): checkpoint to ONNX, once, when fetched.

SincNet (Ravanelli & Bengio 2018) with its filters written out, bidirectional LSTMs, a classifier over the
powerset of speakers (Plaquet & Bredin 2023).
"""

import math
from pathlib import Path

import numpy as np

from models.errors import ModelError
from models.onnx_graph import GraphWriter, write_model
from models.unpickle import Array, read_checkpoint, state_dict

_SAMPLE_RATE_HZ = 16_000
_SINC_STRIDE = 10
_MIN_LOW_HZ = 50.0
_MIN_BAND_HZ = 50.0
_LEAK = 0.01
# numpy's own vary with the processor; the converted file is pinned by its hash
_sin, _cos = np.vectorize(math.sin), np.vectorize(math.cos)


def convert(source: Path, target: Path) -> None:
    """Read the checkpoint at `source`, write ONNX to `target`.

    Input "samples" (batch, 1, samples) float32 at 16 kHz; output "classes" (batch, frames, 7): the log
    probabilities of {}, {0}, {1}, {2}, {0,1}, {0,2}, {1,2}. A frame every 270 samples, the first centred on
    sample 495. Raises ModelError where a weight is missing.
    """
    weights = state_dict(read_checkpoint(source), source)
    graph = GraphWriter("pyannote_segmentation")
    try:
        x = _sincnet(graph, weights, "samples")
        x = graph.node("Transpose", [x], perm=[2, 0, 1])
        x = _lstm_layers(graph, weights, x)
        x = graph.node("Transpose", [x], perm=[1, 0, 2])
        for name in ("linear.0", "linear.1"):
            x = graph.node("LeakyRelu", [_linear(graph, weights, name, x)], alpha=_LEAK)
        x = _linear(graph, weights, "classifier", x)
        classes = int(weights["classifier.bias"].shape[0])
    except KeyError as error:
        raise ModelError(
            f"{source} is no pyannote segmentation checkpoint: it lacks the weight {error}"
        ) from error
    graph.node("LogSoftmax", [x], axis=-1, output="classes")
    model = graph.model(
        {"samples": (np.float32, ("batch", 1, "samples"))}, {"classes": ("batch", "frames", classes)}
    )
    write_model(model, target)


def sinc_filters(low_hz: Array, band_hz: Array, window: Array, times: Array) -> Array:
    """Even then odd band-pass filters, (2 · n, 1, taps), from learned cut-offs (n, 1).

    `window` (taps // 2,) is the left half of a Hamming window, `times` (1, taps // 2) is 2π t before the
    centre tap. After ParamSincFB of asteroid-filterbanks.
    """
    low_hz, band_hz, window, times = (value.astype(np.float64) for value in (low_hz, band_hz, window, times))
    low = _MIN_LOW_HZ + np.abs(low_hz)
    high = np.clip(low + _MIN_BAND_HZ + np.abs(band_hz), _MIN_LOW_HZ, _SAMPLE_RATE_HZ / 2)
    band = high - low
    even = (_sin(high @ times) - _sin(low @ times)) / (times / 2) * window
    odd = (_cos(low @ times) - _cos(high @ times)) / (times / 2) * window
    filters = np.concatenate(
        [
            np.concatenate([even, 2 * band, even[:, ::-1]], axis=1) / (2 * band),
            np.concatenate([odd, np.zeros_like(band), -odd[:, ::-1]], axis=1) / (2 * band),
        ]
    )
    return filters[:, None, :].astype(np.float32)


def _sincnet(graph: GraphWriter, weights: dict[str, Array], samples: str) -> str:
    bank = "sincnet.conv1d.0.filterbank"
    filters = sinc_filters(
        *(weights[f"{bank}.{part}"] for part in ("low_hz_", "band_hz_", "window_", "n_")),
    )
    x = _instance_norm(graph, weights, "sincnet.wav_norm1d", samples)
    x = graph.node("Conv", [x, graph.constant("sinc_filters", filters)], strides=[_SINC_STRIDE])
    x = graph.node("Abs", [x])
    for number in range(3):
        if number > 0:
            name = f"sincnet.conv1d.{number}"
            parts = [
                graph.constant(f"{name}.{part}", weights[f"{name}.{part}"]) for part in ("weight", "bias")
            ]
            x = graph.node("Conv", [x, *parts])
        x = graph.node("MaxPool", [x], kernel_shape=[3], strides=[3])
        x = _instance_norm(graph, weights, f"sincnet.norm1d.{number}", x)
        x = graph.node("LeakyRelu", [x], alpha=_LEAK)
    return x


def _instance_norm(graph: GraphWriter, weights: dict[str, Array], name: str, x: str) -> str:
    parts = [graph.constant(f"{name}.{part}", weights[f"{name}.{part}"]) for part in ("weight", "bias")]
    return graph.node("InstanceNormalization", [x, *parts], epsilon=1e-5)


def _lstm_layers(graph: GraphWriter, weights: dict[str, Array], x: str) -> str:
    """All bidirectional layers over x (frames, batch, features)."""
    layer = 0
    while f"lstm.weight_ih_l{layer}" in weights:
        directions = (f"l{layer}", f"l{layer}_reverse")
        hidden = weights[f"lstm.weight_hh_l{layer}"].shape[1]
        inputs = [
            graph.constant(f"lstm.{layer}.{part}", np.stack(values))
            for part, values in (
                ("w", [_gates(weights[f"lstm.weight_ih_{end}"]) for end in directions]),
                ("r", [_gates(weights[f"lstm.weight_hh_{end}"]) for end in directions]),
                ("b", [_both_biases(weights, end) for end in directions]),
            )
        ]
        y = graph.node("LSTM", [x, *inputs], hidden_size=hidden, direction="bidirectional")
        y = graph.node("Transpose", [y], perm=[0, 2, 1, 3])
        x = graph.node("Reshape", [y, graph.integers(0, 0, 2 * hidden)])
        layer += 1
    if layer == 0:
        raise KeyError("lstm.weight_ih_l0")
    return x


def _both_biases(weights: dict[str, Array], end: str) -> Array:
    return np.concatenate([_gates(weights[f"lstm.bias_ih_{end}"]), _gates(weights[f"lstm.bias_hh_{end}"])])


def _gates(rows: Array) -> Array:
    """torch orders the gates input, forget, cell, output; ONNX input, output, forget, cell."""
    i, f, c, o = np.split(rows, 4)
    return np.concatenate([i, o, f, c])


def _linear(graph: GraphWriter, weights: dict[str, Array], name: str, x: str) -> str:
    matrix = graph.constant(f"{name}.weight", weights[f"{name}.weight"].T)
    bias = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
    return graph.node("Add", [graph.node("MatMul", [x, matrix]), bias])
