"""The texts and constants in ONNX files, read without the library that wrote them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgemem.errors import EngineError
from edgemem.infer.onnx_file import onnx_constant
from edgemem.infer.onnx_file import onnx_metadata as metadata


@pytest.fixture
def twice(tmp_path):
    """y = x + x, with texts."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "twice", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    helper.set_model_props(model, {"alphabet": "aé字", "long": "x" * 70_000, "empty": ""})
    onnx.save(model, tmp_path / "twice.onnx")
    return tmp_path / "twice.onnx"


def test_the_texts_of_a_model_are_those_that_onnx_wrote(twice):
    assert metadata(twice) == {"alphabet": "aé字", "long": "x" * 70_000, "empty": ""}
    assert metadata(twice) == {one.key: one.value for one in onnx.load(twice).metadata_props}


@pytest.mark.parametrize("size", [1, 5, 100, 70_000])
def test_a_cut_file_is_no_model(twice, tmp_path, size):
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(twice.read_bytes()[:-size])
    with pytest.raises(EngineError, match=r"cut.onnx cannot be read as ONNX: it ends too early"):
        metadata(cut)


@pytest.mark.parametrize("data", [b"\x0b", b"\xff" * 20, b"\x72\x7f"])
def test_a_file_that_is_no_model_is_refused(tmp_path, data):
    (tmp_path / "no.onnx").write_bytes(data)
    with pytest.raises(EngineError, match=r"no.onnx cannot be read as ONNX"):
        metadata(tmp_path / "no.onnx")


def test_other_fields_are_skipped(tmp_path):
    """All wire types of protocol buffers, then the texts."""
    data = b"\x08\x96\x01" + b"\x11" + b"\x00" * 8 + b"\x1d" + b"\x00" * 4 + b"\x22\x03abc" + b"\x72\x06\x0a\x01k\x12\x01v"
    (tmp_path / "m.onnx").write_bytes(data)
    assert metadata(tmp_path / "m.onnx") == {"k": "v"}


def test_a_constant_has_the_numbers_that_onnx_wrote(tmp_path):
    constants = {"b": np.arange(12, dtype=np.float32).reshape(3, 4), "a": np.array([[-5, 7]], np.int8), "none": np.zeros(0, np.float32)}
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "b"], ["y"])], "b", values[:1], values[1:], tensors)
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    for name, array in constants.items():
        assert onnx_constant(tmp_path / "m.onnx", name) == array.tobytes()
    with pytest.raises(EngineError, match=r'm.onnx has no constant "x"'):
        onnx_constant(tmp_path / "m.onnx", "x")
    with pytest.raises(EngineError, match=r"away.onnx cannot be read as ONNX"):
        onnx_constant(tmp_path / "away.onnx", "b")
