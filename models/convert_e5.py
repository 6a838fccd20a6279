"""multilingual-e5-small: the carrier's packed 4-bit weights to ONNX, once, when fetched.

The weights stay 4-bit: MatMulNBits and GatherBlockQuantized of onnxruntime compute on them as they are.
Masked mean pooling and normalisation are part of the graph; the tokenizer is not.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError
from models.onnx_graph import GraphWriter, write_model_with_data

_BLOCK = 32
_BLOCK_BYTES = 18  # one float16 scale, 32 nibbles
_MAGIC = b"E5S1"
_INT8_ACTIVATIONS = 4  # accuracy_level of MatMulNBits


@dataclass(frozen=True)
class Sizes:
    """The fixed numbers of a BERT encoder, as the header of the packed file names them."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    types: int
    norm_epsilon: float


@dataclass(frozen=True)
class Quantised:
    """Rows of 4-bit weights: value = (nibble - 8) · scale, one scale per 32 values of a row."""

    nibbles: NDArray[np.uint8]  # (rows, columns), 0 to 15
    scales: NDArray[np.float32]  # (rows, columns / 32)

    def dequantised(self) -> NDArray[np.float32]:
        """The weights as float32 (rows, columns)."""
        return (self.nibbles.astype(np.float32) - 8) * np.repeat(self.scales, _BLOCK, axis=1)


