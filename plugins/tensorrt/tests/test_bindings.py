"""The plugin against the real Python bindings of TensorRT, over libraries that return null pointers: names, types, and what is said.

Nothing can be built or run this way; the bindings are the ones that a board has, the libraries are empty.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgemem.extend.testing import load_file

tool = load_file(Path(__file__).resolve().parents[3] / "tools" / "tensorrt_types.py")
call_order = load_file(Path(__file__).with_name("call_order.py"))


def run(script, env, *arguments):
    done = subprocess.run([sys.executable, "-c", script, *arguments], env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


MAKE = """
import sys
from pathlib import Path
from edgemem.extend import RuntimeUnavailable
from edgemem_tensorrt import TensorRTSettings, register_runtimes
from edgemem.extend import RuntimeContext
try:
    register_runtimes()[0].factory(TensorRTSettings(), RuntimeContext(Path(sys.argv[1]), 1))
except RuntimeUnavailable as error:
    print(error)
"""


def test_without_bindings_the_error_says_what_to_install(tmp_path):
    if importlib.util.find_spec("tensorrt"):
        pytest.skip("TensorRT is installed")
    said = run(MAKE, {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, str(tmp_path))
    assert said.startswith("TensorRT cannot be imported: No module named 'tensorrt'; install its Python bindings")


def test_without_libraries_the_missing_one_is_named(bindings, tmp_path):
    env = tool.environment(bindings, tool.default_folder())
    del env["LD_LIBRARY_PATH"]
    said = run(MAKE, env, str(tmp_path))
    assert said.startswith("TensorRT cannot be imported: lib")
    assert f".so.{bindings.major}: cannot open shared object file" in said
    assert "install TensorRT's libraries in the version of the bindings" in said


def test_without_a_library_for_device_memory_both_are_named(bindings, tmp_path):
    if importlib.util.find_spec("cuda") or importlib.util.find_spec("pycuda"):
        pytest.skip("a library for device memory is installed")
    said = run(MAKE, tool.environment(bindings, tool.default_folder()), str(tmp_path))
    assert said.startswith("no library for device memory can be imported (cuda-bindings: ")
    assert "pycuda: No module named 'pycuda'" in said
    assert "pip install 'edgemem-tensorrt[cuda12]'" in said


def test_a_null_pointer_becomes_an_error_that_names_the_cause(bindings, tmp_path):
    """What TensorRT gives without a working CUDA driver (NVIDIA/TensorRT#2913)."""
    script = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from call_order import Memory
from edgemem.extend import RuntimeUnavailable
from edgemem_tensorrt import TensorRTSettings
from edgemem_tensorrt.plan import PlanStore
from edgemem_tensorrt.runtime import TensorRTRuntime
from edgemem_tensorrt.thread import DeviceThread
folder = Path(sys.argv[1])
runtime = TensorRTRuntime(TensorRTSettings(), PlanStore(folder, folder), sys.argv[3], DeviceThread(Memory), "")
try:
    runtime._started()
except RuntimeUnavailable as error:
    print(error)
"""
    env = tool.environment(bindings, tool.default_folder())
    said = run(script, env, str(tmp_path), str(Path(__file__).parent), bindings.version)
    assert said.startswith(f"TensorRT {bindings.version} cannot make a Runtime: pybind11::init(): factory function returned nullptr")
    assert "no working CUDA driver or GPU" in said


def test_the_process_that_builds_says_the_same(bindings, tmp_path):
    request = {
        "onnx": str(tmp_path / "m.onnx"), "plan": str(tmp_path / "plan"), "timing_cache": str(tmp_path / "cache"), "device": 0,
        "workspace_mib": 64, "optimisation_level": 3, "tf32": True, "outputs": [], "profiles": {},
    }  # fmt: skip
    env = tool.environment(bindings, tool.default_folder())
    command = [sys.executable, "-m", "edgemem_tensorrt.build"]
    done = subprocess.run(command, input=json.dumps(request), env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1, done.stderr
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["problem"].startswith(f"TensorRT {bindings.version} cannot make a Builder: pybind11::init()")
    assert not (tmp_path / "plan").exists()


def test_the_stand_in_has_no_name_that_the_bindings_do_not_have(bindings):
    """Otherwise the tests of the order of calls would test what no board has."""
    module = call_order.module()
    used = {
        name: sorted(each for each in vars(value) if not each.startswith("_"))
        for name, value in vars(module).items()
        if isinstance(value, type) and not name.startswith("_") and name not in {"Memory", "Gpu", "Buffer"}
    }
    own = {
        "ITensor": {"location"},
        "ParserError": {"text"},
        "Builder": {"last", "broken", "fails"},
        "Runtime": {"engine"},
        "IBuilderConfig": set(),
    }
    script = """
import json, sys
import tensorrt
for owner, names in json.loads(sys.argv[1]).items():
    for name in names:
        if not hasattr(getattr(tensorrt, owner), name):
            print(f"{owner}.{name}")
"""
    wanted = {owner: [name for name in names if name not in own.get(owner, ())] for owner, names in used.items()}
    if bindings.major > 10:
        wanted["NetworkDefinitionCreationFlag"].remove("EXPLICIT_BATCH")
    missing = run(script, tool.environment(bindings, tool.default_folder()), json.dumps(wanted))
    assert missing == ""
    assert len(wanted) > 15


@pytest.mark.slow
def test_every_call_has_the_types_of_the_bindings_and_misuse_is_found(bindings):
    assert tool.check(bindings, tool.default_folder()) == []


@pytest.mark.slow
def test_the_check_of_types_finds_a_wrong_call_in_the_plugin(bindings, tmp_path, monkeypatch):
    plugin = tmp_path / "edgemem_tensorrt"
    plugin.mkdir()
    for path in (tool.PLUGIN / "edgemem_tensorrt").glob("*.py"):
        (plugin / path.name).write_text(path.read_text().replace("execute_async_v3(", "execute_async_v2("))
    types = tool.stubs(bindings, tool.default_folder())
    monkeypatch.setattr(tool, "PLUGIN", tmp_path)
    found = tool._mypy([str(plugin / "session.py")], types, tool.default_folder())
    assert any('"IExecutionContext" has no attribute "execute_async_v2"' in line for line in found), found


@pytest.mark.parametrize("version", ["12.9", "13.5"])
def test_without_a_driver_cuda_says_so_in_its_own_words(version):
    """The real cuda-bindings: every name that the adapter uses is there, and the first call fails for want of a driver."""
    try:
        packages = tool.cuda_bindings(version, tool.default_folder())
    except tool.UnavailableError as reason:
        pytest.skip(str(reason))
    source = (tool.PLUGIN / "edgemem_tensorrt" / "memory_cuda.py").read_text()
    names = sorted(
        {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "cudart"}
    )
    assert len(names) > 12
    script = """
import sys
from cuda.bindings import runtime
print([name for name in sys.argv[1:] if not hasattr(runtime, name)])
from edgemem_tensorrt.memory import open_memory
from edgemem.extend import RuntimeUnavailable
if runtime.cudaGetDeviceCount()[0]:
    try:
        open_memory("auto", 0)
    except RuntimeUnavailable as error:
        print(error)
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), *sys.path])}
    missing, *said = run(script, env, *names).splitlines()
    assert missing == "[]"
    if not said:
        pytest.skip("there is a GPU")
    assert said[0].startswith("no GPU can be used: cudaGetDeviceCount: ")
    assert "(CUDA error " in said[0]
