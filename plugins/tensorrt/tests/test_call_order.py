"""What is called, in which order, and what is freed. THIS DOES NOT TEST INFERENCE: `call_order.py` computes nothing."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest
from edgemem_tensorrt import TensorRTSettings
from edgemem_tensorrt.plan import PlanStore
from edgemem_tensorrt.request import BuildLine, BuildRequest
from edgemem_tensorrt.runtime import TensorRTRuntime, profiles
from edgemem_tensorrt.thread import DeviceThread

from edgemem.extend import EngineCard, EngineError, Model, RuntimeUnavailable, SizeRange, Tensor
from edgemem.extend.testing import load_file
from edgemem.infer.card import WeightSource

call_order = load_file(Path(__file__).with_name("call_order.py"))
MODEL = Model(file="model", inputs={"x": Tensor(shape=["n", 4])}, outputs={"y": Tensor(shape=["n", 3])}, ranges={"n": SizeRange(1, 2, 8)})
ADDRESSES = [("address", "x", 4096), ("address", "y", 8192)]


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    """The stand-in in the place of the bindings, for the modules that import them."""
    monkeypatch.setitem(sys.modules, "tensorrt", call_order.module())
    for name in ("logger", "session", "engine", "build"):
        monkeypatch.delitem(sys.modules, f"edgemem_tensorrt.{name}", raising=False)
        monkeypatch.delattr(sys.modules["edgemem_tensorrt"], name, raising=False)
    monkeypatch.setattr(call_order.Builder, "broken", False)
    monkeypatch.setattr(call_order.Builder, "fails", False)
    call_order.CALLS.clear()
    yield call_order.CALLS
    for name in ("logger", "session", "engine", "build"):
        sys.modules.pop(f"edgemem_tensorrt.{name}", None)


def card(model=MODEL):
    source = WeightSource(kind="file", path="twice.onnx", members={"model": ""})
    return EngineCard(name="twice", role="test", decoder="none", source=[source], files={"model": "twice.onnx"}, models={"model": model})


@pytest.fixture
def onnx_file(tmp_path):
    """Metadata alone: {"alphabet": "abc"}."""
    path = tmp_path / "twice.onnx"
    path.write_bytes(b"\x72\x0f\x0a\x08alphabet\x12\x03abc")
    return path


class Bench:
    """A runtime whose builds are noted."""

    def __init__(self, folder, settings=None, memory=None, version="10.3.0"):
        self.requests = []
        self.plan = b"plan"
        self.memory = memory or call_order.Memory()
        store, thread = PlanStore(folder / "plans", folder), DeviceThread(lambda: self.memory)
        self.runtime = TensorRTRuntime(settings or TensorRTSettings(), store, version, thread, "36.4.3", build=self.run_build)

    def run_build(self, request, name, lock, progress, timeout_s):
        assert lock.name == "build.lock"
        if self.plan is None:
            raise EngineError(f"{name}: no such operator")
        self.requests.append((request, name, timeout_s))
        progress(f"{name}: Building", 1, 1)
        with open(request.plan, "xb") as file:  # noqa: PTH123 - as the process does
            file.write(self.plan)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def load(bench, onnx_file, model=MODEL):
    bench.runtime.build(card(model), "model", onnx_file, lambda *_: None)
    return bench.runtime.load(card(model), "model", onnx_file)


def test_a_plan_is_built_once_and_loaded(bench, onnx_file, calls):
    steps = []
    bench.runtime.build(card(), "model", onnx_file, lambda *step: steps.append(step))
    bench.runtime.build(card(), "model", onnx_file, lambda *step: steps.append(step))
    assert steps == [("twice: Building", 1, 1)]
    (request, name, timeout_s) = bench.requests[0]
    assert (name, timeout_s, request.outputs) == ("twice", 3600, ("y",))
    assert request.profiles == {"x": ((1, 4), (2, 4), (8, 4))}
    engine = bench.runtime.load(card(), "model", onnx_file)
    assert calls == [
        ("shape", "x", (8, 4)), ("allocate", 128, True), ADDRESSES[0],
        ("allocate", 96, True), ADDRESSES[1],
    ]  # fmt: skip
    assert engine.metadata == {"alphabet": "abc"}


def test_a_build_says_how_long_it_took(bench, onnx_file, tmp_path, monkeypatch):
    times = iter([1000.0, 1061.5])
    monkeypatch.setattr("edgemem_tensorrt.runtime.time.monotonic", lambda: next(times))
    bench.runtime.build(card(), "model", onnx_file, lambda *_: None)
    assert json.loads((tmp_path / "plans/twice/model.json").read_bytes())["manifest"]["built_s"] == 61.5


def test_of_several_models_the_messages_name_the_one(bench, onnx_file):
    both = msgspec.structs.replace(card(), models={"model": MODEL, "second": MODEL})
    bench.runtime.build(both, "second", onnx_file, lambda *_: None)
    assert bench.requests[0][1] == "twice.second"
    engine = bench.runtime.load(both, "second", onnx_file)
    engine.close()
    with pytest.raises(EngineError, match=r"twice\.second was closed"):
        engine.infer({"x": np.ones((1, 4), np.float32)})


def test_an_output_without_values_is_allowed(bench, onnx_file, monkeypatch):
    """A size of 0 is a size; only a size that is unknown is refused."""
    made = call_order.ICudaEngine(call_order.CALLS, outputs=[call_order.ITensor("y", shape=(-1, 0))])
    monkeypatch.setattr(call_order.Runtime, "deserialize_cuda_engine", lambda _self, _plan: made)
    engine = load(bench, onnx_file, msgspec.structs.replace(MODEL, outputs={"y": Tensor(shape=["n", 0])}))
    assert engine.infer({"x": np.ones((2, 4), np.float32)})["y"].shape == (2, 0)
    engine.close()
    with pytest.raises(EngineError, match=r"the card says the shape \['n', 5\], the model has \['free', 0\]"):
        load(bench, onnx_file, msgspec.structs.replace(MODEL, outputs={"y": Tensor(shape=["n", 5])}))


def test_what_a_build_leaves_behind_is_the_plan_alone(bench, onnx_file, tmp_path):
    bench.runtime.build(card(), "model", onnx_file, lambda *_: None)
    assert sorted(path.relative_to(tmp_path / "plans").as_posix() for path in (tmp_path / "plans").rglob("*")) == [
        "device.key", "twice", "twice/model.json", "twice/model.plan",
    ]  # fmt: skip


def test_without_a_plan_loading_is_refused_with_the_command(bench, onnx_file):
    with pytest.raises(EngineError, match="it has no plan for this device yet; run: edgemem engines build twice"):
        bench.runtime.load(card(), "model", onnx_file)


def test_after_an_upgrade_the_old_plan_is_not_used_and_the_next_build_replaces_it(bench, onnx_file, tmp_path):
    bench.runtime.build(card(), "model", onnx_file, lambda *_: None)
    upgraded = Bench(tmp_path, version="10.16.1")
    with pytest.raises(EngineError, match=r"its plan is for TensorRT 10\.3\.0, here is 10\.16\.1; run: edgemem engines build twice"):
        upgraded.runtime.load(card(), "model", onnx_file)
    upgraded.runtime.build(card(), "model", onnx_file, lambda *_: None)
    upgraded.runtime.load(card(), "model", onnx_file).close()
    assert len(upgraded.requests) == 1


@pytest.mark.parametrize("change", ["model file", "settings", "sizes"])
def test_what_changes_the_plan_is_noticed(bench, onnx_file, tmp_path, change):
    bench.runtime.build(card(), "model", onnx_file, lambda *_: None)
    other, model = bench, MODEL
    if change == "model file":
        onnx_file.write_bytes(onnx_file.read_bytes().replace(b"abc", b"abd"))
    elif change == "settings":
        other = Bench(tmp_path, TensorRTSettings(tf32=False))
    else:
        model = msgspec.structs.replace(MODEL, ranges={"n": SizeRange(1, 2, 16)})
    with pytest.raises(EngineError, match=f"its plan is for .*other.* {change.split()[-1]}|another model file|of the card"):
        other.runtime.load(card(model), "model", onnx_file)


def test_a_failed_build_leaves_no_plan(bench, onnx_file):
    bench.plan = None
    with pytest.raises(EngineError, match="twice: no such operator"):
        bench.runtime.build(card(), "model", onnx_file, lambda *_: None)
    with pytest.raises(EngineError, match="no plan"):
        bench.runtime.load(card(), "model", onnx_file)


def test_a_run_sets_shapes_then_copies_then_executes_then_waits(tmp_path, onnx_file, calls):
    bench = Bench(tmp_path, TensorRTSettings(transfer="copied"))
    engine = load(bench, onnx_file)
    calls.clear()
    result = engine.infer({"x": np.ones((2, 4), np.float32)})
    assert calls == [
        ("shape", "x", (2, 4)), ("to_device", 4096, 32), ("execute", 77), ("to_host", 8192, 24), ("wait",),
    ]  # fmt: skip
    assert result["y"].shape == (2, 3)
    engine.close()


def test_the_input_is_in_the_buffer_when_the_run_begins_and_the_result_is_a_copy(bench, onnx_file, monkeypatch):
    engine = load(bench, onnx_file)
    slots = engine._session._slots
    held = []
    execute = call_order.IExecutionContext.execute_async_v3

    def look(context, stream_handle):
        held.append(slots["x"].view((2, 4)).copy())
        return execute(context, stream_handle)

    monkeypatch.setattr(call_order.IExecutionContext, "execute_async_v3", look)
    given = np.arange(16, dtype=np.float32).reshape(4, 4)[::2]
    result = engine.infer({"x": given})["y"]
    assert np.array_equal(held[0], given)
    slots["y"].buffer.host[:] = 255
    assert not np.isnan(result).any()
    assert not np.shares_memory(result, slots["y"].buffer.host)


@pytest.mark.parametrize(
    ("transfer", "unified", "mapped"), [("auto", True, True), ("auto", False, False), ("copied", True, False), ("mapped", False, True)]
)
def test_memory_is_mapped_where_both_share_it(tmp_path, onnx_file, calls, transfer, unified, mapped):
    memory = call_order.Memory()
    memory.gpu = call_order.Gpu("GPU", (8, 7), "12.6", "12.6", unified)
    bench = Bench(tmp_path, TensorRTSettings(transfer=transfer), memory)
    load(bench, onnx_file)
    assert {call[2] for call in calls if call[0] == "allocate"} == {mapped}


def test_sizes_outside_the_plan_are_refused_before_anything_is_called(bench, onnx_file, calls):
    engine = load(bench, onnx_file)
    calls.clear()
    for n in (0, 9):
        with pytest.raises(EngineError, match=f"twice: n must be 1 to 8, got {n}"):
            engine.infer({"x": np.ones((n, 4), np.float32)})
    assert calls == []


def test_closing_frees_everything_once(bench, onnx_file, calls):
    engine = load(bench, onnx_file)
    calls.clear()
    engine.close()
    engine.close()
    assert calls == [("free", 4096), ("free", 8192)]
    assert not bench.memory.held
    with pytest.raises(EngineError, match="twice was closed"):
        engine.infer({"x": np.ones((1, 4), np.float32)})


@pytest.mark.parametrize("fails_at", [1, 2])
def test_without_memory_what_was_allocated_is_freed(tmp_path, onnx_file, fails_at):
    bench = Bench(tmp_path, memory=call_order.Memory(fails_at))
    with pytest.raises(EngineError, match="out of memory"):
        load(bench, onnx_file)
    assert not bench.memory.held


def test_a_plan_that_is_not_the_cards_is_refused_and_freed(bench, onnx_file):
    other = msgspec.structs.replace(MODEL, outputs={"z": Tensor(shape=["n", 3])})
    with pytest.raises(EngineError, match='output: the model has none called "z"'):
        load(bench, onnx_file, other)
    assert not bench.memory.held


def test_a_plan_that_tensorrt_rejects_gives_its_reason(bench, onnx_file):
    bench.plan = b"rejected"
    with pytest.raises(EngineError, match="TensorRT does not accept its plan: Version tag does not match"):
        load(bench, onnx_file)


def test_a_run_that_fails_gives_an_error_and_the_next_may_go_well(bench, onnx_file):
    engine = load(bench, onnx_file)
    call_order.Runtime.engine.context.fails = True
    with pytest.raises(EngineError, match="TensorRT failed: it gave no reason"):
        engine.infer({"x": np.ones((1, 4), np.float32)})
    call_order.Runtime.engine.context.fails = False
    engine.infer({"x": np.ones((1, 4), np.float32)})


@pytest.mark.parametrize(
    ("tensor", "said"),
    [
        (call_order.ITensor("y", call_order.DataType.BF16), "y has the type BF16, which numpy does not have"),
        (call_order.ITensor("y", shape=(-2, 3)), "the size of y depends on the values of the inputs"),
        (call_order.ITensor("y", location=call_order.TensorLocation.HOST), "y is read by the processor"),
    ],
)
def test_tensors_that_are_not_supported_are_refused(bench, onnx_file, monkeypatch, tensor, said):
    made = call_order.ICudaEngine(call_order.CALLS, outputs=[tensor])
    monkeypatch.setattr(call_order.Runtime, "deserialize_cuda_engine", lambda _self, _plan: made)
    with pytest.raises(EngineError, match=said):
        load(bench, onnx_file)
    assert not bench.memory.held


def test_all_calls_of_a_device_come_from_one_thread(bench, onnx_file, monkeypatch):
    threads = set()
    for owner, name in ((call_order.IExecutionContext, "execute_async_v3"), (call_order.Memory, "allocate"), (call_order.Memory, "free")):
        called = getattr(owner, name)

        def note(*arguments, _called=called, **named):
            threads.add(threading.current_thread())
            return _called(*arguments, **named)

        monkeypatch.setattr(owner, name, note)
    engines = [load(bench, onnx_file), load(bench, onnx_file)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: engines[n % 2].infer({"x": np.ones((n % 8 + 1, 4), np.float32)}), range(20)))
    for engine in engines:
        engine.close()
    assert len(threads) == 1
    assert threading.current_thread() not in threads


def test_in_the_background_a_plan_is_built_while_another_runtime_serves(tmp_path, onnx_file):
    bench = Bench(tmp_path, TensorRTSettings(build="in_background"))
    said = "it has no plan for this device yet; it is being built, and used from the next start"
    with pytest.raises(EngineError, match=said):
        bench.runtime.load(card(), "model", onnx_file)
    for thread in [one for one in threading.enumerate() if one.name == "tensorrt-build"]:
        assert thread.daemon, "the end of the process would wait for a build"
        thread.join(20)
    assert len(bench.requests) == 1
    bench.runtime.load(card(), "model", onnx_file).close()


def test_a_card_without_sizes_is_refused_before_a_build(bench, onnx_file):
    without = msgspec.structs.replace(MODEL, ranges={})
    with pytest.raises(EngineError, match=r'the card says no sizes for "n" of x: add ranges.n ='):
        bench.runtime.build(card(without), "model", onnx_file, lambda *_: None)
    assert profiles(Model(file="m", inputs={"x": Tensor(shape=[1, 4])}, outputs={})) == {}


def test_it_says_what_it_runs_on(bench):
    assert bench.runtime.describe() == "TensorRT 10.3.0, CUDA 12.6 (driver 12.6), Orin 8.7, unified memory, no memory, L4T 36.4.3"


def request(tmp_path, **changed):
    values = {
        "onnx": str(tmp_path / "model.onnx"), "plan": str(tmp_path / "plan"), "timing_cache": str(tmp_path / "cache"), "device": 0,
        "workspace_mib": 64, "optimisation_level": 4, "tf32": True, "outputs": ("y", "z"), "profiles": {"x": ((1, 4), (2, 4), (8, 4))},
    }  # fmt: skip
    return BuildRequest(**values | changed)


def build(wanted):
    lines = []
    importlib.import_module("edgemem_tensorrt.build").build(wanted, lines.append)
    return lines


def test_a_network_is_built_strongly_typed_within_its_limits(tmp_path):
    assert build(request(tmp_path)) == [BuildLine("Building", 0, 2), BuildLine("Building", 1, 2)]
    builder = call_order.Builder.last
    assert builder.network.flags == 1 << 1
    assert [one.name for one in builder.network.outputs] == ["y", "z"]
    assert builder.config.limits == {call_order.MemoryPoolType.WORKSPACE: 64 << 20}
    assert builder.config.builder_optimization_level == 4
    assert builder.config.flags == {call_order.BuilderFlag.TF32}
    assert [one.shapes for one in builder.config.profiles] == [{"x": ((1, 4), (2, 4), (8, 4))}]
    assert (tmp_path / "plan").read_bytes() == b"plan"


def test_a_network_without_free_sizes_has_no_profile_and_tf32_can_be_off(tmp_path):
    build(request(tmp_path, profiles={}, tf32=False))
    assert call_order.Builder.last.config.profiles == []
    assert call_order.Builder.last.config.flags == set()


@pytest.mark.parametrize(("before", "after"), [(None, b"+"), (b"known", b"known+"), (b"of another device", b"+")])
def test_timings_are_kept_for_the_next_build_unless_they_are_of_another_device(tmp_path, before, after):
    if before is not None:
        (tmp_path / "cache").write_bytes(before)
    build(request(tmp_path))
    assert (tmp_path / "cache").read_bytes() == after


@pytest.mark.parametrize(("model", "code", "problem"), [("model.onnx", 0, ""), ("unknown.onnx", 1, "No importer registered")])
def test_the_process_ends_with_its_last_line_and_a_code(tmp_path, model, code, problem):
    script = f"""
