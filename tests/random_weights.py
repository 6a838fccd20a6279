"""Small random weights of the converted networks, under the names of their checkpoints."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = dict[str, NDArray[Any]]


class RandomWeights:
    """Names to random arrays, scaled so that activations neither die nor explode."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.weights: Weights = {}

    def kernel(self, name: str, *shape: int, bias: bool = False) -> None:
        """A convolution or a matrix."""
        self.weights[f"{name}.weight"] = self._rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
        if bias:
            self.weights[f"{name}.bias"] = self._rng.normal(size=shape[0]) * 0.1

    def norm(self, name: str, size: int, *, affine: bool = True) -> None:
        """A batch norm with statistics."""
        self.weights[f"{name}.running_mean"] = self._rng.normal(size=size) * 0.1
        self.weights[f"{name}.running_var"] = self._rng.uniform(0.5, 2, size)
        if affine:
            self.scale(name, size)

    def scale(self, name: str, size: int) -> None:
        """Scale and shift of a norm."""
        self.weights[f"{name}.weight"] = self._rng.uniform(0.5, 1.5, size)
        self.weights[f"{name}.bias"] = self._rng.normal(size=size) * 0.1


def small_campplus(rng: np.random.Generator, layers: tuple[int, int, int]) -> Weights:
    """CAM++ with 2 front-end channels, 6 features, growth 2 and an embedding of 5."""
    made = RandomWeights(rng)
    made.kernel("head.conv1", 2, 1, 3, 3)
    made.norm("head.bn1", 2)
    for layer in ("head.layer1", "head.layer2"):
        for block in "01":
            name = f"{layer}.{block}"
            for part in "12":
                made.kernel(f"{name}.conv{part}", 2, 2, 3, 3)
                made.norm(f"{name}.bn{part}", 2)
            if block == "0":
                made.kernel(f"{name}.shortcut.0", 2, 2, 1, 1)
                made.norm(f"{name}.shortcut.1", 2)
    made.kernel("head.conv2", 2, 2, 3, 3)
    made.norm("head.bn2", 2)
    made.kernel("xvector.tdnn.linear", 6, 20, 5)
    made.norm("xvector.tdnn.nonlinear.batchnorm", 6)
    channels = 6
    for number, count in enumerate(layers, start=1):
        for layer_number in range(1, count + 1):
            _dense_weights(made, f"xvector.block{number}.tdnnd{layer_number}", channels)
            channels += 2
        made.norm(f"xvector.transit{number}.nonlinear.batchnorm", channels)
        made.kernel(f"xvector.transit{number}.linear", 6, channels, 1)
        channels = 6
    made.norm("xvector.out_nonlinear.batchnorm", 6)
    made.kernel("xvector.dense.linear", 5, 12, 1)
    made.norm("xvector.dense.nonlinear.batchnorm", 5, affine=False)
    return made.weights


def _dense_weights(made: RandomWeights, name: str, channels: int) -> None:
    made.norm(f"{name}.nonlinear1.batchnorm", channels)
    made.kernel(f"{name}.linear1", 8, channels, 1)
    made.norm(f"{name}.nonlinear2.batchnorm", 8)
    made.kernel(f"{name}.cam_layer.linear_local", 2, 8, 3)
    made.kernel(f"{name}.cam_layer.linear1", 4, 8, 1, bias=True)
    made.kernel(f"{name}.cam_layer.linear2", 2, 4, 1, bias=True)


def small_pyannote(rng: np.random.Generator) -> Weights:
    """Segmentation with 4 sinc filters, 2 LSTM layers of 5 and 7 classes."""
    made = RandomWeights(rng)
    bank = "sincnet.conv1d.0.filterbank"
    made.weights[f"{bank}.low_hz_"] = np.array([[100.0], [-900.0]])
    made.weights[f"{bank}.band_hz_"] = np.array([[300.0], [9000.0]])
    made.weights[f"{bank}.window_"] = np.hamming(251)[:125]
    made.weights[f"{bank}.n_"] = 2 * np.pi * np.arange(-125, 0)[None] / 16000
    made.scale("sincnet.wav_norm1d", 1)
    for number, (inputs, outputs) in enumerate(((0, 4), (4, 3), (3, 3))):
        if number:
            made.kernel(f"sincnet.conv1d.{number}", outputs, inputs, 5, bias=True)
        made.scale(f"sincnet.norm1d.{number}", outputs)
    for layer, inputs in enumerate((3, 10)):
        for end in (f"l{layer}", f"l{layer}_reverse"):
            made.weights[f"lstm.weight_ih_{end}"] = rng.normal(size=(20, inputs))
            made.weights[f"lstm.weight_hh_{end}"] = rng.normal(size=(20, 5)) * 0.5
            made.weights[f"lstm.bias_ih_{end}"] = rng.normal(size=20)
            made.weights[f"lstm.bias_hh_{end}"] = rng.normal(size=20)
    made.kernel("linear.0", 6, 10, bias=True)
    made.kernel("linear.1", 6, 6, bias=True)
    made.kernel("classifier", 7, 6, bias=True)
    return made.weights
