"""Where TensorRT cannot be used, the next runtime of the order serves, and that is said everywhere."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json

import edgemem_onnx
import edgemem_tensorrt
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgemem.extend import EngineCard, EngineError, Model, RuntimeContext, Tensor
from edgemem.infer.card import WeightSource
from edgemem.infer.runtime_order import RuntimeOrder

needs_no_tensorrt = pytest.mark.skipif(importlib.util.find_spec("tensorrt") is not None, reason="TensorRT is installed")


@pytest.fixture
def twice(tmp_path):
    """y = x + x."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "twice", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, tmp_path / "twice.onnx")
    return tmp_path / "twice.onnx"


def card():
    model = Model(file="model", inputs={"x": Tensor(shape=["n", 4])}, outputs={"y": Tensor(shape=["n", 4])})
    source = WeightSource(kind="file", path="twice.onnx", members={"model": ""})
    return EngineCard(name="twice", role="test", decoder="none", source=[source], files={"model": "twice.onnx"}, models={"model": model})


def order(tmp_path, *names):
    components = [*edgemem_tensorrt.register_runtimes(), *edgemem_onnx.register_runtimes()]
    return RuntimeOrder({one.name: one for one in components}, names, {}, RuntimeContext(tmp_path, 1))


@needs_no_tensorrt
def test_onnx_runtime_serves_and_every_answer_says_why(tmp_path, twice, caplog):
    runtimes = order(tmp_path, "tensorrt", "onnx")
    engine = runtimes.load(card(), "model", twice)
    assert np.array_equal(engine.infer({"x": np.ones((1, 4), np.float32)})["y"], np.full((1, 4), 2, np.float32))
    assert runtimes.served() == {"twice": "onnx"}
    (note,) = runtimes.notes()
    assert note.startswith("twice runs on onnx: tensorrt: TensorRT cannot be imported: No module named 'tensorrt'; install")
    assert "not by tensorrt: TensorRT cannot be imported" in caplog.text
    assert runtimes.describe()[0][2].startswith("TensorRT cannot be imported")


@needs_no_tensorrt
def test_alone_it_is_an_error_that_says_what_to_install(tmp_path, twice):
    with pytest.raises(EngineError, match=r"TensorRT cannot be imported: .* install its Python bindings"):
        order(tmp_path, "tensorrt").load(card(), "model", twice)


@needs_no_tensorrt
def test_the_doctor_says_it(capsys, tmp_path, monkeypatch):
    from edgemem.cli.main import main

    monkeypatch.setenv("EDGEMEM_HOME", str(tmp_path / "home"))
    folder = tmp_path / "plugins"
    folder.mkdir(parents=True)
    if "tensorrt" not in {one.name for one in importlib.metadata.entry_points(group="edgemem")}:
        (folder / "trt.py").write_text("from edgemem_tensorrt import register_runtimes\n")
    with pytest.raises(SystemExit):
        main(["doctor", "--json", "--plugins-dir", str(folder), "--set", 'engines.runtime=["tensorrt", "onnx"]'])
    findings = json.loads(capsys.readouterr().out)["findings"]
    (found,) = [one for one in findings if one["what"] == "runtime" and one["detail"].startswith("tensorrt")]
    assert found["level"] == "note"
    assert "TensorRT cannot be imported: No module named 'tensorrt'" in found["detail"]
