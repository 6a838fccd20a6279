"""The conversions against plain numpy on small random weights; same weights, same bytes."""

import hashlib
import struct
from collections.abc import Callable, Mapping
from math import erf
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from models import convert_campplus, convert_e5, convert_pyannote
from models.errors import ModelError
from tests import reference_networks
from tests.random_weights import Weights, small_campplus, small_pyannote
from tests.torch_checkpoint import write_checkpoint

Array = NDArray[Any]


@pytest.fixture
def rng() -> np.random.Generator:
    """Fixed random numbers."""
    return np.random.default_rng(7)


def run(path: Path, feeds: Mapping[str, Array]) -> Array:
    """The one output of an ONNX file."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    output: Array = session.run(None, dict(feeds))[0]
    return output


def cosine(a: Array, b: Array) -> float:
    """The cosine of the angle between two vectors."""
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("frames", [430, 60])
def test_campplus_computes_what_the_paper_says(tmp_path: Path, rng: np.random.Generator, frames: int) -> None:
    weights = small_campplus(rng, (2, 1, 1))
    write_checkpoint(tmp_path / "c.pt", weights)
    convert_campplus.convert(tmp_path / "c.pt", tmp_path / "c.onnx")
    features = rng.normal(size=(frames, 80)).astype(np.float32)
    found = run(tmp_path / "c.onnx", {"features": features[None]})
    wanted = reference_networks.campplus(weights, features, (2, 1, 1))
    np.testing.assert_allclose(found[0], wanted, rtol=1e-3, atol=1e-4)
    assert (wanted < 0).any(), "a ReLU at the end would go unnoticed"


def test_campplus_takes_batches(tmp_path: Path, rng: np.random.Generator) -> None:
    write_checkpoint(tmp_path / "c.pt", small_campplus(rng, (1, 1, 1)))
    convert_campplus.convert(tmp_path / "c.pt", tmp_path / "c.onnx")
    features = rng.normal(size=(3, 250, 80)).astype(np.float32)
    together = run(tmp_path / "c.onnx", {"features": features})
    alone = [run(tmp_path / "c.onnx", {"features": one[None]})[0] for one in features]
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)


def test_pyannote_computes_what_the_paper_says(tmp_path: Path, rng: np.random.Generator) -> None:
    weights = small_pyannote(rng)
    write_checkpoint(tmp_path / "p.pt", weights)
    convert_pyannote.convert(tmp_path / "p.pt", tmp_path / "p.onnx")
    samples = rng.normal(size=8000).astype(np.float32)
    found = run(tmp_path / "p.onnx", {"samples": samples[None, None]})
    wanted = reference_networks.pyannote(weights, samples)
    assert found.shape == (1, *wanted.shape)
    np.testing.assert_allclose(found[0], wanted, rtol=1e-3, atol=1e-3)


SIZES = (64, 2, 2, 128, 50, 16, 2)  # hidden, layers, heads, feed-forward, vocabulary, positions, types


def write_small_e5(path: Path, rng: np.random.Generator) -> None:
    """A packed model of the carrier's layout with random weights."""
    hidden, layers, _, wide, words, positions, types = SIZES
    tensors: dict[str, tuple[int, int, bytes]] = {}

    def floats(name: str, values: Array) -> None:
        tensors[name] = (0, values.size, values.astype("<f4").tobytes())

    def packed(name: str, rows: int, columns: int) -> None:
        blocks = rows * columns // 32
        scales = (rng.uniform(0.5, 1.5, (blocks, 1)) / 4 / np.sqrt(columns)).astype("<f2")
        nibbles = rng.integers(0, 256, (blocks, 16), dtype=np.uint8)
        tensors[name] = (1, rows * columns, np.hstack([scales.view(np.uint8), nibbles]).tobytes())

    packed("emb.word", words, hidden)
    floats("emb.pos", rng.normal(size=(positions, hidden)))
    floats("emb.type", rng.normal(size=(types, hidden)))
    norms = ["emb.ln", *(f"l{layer}.{part}" for layer in range(layers) for part in ("aln", "oln"))]
    for name in norms:
        floats(f"{name}.w", rng.uniform(0.5, 1.5, hidden))
        floats(f"{name}.b", rng.normal(size=hidden) * 0.1)
    for layer in range(layers):
        shapes = dict.fromkeys(("q", "k", "v", "ao"), (hidden, hidden))
        for part, (rows, columns) in (shapes | {"fi": (wide, hidden), "fo": (hidden, wide)}).items():
            packed(f"l{layer}.{part}.w", rows, columns)
            floats(f"l{layer}.{part}.b", rng.normal(size=rows) * 0.1)
    path.write_bytes(_packed_file(tensors))


