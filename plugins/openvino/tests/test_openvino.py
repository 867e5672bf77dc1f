"""What is OpenVINO's own; what holds for every runtime is tested in `tests/contract/test_runtimes.py`."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from edgemem_openvino import OpenVinoSettings, register_runtimes
from onnx import TensorProto, helper

from edgemem.extend import EngineError, RuntimeContext
from edgemem.extend.testing.runtimes import contract_card, inputs, loaded


def make(folder, **settings):
    (component,) = register_runtimes()
    return component.factory(OpenVinoSettings(**settings), RuntimeContext(folder, threads=2))


@pytest.fixture
def runtime(tmp_path):
    pytest.importorskip("openvino", exc_type=ImportError)
    return make(tmp_path)


def test_it_says_what_it_runs_on(runtime):
    assert runtime.describe().startswith("OpenVINO 20")
    assert runtime.describe().endswith(", 2 threads")


def test_nothing_is_kept_for_each_size_of_an_input(runtime):
    """Pictures with text of any size would fill the memory of the process."""
    assert runtime._properties["CPU_RUNTIME_CACHE_CAPACITY"] == 0


def test_nothing_is_reported_to_anybody(tmp_path):
    """`openvino` imports its telemetry at once; here it must not be loaded at all."""
    pytest.importorskip("openvino", exc_type=ImportError)
    script = """
import sys
from pathlib import Path
from edgemem_openvino import OpenVinoSettings, register_runtimes
from edgemem.extend import RuntimeContext
register_runtimes()[0].factory(OpenVinoSettings(), RuntimeContext(Path(sys.argv[1]), 1))
print([name for name, module in sys.modules.items() if name.startswith("openvino_telemetry") and module is not None])
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], env=env, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"


def test_without_the_library_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "edgemem_openvino.runtime", raising=False)
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(EngineError, match=r"OpenVINO cannot be imported: .*; run: pip install edgemem-openvino"):
        make(tmp_path)


def test_float32_stays_float32_unless_the_fastest_is_wanted(runtime, tmp_path):
    assert runtime._properties["INFERENCE_PRECISION_HINT"] == "f32"
    fastest = make(tmp_path, precision="fastest")
    assert "INFERENCE_PRECISION_HINT" not in fastest._properties
    with loaded(fastest) as engine:
        assert engine.infer(inputs(2, 3))["scores"].dtype == np.float32


def test_an_operator_that_it_does_not_know_is_refused_in_one_line(runtime, tmp_path):
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("NoSuchOperator", ["x"], ["y"], domain="nowhere")], "g", [value], [result])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("nowhere", 1)]), tmp_path / "m.onnx")
    with pytest.raises(EngineError, match=r"contract: .*m.onnx cannot be loaded .*; run: edgemem engines check contract") as caught:
        runtime.load(contract_card(), "model", tmp_path / "m.onnx")
    assert "\n" not in str(caught.value)
