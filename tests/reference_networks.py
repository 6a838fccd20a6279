"""Plain numpy forward passes of the converted networks, written from their papers for comparison."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Weights = Mapping[str, Array]


def convolve(
    x: Array, kernel: Array, bias: Array | None = None, *, stride: int = 1, pad: int = 0, dilation: int = 1
) -> Array:
    """One-dimensional convolution of x (channels, time)."""
    x = np.pad(x, ((0, 0), (pad, pad)))
    reach = (kernel.shape[2] - 1) * dilation + 1
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, axis=1)[:, ::stride, ::dilation]
    out: Array = np.einsum("ctk,ock->ot", windows, kernel)
    return out if bias is None else out + bias[:, None]


def convolve_image(x: Array, kernel: Array, *, stride: int = 1, pad: int = 0) -> Array:
    """Two-dimensional convolution of x (channels, frequency, time); the stride is along frequency."""
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[2:], axis=(1, 2))[:, ::stride]
    out: Array = np.einsum("cftij,ocij->oft", windows, kernel)
    return out


def batch_norm(x: Array, w: Weights, name: str) -> Array:
    """Batch norm with stored statistics over the first axis; scale and shift may be absent."""
    mean, variance = w[f"{name}.running_mean"], w[f"{name}.running_var"]
    scale, shift = w.get(f"{name}.weight", np.ones_like(mean)), w.get(f"{name}.bias", np.zeros_like(mean))
    axes = (-1, *[1] * (x.ndim - 1))
    out = (x - mean.reshape(axes)) / np.sqrt(variance.reshape(axes) + 1e-5)
    return out * scale.reshape(axes) + shift.reshape(axes)


def relu(x: Array) -> Array:
    """max(x, 0)."""
    return np.maximum(x, 0)


def leaky(x: Array) -> Array:
    """Leaky ReLU with slope 0.01."""
    return np.where(x > 0, x, 0.01 * x)


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    return 1 / (1 + np.exp(-x))


def campplus(w: Weights, features: Array, layers: tuple[int, int, int]) -> Array:
    """CAM++ on features (frames, 80), without the ReLU after the last batch norm."""
    x = relu(batch_norm(convolve_image(features.T[None], w["head.conv1.weight"], pad=1), w, "head.bn1"))
    for layer in ("head.layer1", "head.layer2"):
        for block, stride in (("0", 2), ("1", 1)):
            x = _residual(x, w, f"{layer}.{block}", stride)
    x = relu(batch_norm(convolve_image(x, w["head.conv2.weight"], stride=2, pad=1), w, "head.bn2"))
    x = x.reshape(-1, x.shape[2])
    x = convolve(x, w["xvector.tdnn.linear.weight"], stride=2, pad=2)
    x = relu(batch_norm(x, w, "xvector.tdnn.nonlinear.batchnorm"))
    for number, (count, dilation) in enumerate(zip(layers, (1, 2, 2), strict=True), start=1):
        for layer_number in range(1, count + 1):
            added = _dense(x, w, f"xvector.block{number}.tdnnd{layer_number}", dilation)
            x = np.concatenate([x, added])
        x = relu(batch_norm(x, w, f"xvector.transit{number}.nonlinear.batchnorm"))
        x = convolve(x, w[f"xvector.transit{number}.linear.weight"])
    x = relu(batch_norm(x, w, "xvector.out_nonlinear.batchnorm"))
    pooled = np.concatenate([x.mean(1), x.std(1, ddof=1)])[:, None]
    dense = convolve(pooled, w["xvector.dense.linear.weight"])
    return batch_norm(dense, w, "xvector.dense.nonlinear.batchnorm")[:, 0]


def _residual(x: Array, w: Weights, name: str, stride: int) -> Array:
    out = relu(
        batch_norm(convolve_image(x, w[f"{name}.conv1.weight"], stride=stride, pad=1), w, f"{name}.bn1")
    )
    out = batch_norm(convolve_image(out, w[f"{name}.conv2.weight"], pad=1), w, f"{name}.bn2")
    if f"{name}.shortcut.0.weight" in w:
        x = batch_norm(
            convolve_image(x, w[f"{name}.shortcut.0.weight"], stride=stride), w, f"{name}.shortcut.1"
        )
    return relu(out + x)


def _dense(x: Array, w: Weights, name: str, dilation: int) -> Array:
    x = convolve(relu(batch_norm(x, w, f"{name}.nonlinear1.batchnorm")), w[f"{name}.linear1.weight"])
    x = relu(batch_norm(x, w, f"{name}.nonlinear2.batchnorm"))
    local = convolve(x, w[f"{name}.cam_layer.linear_local.weight"], pad=dilation, dilation=dilation)
    context = np.empty_like(x)
    for start in range(0, x.shape[1], 100):
        segment = x[:, start : start + 100]
        context[:, start : start + 100] = segment.mean(1, keepdims=True) + x.mean(1, keepdims=True)
    for part, activation in (("linear1", relu), ("linear2", sigmoid)):
        cam = f"{name}.cam_layer.{part}"
        context = activation(convolve(context, w[f"{cam}.weight"], w[f"{cam}.bias"]))
    return local * context


def pyannote(w: Weights, samples: Array) -> Array:
    """pyannote segmentation on samples (n,): log probabilities (frames, classes)."""
    x = _instance_norm(samples[None], w, "sincnet.wav_norm1d")
    x = np.abs(convolve(x, _sinc_bank(w), stride=10))
    for number in range(3):
        if number:
            name = f"sincnet.conv1d.{number}"
            x = convolve(x, w[f"{name}.weight"], w[f"{name}.bias"])
        x = x[:, : x.shape[1] // 3 * 3].reshape(x.shape[0], -1, 3).max(2)
        x = leaky(_instance_norm(x, w, f"sincnet.norm1d.{number}"))
    y, layer = x.T, 0
    while f"lstm.weight_ih_l{layer}" in w:
        back = _lstm(y[::-1], w, f"l{layer}_reverse")[::-1]
        y, layer = np.concatenate([_lstm(y, w, f"l{layer}"), back], axis=1), layer + 1
    for name in ("linear.0", "linear.1"):
        y = leaky(y @ w[f"{name}.weight"].T + w[f"{name}.bias"])
    y = y @ w["classifier.weight"].T + w["classifier.bias"]
    classes: Array = y - np.log(np.exp(y).sum(1, keepdims=True))
    return classes


def _instance_norm(x: Array, w: Weights, name: str) -> Array:
    centred: Array = x - x.mean(1, keepdims=True)
    scale = w[f"{name}.weight"][:, None] / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    normed: Array = centred * scale + w[f"{name}.bias"][:, None]
    return normed


def _sinc_bank(w: Weights) -> Array:
    """Windowed band-pass filters written out tap by tap."""
    name = "sincnet.conv1d.0.filterbank"
    window, times = w[f"{name}.window_"], w[f"{name}.n_"][0]
    even, odd = [], []
    for low_part, band_part in zip(w[f"{name}.low_hz_"][:, 0], w[f"{name}.band_hz_"][:, 0], strict=True):
        low = 50 + abs(low_part)
        high = min(low + 50 + abs(band_part), 8000)
        left = [
            (math.sin(high * t) - math.sin(low * t)) * 2 / t * v for t, v in zip(times, window, strict=True)
        ]
        even.append([*left, 2 * (high - low), *left[::-1]] / (2 * (high - low)))
        left = [
            (math.cos(low * t) - math.cos(high * t)) * 2 / t * v for t, v in zip(times, window, strict=True)
        ]
        odd.append([*left, 0, *(-value for value in left[::-1])] / (2 * (high - low)))
    return np.array(even + odd)[:, None]


def _lstm(x: Array, w: Weights, end: str) -> Array:
    """One direction, gates in the order of PyTorch: input, forget, cell, output."""
    hidden = w[f"lstm.weight_hh_{end}"].shape[1]
    state, cell, out = np.zeros(hidden), np.zeros(hidden), []
    for row in x:
        gates = w[f"lstm.weight_ih_{end}"] @ row + w[f"lstm.weight_hh_{end}"] @ state
        i, f, g, o = np.split(gates + w[f"lstm.bias_ih_{end}"] + w[f"lstm.bias_hh_{end}"], 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        state = sigmoid(o) * np.tanh(cell)
        out.append(state)
    return np.array(out)