import sys
from pathlib import Path
from edgemem.extend.testing import load_file
call_order = load_file(Path({str(Path(__file__).with_name("call_order.py"))!r}))
sys.modules["tensorrt"] = call_order.module()
from edgemem_tensorrt import build
print("what a library prints is no line of the build")
sys.exit(build.main())
"""
    wanted = msgspec.json.encode(request(tmp_path, onnx=str(tmp_path / model)))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-uc", script], input=wanted, env=env, capture_output=True, check=False, timeout=60)
    assert done.returncode == code, done.stderr
    last = msgspec.json.decode(done.stdout.splitlines()[-1], type=BuildLine)
    assert (last.phase, problem in last.problem, bool(last.problem)) == ("", True, bool(problem))
    assert (tmp_path / "plan").exists() is (code == 0)


def test_what_cannot_be_read_or_built_says_why(tmp_path):
    with pytest.raises(EngineError, match=r"TensorRT 10\.3\.0 cannot read it: No importer registered for op: Einsum2; again"):
        build(request(tmp_path, onnx=str(tmp_path / "unknown.onnx")))
    call_order.Builder.fails = True
    with pytest.raises(EngineError, match=r"TensorRT 10\.3\.0 cannot build it: Could not find any implementation for node Conv_0"):
        build(request(tmp_path))
    call_order.Builder.broken = True
    with pytest.raises(RuntimeUnavailable, match=r"cannot make a Builder: .*nullptr; usually there is no working CUDA driver"):
        build(request(tmp_path))
    assert not (tmp_path / "plan").exists()
