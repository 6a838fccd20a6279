"""Opening ONNX files: free shapes, providers that are not there, damaged and missing files."""

import logging
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from models.errors import ModelError
from models.sessions import normalised, open_session


@pytest.fixture
def doubling_model(tmp_path: Path) -> Path:
    """A file that adds its input to itself, with the fixed shape (1, 2) and a weight listed as an input."""
    shape = [1, 2]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["two"]), helper.make_node("Add", ["two", "bias"], ["y"])],
        "doubling",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("bias", TensorProto.FLOAT, [1]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [helper.make_tensor("bias", TensorProto.FLOAT, [1], [0.5])],
    )
    path = tmp_path / "doubling.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path))
    return path


def test_fixed_shape_is_kept_unless_asked(doubling_model: Path) -> None:
    session = open_session(doubling_model)
    assert session.provider == "CPUExecutionProvider"
    assert session.run({"x": np.array([[1, 2]], np.float32)})["y"].tolist() == [[2.5, 4.5]]
    with pytest.raises(ModelError, match=r"doubling\.onnx failed on inputs .*\(3, 2\)"):
        session.run({"x": np.zeros((3, 2), np.float32)})


def test_freed_shape_takes_any_size_and_weights_are_no_inputs(doubling_model: Path) -> None:
    session = open_session(doubling_model, input_shapes={"x": ("rows", 2)})
    assert session.input_names == ("x",)
    assert session.run({"x": np.ones((3, 2), np.float32)})["y"].tolist() == [[2.5, 2.5]] * 3


def test_wrong_type_and_name_are_refused(doubling_model: Path) -> None:
    session = open_session(doubling_model)
    for feeds in ({"x": np.zeros((1, 2), np.float64)}, {"z": np.zeros((1, 2), np.float32)}):
        with pytest.raises(ModelError, match=r"doubling\.onnx failed"):
            session.run(feeds)


def test_absent_accelerator_is_said_aloud(doubling_model: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        session = open_session(doubling_model, accelerator="tensorrt")
    if session.provider == "TensorrtExecutionProvider":
        pytest.skip("this machine has TensorRT")
    assert "TensorrtExecutionProvider was asked for" in caplog.text
    assert session.provider in caplog.text


@pytest.mark.parametrize("shapes", [None, {"x": ("rows", 2)}])
def test_damaged_and_missing_files_are_named(
    doubling_model: Path, tmp_path: Path, shapes: dict[str, tuple[int | str, ...]] | None
) -> None:
    short = tmp_path / "short.onnx"
    short.write_bytes(doubling_model.read_bytes()[:-20])
    empty = tmp_path / "empty.onnx"
    empty.write_bytes(b"")
    for path, words in ((short, "verify"), (empty, "verify"), (tmp_path / "none.onnx", "missing.*fetch")):
        with pytest.raises(ModelError, match=rf"{path.name}[^\n]*{words}"):
            open_session(path, input_shapes=shapes)


def test_no_threads_is_refused(doubling_model: Path) -> None:
    with pytest.raises(ModelError, match="threads is 0"):
        open_session(doubling_model, threads=0)


def test_normalised_refuses_what_has_no_direction() -> None:
    assert normalised(np.array([[3.0, 4.0]]), "m").tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
    for row in ([0.0, 0.0], [float("nan"), 1.0]):
        with pytest.raises(ModelError, match="SomeModel"):
            normalised(np.array([row]), "SomeModel")