class PackedModel:
    """Reads the E5S1 file: header, tokenizer (skipped), tensor directory, tensors."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data = path.read_bytes()
        try:
            self.sizes, self._directory = self._read_header()
        except (struct.error, UnicodeDecodeError) as error:
            raise ModelError(f"{path} is no packed e5 model or is cut short: {error}") from error

    def _read_header(self) -> tuple[Sizes, dict[str, tuple[int, int, int]]]:
        data = self._data
        if data[:4] != _MAGIC:
            raise ModelError(
                f"{self._path} is no packed e5 model: it starts with {data[:4]!r}, not {_MAGIC!r}"
            )
        version, *numbers, epsilon, block = struct.unpack_from("<8ifi", data, 4)
        if version != 1 or block != _BLOCK:
            raise ModelError(
                f"{self._path} has version {version} and blocks of {block}; this reads 1 and {_BLOCK}"
            )
        hidden, layers, heads, feed_forward, vocabulary, positions, types = numbers
        sizes = Sizes(hidden, layers, heads, feed_forward, vocabulary, positions, types, epsilon)
        pieces, *_, text_bytes = struct.unpack_from("<5iQ", data, 44)
        position = 72 + (2 * pieces + 1) * 4 + text_bytes
        _, normalisation_bytes = struct.unpack_from("<iI", data, position)
        position += 8 + normalisation_bytes
        (count,) = struct.unpack_from("<i", data, position)
        position += 4
        directory = {}
        for _ in range(count):
            (length,) = struct.unpack_from("<H", data, position)
            name = data[position + 2 : position + 2 + length].decode()
            _, values, offset, size = struct.unpack_from("<BIQQ", data, position + 2 + length)
            directory[name] = (values, offset, size)
            position += 2 + length + 21
        return sizes, directory

    def _bytes(self, name: str, values: int, size: int) -> NDArray[np.uint8]:
        if name not in self._directory:
            raise ModelError(f"{self._path} lacks the tensor {name}")
        stored, offset, stored_size = self._directory[name]
        if (stored, stored_size) != (values, size) or offset + size > len(self._data):
            raise ModelError(
                f"{self._path}: tensor {name} has {stored} values, not {values}, or is cut short"
            )
        return np.frombuffer(self._data, np.uint8, size, offset)

    def floats(self, name: str, *shape: int) -> NDArray[np.float32]:
        """A float32 tensor of the given shape."""
        count = int(np.prod(shape))
        return self._bytes(name, count, 4 * count).view("<f4").reshape(shape).copy()

    def quantised(self, name: str, rows: int, columns: int) -> Quantised:
        """A 4-bit tensor; byte j of a block holds value j in its low half, value j + 16 in its high."""
        blocks = rows * columns // _BLOCK
        raw = self._bytes(name, rows * columns, blocks * _BLOCK_BYTES).reshape(blocks, _BLOCK_BYTES)
        scales = np.ascontiguousarray(raw[:, :2]).view("<f2").astype(np.float32)
        nibbles = np.concatenate([raw[:, 2:] & 15, raw[:, 2:] >> 4], axis=1)
        return Quantised(nibbles.reshape(rows, columns), scales.reshape(rows, columns // _BLOCK))


def convert(source: Path, target: Path) -> None:
    """Read the packed model at `source`; write ONNX to `target` and its large tables to `<target>.data`.

    Inputs "input_ids", "attention_mask" (batch, tokens) int64; output "embedding" (batch, 384) of length 1.
    Raises ModelError where the file is cut short or is another format.
    """
    packed = PackedModel(source)
    encoder = _Encoder(packed)
    encoder.write("input_ids", "attention_mask", "embedding")
    shape = ("batch", "tokens")
    model = encoder.graph.model(
        {"input_ids": (np.int64, shape), "attention_mask": (np.int64, shape)},
        {"embedding": ("batch", packed.sizes.hidden)},
    )
    write_model_with_data(model, target, at_least_bytes=1 << 20)


class _Encoder:
    """Writes a BERT encoder (post-norm, exact GELU) over 4-bit weights."""

    def __init__(self, packed: PackedModel) -> None:
        self.graph = GraphWriter("e5")
        self._packed = packed
        self._sizes = packed.sizes

    def write(self, token_ids: str, mask: str, embedding: str) -> None:
        graph = self.graph
        visible = graph.node("Cast", [mask], to=1)
        blocked = graph.node("Sub", [graph.constant("one", np.array(1, np.float32)), visible])
        bias = graph.node("Mul", [blocked, graph.constant("blocked", np.array(-1e9, np.float32))])
        bias = graph.node("Unsqueeze", [bias, graph.integers(1, 2)])
        x = self._embed(token_ids)
        for layer in range(self._sizes.layers):
            x = self._layer(f"l{layer}", x, bias)
        weight = graph.node("Unsqueeze", [visible, graph.integers(2)])
        # the length is made 1 afterwards, so the sum over the visible tokens serves as their mean
        total = graph.node("ReduceSum", [graph.node("Mul", [x, weight]), graph.integers(1)], keepdims=0)
        graph.node("LpNormalization", [total], axis=-1, p=2, output=embedding)

    def _embed(self, token_ids: str) -> str:
        graph, packed, sizes = self.graph, self._packed, self._sizes
        words = packed.quantised("emb.word", sizes.vocabulary, sizes.hidden)
        signed = (words.nibbles ^ 8).astype(np.uint8).reshape(-1, 2)  # nibble - 8 in two's complement
        table = graph.packed_int4(
            "emb.word", (signed[:, 0] | signed[:, 1] << 4).astype(np.uint8), (sizes.vocabulary, sizes.hidden)
        )
        x = graph.contrib(
            "GatherBlockQuantized",
            [table, token_ids, graph.constant("emb.word.scale", words.scales)],
            gather_axis=0,
            quantize_axis=1,
            block_size=_BLOCK,
        )
        places = packed.floats("emb.pos", sizes.positions, sizes.hidden)
        places += packed.floats("emb.type", sizes.types, sizes.hidden)[0]
        length = graph.node("Shape", [token_ids], start=1, end=2)
        used = graph.node(
            "Slice", [graph.constant("emb.pos", places), graph.integers(0), length, graph.integers(0)]
        )
        return self._norm("emb.ln", graph.node("Add", [x, used]))

    def _layer(self, name: str, x: str, bias: str) -> str:
        graph, sizes = self.graph, self._sizes
        wide, narrow = sizes.feed_forward, sizes.hidden
        attended = self._linear(f"{name}.ao", self._attention(name, x, bias), narrow, narrow)
        x = self._norm(f"{name}.aln", graph.node("Add", [x, attended]))
        inner = graph.node("Gelu", [self._linear(f"{name}.fi", x, wide, narrow)])
        return self._norm(
            f"{name}.oln", graph.node("Add", [x, self._linear(f"{name}.fo", inner, narrow, wide)])
        )

    def _attention(self, name: str, x: str, bias: str) -> str:
        graph, sizes = self.graph, self._sizes
        width = sizes.hidden // sizes.heads
        split = graph.integers(0, 0, sizes.heads, width)
        query, key, value = (
            graph.node("Reshape", [self._linear(f"{name}.{part}", x, sizes.hidden, sizes.hidden), split])
            for part in "qkv"
        )
        query = graph.node("Transpose", [query], perm=[0, 2, 1, 3])
        key = graph.node("Transpose", [key], perm=[0, 2, 3, 1])
        value = graph.node("Transpose", [value], perm=[0, 2, 1, 3])
        scale = graph.constant("attention_scale", np.array(width**-0.5, np.float32))
        scores = graph.node("MatMul", [graph.node("Mul", [query, scale]), key])
        shares = graph.node("Softmax", [graph.node("Add", [scores, bias])], axis=-1)
        mixed = graph.node("Transpose", [graph.node("MatMul", [shares, value])], perm=[0, 2, 1, 3])
        return graph.node("Reshape", [mixed, graph.integers(0, 0, sizes.hidden)])

    def _linear(self, name: str, x: str, rows: int, columns: int) -> str:
        graph = self.graph
        weight = self._packed.quantised(f"{name}.w", rows, columns)
        pairs = weight.nibbles.reshape(rows, columns // _BLOCK, _BLOCK // 2, 2)
        inputs = [
            x,
            graph.constant(f"{name}.w", pairs[..., 0] | pairs[..., 1] << 4),
            graph.constant(f"{name}.scale", weight.scales.reshape(-1)),
        ]
        product = graph.contrib(
            "MatMulNBits",
            inputs,
            K=columns,
            N=rows,
            bits=4,
            block_size=_BLOCK,
            accuracy_level=_INT8_ACTIVATIONS,
        )
        return graph.node(
            "Add", [product, graph.constant(f"{name}.b", self._packed.floats(f"{name}.b", rows))]
        )

    def _norm(self, name: str, x: str) -> str:
        parts = [
            self.graph.constant(f"{name}.{part}", self._packed.floats(f"{name}.{part}", self._sizes.hidden))
            for part in ("w", "b")
        ]
        return self.graph.node("LayerNormalization", [x, *parts], axis=-1, epsilon=self._sizes.norm_epsilon)
