"""The runtime alone: what it loads and refuses, and its messages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from edgemem_onnx import OnnxSettings, register_runtimes
from edgemem_onnx.runtime import EXACT_INT8, int8_saturates
from msgspec.structs import replace
from onnx import TensorProto, helper

from edgemem.errors import EngineError
from edgemem.infer.card import EngineCard, Model, Tensor, WeightSource
from edgemem.infer.runtime import RuntimeContext


@pytest.fixture
def runtime(tmp_path):
    (component,) = register_runtimes()
    return component.factory(OnnxSettings(), RuntimeContext(tmp_path, threads=2))


@pytest.fixture
def twice(tmp_path) -> Path:
    """y = x + x, for rows of four."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "twice", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    helper.set_model_props(model, {"alphabet": "abc"})
    onnx.save(model, tmp_path / "twice.onnx")
    return tmp_path / "twice.onnx"


def card(entry="x", result="y"):
    model = Model(file="model", inputs={entry: Tensor(shape=["n", 4])}, outputs={result: Tensor(shape=["n", 4])})
    source = WeightSource(kind="file", path="twice.onnx", members={"model": ""})
    return EngineCard(name="twice", role="test", decoder="none", source=[source], files={"model": "twice.onnx"}, models={"model": model})


def test_a_model_runs_from_several_threads_and_tells_its_metadata(runtime, twice):
    engine = runtime.load(card(), "model", twice)
    assert engine.metadata["alphabet"] == "abc"
    batches = [np.full((n, 4), n, np.float32) for n in range(1, 30)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda batch: engine.infer({"x": batch})["y"], batches))
    assert all(np.array_equal(result, batch * 2) for result, batch in zip(results, batches, strict=True))
    engine.close()
    with pytest.raises(EngineError, match="twice was closed"):
        engine.infer({"x": batches[0]})


def test_a_view_of_an_array_is_taken_as_it_is_meant(runtime, twice):
    engine = runtime.load(card(), "model", twice)
    view = np.arange(16, dtype=np.float32).reshape(4, 4).T
    assert np.array_equal(engine.infer({"x": view})["y"], view * 2)


def test_a_card_that_does_not_fit_its_model_is_refused_with_the_nearest_name(runtime, twice):
    with pytest.raises(EngineError, match='output: the model has none called "yy"'):
        runtime.load(card(result="yy"), "model", twice)
    with pytest.raises(EngineError, match='input: the model has none called "a"'):
        runtime.load(card(entry="a"), "model", twice)


def test_a_file_that_is_no_model_is_refused_in_one_line(runtime, tmp_path):
    path = tmp_path / "twice.onnx"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(EngineError, match=r"cannot be loaded .*run: edgemem engines check twice") as caught:
        runtime.load(card(), "model", path)
    assert "\n" not in str(caught.value)


def test_it_says_what_it_runs_on(runtime):
    assert runtime.describe().endswith("CPU, 2 threads")


@pytest.mark.parametrize(
    ("text", "saturates"),
    [
        ("model name\t: x\nflags\t\t: fpu avx2 avx512f avx512_vnni\nbogomips\t: 1\n", False),
        ("flags\t\t: fpu avx2 avx_vnni\n", False),
        ("flags\t\t: fpu avx2 avx512f avx512bw\n", True),
        ("flags\t\t: fpu avx2\nvmx flags\t: avx_vnni\n", True),
        ("Features\t: fp asimd asimddp i8mm\n", True),
        ("", True),
    ],
)
def test_int8_sums_are_exact_on_a_processor_that_says_vnni(tmp_path, text, saturates):
    (tmp_path / "cpuinfo").write_text(text)
    assert int8_saturates(tmp_path / "cpuinfo") is saturates


def test_a_processor_that_tells_nothing_is_not_trusted_with_int8(tmp_path):
    assert int8_saturates(tmp_path / "missing") is True


def options(runtime, shape=("n", 4)):
    values = {"x": Tensor(shape=list(shape))}
    return runtime._options(Model(file="model", inputs=values, outputs=values))


def test_models_of_one_size_share_an_arena_unless_each_is_to_have_its_own(runtime, tmp_path):
    shared = options(runtime)
    assert (shared.intra_op_num_threads, shared.inter_op_num_threads, shared.log_severity_level) == (2, 1, 3)
    assert (shared.enable_cpu_mem_arena, shared.enable_mem_pattern) == (True, False)
    assert shared.get_session_config_entry("session.use_env_allocators") == "1"
    (component,) = register_runtimes()
    alone = component.factory(OnnxSettings(arena=True), RuntimeContext(tmp_path, threads=2))
    for shape in (("n", 4), ("n", "m")):
        own = options(alone, shape)
        assert (own.enable_cpu_mem_arena, own.enable_mem_pattern) == (True, True)
        with pytest.raises(RuntimeError, match="use_env_allocators"):
            own.get_session_config_entry("session.use_env_allocators")


@pytest.mark.parametrize("shape", [("n", "tokens"), (1, 3, "height", "width")])
def test_models_for_inputs_of_any_size_keep_nothing_of_what_they_needed(runtime, shape):
    given_back = options(runtime, shape)
    assert (given_back.enable_cpu_mem_arena, given_back.enable_mem_pattern) == (False, False)
    with pytest.raises(RuntimeError, match="use_env_allocators"):
        given_back.get_session_config_entry("session.use_env_allocators")


@pytest.mark.parametrize(("saturates", "option"), [(True, "1"), (False, "0")])
def test_weights_are_converted_only_where_int8_saturates(runtime, monkeypatch, saturates, option):
    monkeypatch.setattr("edgemem_onnx.runtime.int8_saturates", lambda: saturates)
    assert options(runtime).get_session_config_entry(EXACT_INT8) == option


def test_sums_of_the_largest_int8_products_are_exact_on_this_processor(runtime, tmp_path):
    """255 * 127 * 4 = 129,540; a kernel that adds pairs in 16 bits says 2 * 32,767 = 65,534."""
    tensors = {"x": (TensorProto.UINT8, 4), "y": (TensorProto.INT32, 16)}
    values = [helper.make_tensor_value_info(name, kind, ["n", size]) for name, (kind, size) in tensors.items()]
    weights = helper.make_tensor("w", TensorProto.INT8, [4, 16], [127] * 64)
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["x", "w"], ["y"])], "sums", values[:1], values[1:], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "twice.onnx")
    described = Model(
        file="model",
        inputs={"x": Tensor(dtype="uint8", shape=["n", 4])},
        outputs={"y": Tensor(dtype="int32", shape=["n", 16])},
    )
    engine = runtime.load(replace(card(), models={"model": described}), "model", tmp_path / "twice.onnx")
    assert (engine.infer({"x": np.full((2, 4), 255, np.uint8)})["y"] == 129_540).all()
