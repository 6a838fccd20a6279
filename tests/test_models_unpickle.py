"""Reading checkpoints: tensors come out right, traps and senseless contents are refused."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from models import convert_campplus
from models.errors import ModelError
from models.unpickle import read_checkpoint, state_dict
from tests.torch_checkpoint import tensor_of, write_checkpoint, write_pickle


def test_checkpoint_is_read_without_torch(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    weights = {"a": rng.normal(size=(3, 4)), "b": rng.normal(size=5)}
    write_checkpoint(tmp_path / "w.pt", weights)
    found = state_dict(read_checkpoint(tmp_path / "w.pt"), tmp_path / "w.pt")
    assert list(found) == ["a", "b"]
    np.testing.assert_array_equal(found["a"], weights["a"].astype(np.float32))


@pytest.mark.parametrize(
    "trap",
    [
        b"cos\nsystem\n(X\x05\x00\x00\x00touchtR0",
        b"cbuiltins\neval\n(X\x01\x00\x00\x001tR0",
        b"cmodels.unpickle\nread_checkpoint\n0",
        b"ctorch\nload\n0",
        b"c__builtin__\ngetattr\n0",
    ],
)
def test_checkpoint_that_would_run_code_is_refused(tmp_path: Path, trap: bytes) -> None:
    write_checkpoint(tmp_path / "evil.pt", {"a": np.zeros(2)}, prologue=trap)
    with pytest.raises(
        ModelError, match=r"evil\.pt: the checkpoint asks for \S+, which a state dict never needs"
    ):
        read_checkpoint(tmp_path / "evil.pt")


@pytest.mark.parametrize(
    ("shape", "stride"), [((100,), (1,)), ((2, 2), (1000, 1)), ((2,), (-1,)), ((2, 2), (1,)), ((900,), (0,))]
)
def test_tensor_outside_its_storage_is_refused(
    tmp_path: Path, shape: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    write_pickle(tmp_path / "wide.pt", tensor_of(4, shape, stride))
    with zipfile.ZipFile(tmp_path / "wide.pt", "a") as archive:
        archive.writestr("toy/data/0", bytes(16))
    with pytest.raises(ModelError, match=r"cannot read the checkpoint .*wide\.pt"):
        read_checkpoint(tmp_path / "wide.pt")


@pytest.mark.parametrize(
    "pickled",
    [
        b"",
        b"\x80\x02",
        b"garbage",
        b"\x80\x02N0.",
        b"\x80\x02]Q.",
        b"\x80\x02ccollections\nOrderedDict\n(K\x01tR.",
    ],
)
def test_broken_pickle_is_one_sentence(tmp_path: Path, pickled: bytes) -> None:
    write_pickle(tmp_path / "broken.pt", pickled)
    with pytest.raises(ModelError, match=r"broken\.pt"):
        read_checkpoint(tmp_path / "broken.pt")


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.pt").write_text("no zip")
    with pytest.raises(ModelError, match=r"cannot read the checkpoint .*text\.pt"):
        read_checkpoint(tmp_path / "text.pt")
    write_pickle(tmp_path / "number.pt", b"\x80\x02K\x01.")
    with pytest.raises(ModelError, match="holds a int, not a state dict"):
        convert_campplus.convert(tmp_path / "number.pt", tmp_path / "number.onnx")