def _packed_file(tensors: Mapping[str, tuple[int, int, bytes]]) -> bytes:
    """Header, an empty tokenizer of one piece, the directory, the tensors."""
    head = b"E5S1" + struct.pack("<8ifi", 1, *SIZES, 1e-12, 32)
    head += struct.pack("<5iQ", 1, 0, 0, 0, 0, 3) + bytes(12) + b"abc" + struct.pack("<iI", 0, 0)
    head += struct.pack("<i", len(tensors))
    offset = len(head) + sum(2 + len(name) + 21 for name in tensors)
    directory, body = b"", b""
    for name, (kind, count, data) in tensors.items():
        row = struct.pack("<BIQQ", kind, count, offset + len(body), len(data))
        directory += struct.pack("<H", len(name)) + name.encode() + row
        body += data
    return head + directory + body


def reference_e5(packed: convert_e5.PackedModel, ids: list[int]) -> Array:
    """The encoder in float on the dequantised weights."""
    hidden, layers, heads, wide, words, positions, types = SIZES

    def norm(x: Array, name: str) -> Array:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return x * packed.floats(f"{name}.w", hidden) + packed.floats(f"{name}.b", hidden)

    def linear(x: Array, name: str, rows: int, columns: int) -> Array:
        matrix = packed.quantised(f"{name}.w", rows, columns).dequantised()
        return x @ matrix.T + packed.floats(f"{name}.b", rows)

    table = packed.quantised("emb.word", words, hidden).dequantised()
    x: Array = table[ids] + packed.floats("emb.pos", positions, hidden)[: len(ids)]
    x = norm(x + packed.floats("emb.type", types, hidden)[0], "emb.ln")
    for layer in (f"l{number}" for number in range(layers)):
        q, k, v = (
            linear(x, f"{layer}.{part}", hidden, hidden).reshape(len(ids), heads, -1).transpose(1, 0, 2)
            for part in "qkv"
        )
        shares = np.exp(q @ k.transpose(0, 2, 1) / np.sqrt(hidden / heads))
        shares /= shares.sum(-1, keepdims=True)
        mixed = (shares @ v).transpose(1, 0, 2).reshape(len(ids), hidden)
        x = norm(x + linear(mixed, f"{layer}.ao", hidden, hidden), f"{layer}.aln")
        inner = linear(x, f"{layer}.fi", wide, hidden)
        inner = inner * (1 + np.vectorize(erf)(inner / np.sqrt(2))) / 2
        x = norm(x + linear(inner, f"{layer}.fo", hidden, wide), f"{layer}.oln")
    mean: Array = x.mean(0) / np.linalg.norm(x.mean(0))
    return mean


def test_e5_keeps_its_meaning_on_four_bits(tmp_path: Path, rng: np.random.Generator) -> None:
    write_small_e5(tmp_path / "e5.bin", rng)
    convert_e5.convert(tmp_path / "e5.bin", tmp_path / "model.onnx")
    packed = convert_e5.PackedModel(tmp_path / "e5.bin")
    texts = [[0, 5, 49, 7, 2], [0, 33, 2], [0, *range(1, 15), 2]]
    ids = np.ones((3, 16), np.int64)
    mask = np.zeros((3, 16), np.int64)
    for row, text in enumerate(texts):
        ids[row, : len(text)], mask[row, : len(text)] = text, 1
    found = run(tmp_path / "model.onnx", {"input_ids": ids, "attention_mask": mask})
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-5)
    for row, text in enumerate(texts):
        assert cosine(found[row], reference_e5(packed, text)) > 0.999


@pytest.mark.parametrize("kept", [3, 30, 200, -10])
def test_e5_file_cut_short_is_refused(tmp_path: Path, rng: np.random.Generator, kept: int) -> None:
    path = tmp_path / "e5.bin"
    write_small_e5(path, rng)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelError, match=r"e5\.bin"):
        convert_e5.convert(path, tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("make", "convert"),
    [
        (lambda rng: small_campplus(rng, (1, 1, 1)), convert_campplus.convert),
        (small_pyannote, convert_pyannote.convert),
    ],
    ids=["campplus", "pyannote"],
)
def test_same_weights_give_the_same_bytes_and_lacking_ones_are_named(
    tmp_path: Path,
    rng: np.random.Generator,
    make: Callable[[np.random.Generator], Weights],
    convert: Callable[[Path, Path], None],
) -> None:
    weights = make(rng)
    write_checkpoint(tmp_path / "w.pt", weights)
    digests = set()
    for number in range(2):
        convert(tmp_path / "w.pt", tmp_path / f"{number}.onnx")
        digests.add(hashlib.sha256((tmp_path / f"{number}.onnx").read_bytes()).hexdigest())
    assert len(digests) == 1
    for name in list(weights)[::5]:
        if name.endswith(".weight") and "norm" not in name and "bn" not in name and "shortcut" not in name:
            write_checkpoint(tmp_path / "less.pt", {key: weights[key] for key in weights if key != name})
            with pytest.raises(ModelError, match=r"less\.pt is no .* checkpoint: it lacks the weight"):
                convert(tmp_path / "less.pt", tmp_path / "less.onnx")
