"""One contract for all runtimes of this repository. One that cannot be used on this machine is skipped with its own reason."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgemem.errors import EngineError
from edgemem.extend.testing import RUNTIME_CHECKS, check_plugin, check_runtime, runtimes
from edgemem.infer.runtime import CheckedEngine, RuntimeContext, Signature, TensorInfo

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
MODULES = sorted(path.parent.name for path in PLUGINS.glob("*/edgemem_*/__init__.py") if "def register_runtimes" in path.read_text())


def make(module, folder):
    """The runtime of a plugin. Raises EngineError or ImportError where it cannot be used."""
    (component,) = importlib.import_module(module).register_runtimes()
    return component.factory(component.settings(), RuntimeContext(folder, threads=2))


@pytest.fixture(scope="module", params=MODULES)
def runtime(request, tmp_path_factory):
    try:
        return make(request.param, tmp_path_factory.mktemp("home"))
    except (EngineError, ImportError) as reason:
        pytest.skip(f"{request.param}: {reason}")


@pytest.mark.parametrize("check", RUNTIME_CHECKS)
def test_it_keeps_the_contract(runtime, check):
    RUNTIME_CHECKS[check](runtime)


@pytest.mark.parametrize("module", MODULES)
def test_its_plugin_keeps_the_contract_where_it_can_be_used(module, tmp_path):
    """What `check_plugin` says of a plugin whose runtime cannot be used here: nothing was checked."""
    try:
        make(module, tmp_path)
    except (EngineError, ImportError):
        wanted = []
    else:
        wanted = [f"runtimes/{module.removeprefix('edgemem_')}"]
    assert check_plugin(importlib.import_module(module)) == wanted


def test_the_runtimes_of_this_repository_are_found():
    assert {"edgemem_onnx", "edgemem_tensorrt"} <= set(MODULES)


def contract_model():
    """`contract.onnx` as onnx writes it. Operators and types that TensorRT 10.3 takes in a strongly typed network."""
    nodes = [
        helper.make_node("MatMul", ["x", "weights"], ["product"]),
        helper.make_node("Add", ["product", "bias"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["scores"], axis=1),
        helper.make_node("Gather", ["table", "ids"], ["rows"], axis=0),
        helper.make_node("ReduceMean", ["rows"], ["vectors"], axes=[1], keepdims=0),
    ]
    described = {"x": (TensorProto.FLOAT, ["n", 4]), "ids": (TensorProto.INT64, ["n", "t"])}
    inputs = [helper.make_tensor_value_info(name, *what) for name, what in described.items()]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size]) for name, size in (("scores", 3), ("vectors", 4))]
    held = {"weights": runtimes.WEIGHTS, "bias": runtimes.BIAS, "table": runtimes.TABLE}
    weights = [numpy_helper.from_array(array, name) for name, array in held.items()]
    graph = helper.make_graph(nodes, "contract", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="edgemem")
    helper.set_model_props(model, runtimes.TEXTS)
    return model


def test_the_model_of_the_contract_is_the_one_described_here():
    """To write it anew: `onnx.save(contract_model(), runtimes.MODEL_FILE)`."""
    onnx.checker.check_model(contract_model(), full_check=True)
    assert onnx.load(runtimes.MODEL_FILE) == contract_model()


class Faulty(CheckedEngine):
    """numpy, with one fault."""

    def __init__(self, model, fault):
        known = Signature({name: TensorInfo() for name in model.inputs}, {name: TensorInfo() for name in model.outputs})
        super().__init__("contract", model, known)
        self.fault, self.closed, self.runs = fault, False, 0
        self.buffer = {"scores": np.zeros((99, 3), np.float32), "vectors": np.zeros((99, 4), np.float32)}

    @property
    def metadata(self):
        return {} if self.fault == "texts" else runtimes.TEXTS

    def infer(self, arrays):
        if self.fault in {"unchecked", "far"}:
            return self._run(arrays)
        return super().infer(arrays)

    def _run(self, arrays):
        if self.closed and self.fault != "close":
            raise EngineError("contract was closed")
        if set(arrays) != {"x", "ids"}:
            raise EngineError("x and ids")
        self.runs += 1
        found = runtimes.expected(arrays)
        found = {name: array.astype(np.float32) for name, array in found.items()}
        if self.fault == "far":
            found["scores"] += 0.01
        if self.fault == "drift":
            found["vectors"] += 1e-6 * self.runs
        if self.fault == "batch":
            found["vectors"] += 0.01 * (len(arrays["x"]) == runtimes.MOST) * (arrays["ids"].shape[1] == 4)
        if self.fault == "inputs":
            np.asarray(arrays["x"]).setflags(write=True)
            arrays["x"][...] = 0
        if self.fault == "buffer":
            for name, array in found.items():
                self.buffer[name][: len(array)] = array
            return {name: self.buffer[name][: len(array)] for name, array in found.items()}
        return found

    def close(self):
        self.closed = True


class FaultyRuntime:
    formats = frozenset({"onnx"})

    def __init__(self, fault):
        self.fault = fault

    def describe(self):
        return "numpy\nwith a fault" if self.fault == "lines" else "numpy"

    def build(self, _card, _model, _path, progress):
        if self.fault == "again":
            progress("contract", 1, 1)

    def load(self, card, model, path):
        if self.fault != "anything" and path.read_bytes() == b"no model at all":
            raise EngineError("no model")
        described = card.models[model]
        fits = set(described.outputs) <= {"scores", "vectors"} and described.inputs["x"].dtype == "float32"
        if self.fault != "card" and (not fits or described.outputs["scores"].shape != ["n", 3]):
            raise EngineError("y, scores and x are not those of the model")
        return Faulty(described, self.fault)


def test_a_runtime_without_a_fault_passes():
    check_runtime(lambda: FaultyRuntime(""), "runtime numpy")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("lines", "describe"),
        ("again", "it was built again"),
        ("texts", "the texts are"),
        ("far", "scores differs from numpy by 0.01"),
        ("drift", "the same input gave another output"),
        ("batch", "vectors differs|depends on the others"),
        ("inputs", "an input was changed|differs from numpy"),
        ("buffer", "a result changed with the next run"),
        ("unchecked", "the error for an unknown input does not name z"),
        ("close", r"a run after close\(\) was accepted"),
        ("card", "a card with another y was accepted|does not name"),
        ("anything", "a file that is no model was accepted"),
    ],
)
def test_every_fault_is_found_and_named(fault, said):
    with pytest.raises((AssertionError, EngineError), match=said):
        check_runtime(lambda: FaultyRuntime(fault), "runtime numpy")
