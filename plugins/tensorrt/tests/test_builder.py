"""The process that builds: its progress, its failures, its time limit, and that only one runs. The process is real; it builds nothing."""

from __future__ import annotations

import sys
import threading
import time

import pytest
from edgemem_tensorrt.builder import run_build
from edgemem_tensorrt.request import BuildRequest

from edgemem.extend import EngineError

REQUEST = BuildRequest(
    onnx="model.onnx",
    plan="plan",
    timing_cache="cache",
    device=0,
    workspace_mib=64,
    optimisation_level=3,
    tf32=True,
    outputs=("y",),
    profiles={},
)
GOOD = """
import json, sys
request = json.load(sys.stdin)
for step in range(3):
    print(json.dumps({"phase": "Building " + request["onnx"], "done": step + 1, "total": 3}), flush=True)
print("something that a library prints", flush=True)
print("{}", flush=True)
"""


def build(tmp_path, script, progress=lambda *_: None, timeout_s=20.0):
    run_build(REQUEST, "nanodet", tmp_path / "build.lock", progress, timeout_s, (sys.executable, "-c", script))


def test_its_steps_are_shown(tmp_path):
    seen = []
    build(tmp_path, GOOD, lambda *step: seen.append(step))
    assert seen == [("nanodet: Building model.onnx", step, 3) for step in (1, 2, 3)]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            'import sys; sys.stdin.read(); print(\'{"problem": "no such operator: Einsum"}\'); sys.exit(1)',
            "^nanodet: no such operator: Einsum$",
        ),
        ("import sys; sys.stdin.read(); raise SystemExit('Could not load library libcudart')", "code 1: Could not load library libcudart"),
        ("import sys; sys.stdin.read(); raise SystemExit('first' + 'x' * 9000 + '\\nCUDA error 2')", "code 1: CUDA error 2$"),
        ("import sys; sys.stdin.read()", "ended with code 0: without a word"),
        ('import sys; sys.stdin.read(); print(\'{"phase": "Building"}\'); sys.exit(3)', "ended with code 3"),
        (
            "import os, sys; sys.stdin.read(); os.kill(os.getpid(), 9)",
            "was killed, most likely for want of memory; set a smaller workspace_mib",
        ),
        ("raise SystemExit(4)", "ended with code 4"),
    ],
)
def test_a_failure_says_why(tmp_path, script, said):
    with pytest.raises(EngineError, match=said):
        build(tmp_path, script)


def test_a_build_that_hangs_is_ended(tmp_path):
    began = time.monotonic()
    with pytest.raises(EngineError, match="took longer than 1 s and was ended; set build_timeout_s"):
        build(tmp_path, "import time; time.sleep(60)", timeout_s=1.0)
    assert time.monotonic() - began < 30


def test_builds_wait_for_one_another(tmp_path):
    """Each notes when it begins and ends; no two overlap."""
    script = f"""
import sys, time
sys.stdin.read()
with open({str(tmp_path / "log")!r}, "a") as log:
    log.write("begin\\n"); log.flush(); time.sleep(0.3); log.write("end\\n")
print("{{}}")
"""
    waited = []
    threads = [threading.Thread(target=build, args=(tmp_path, script, lambda *step: waited.append(step))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "log").read_text().split() == ["begin", "end"] * 3
    assert set(waited) == {("nanodet: waits for another build", 0, 0)}


def test_a_failed_build_leaves_the_lock_free(tmp_path):
    with pytest.raises(EngineError):
        build(tmp_path, "raise SystemExit(1)")
    build(tmp_path, GOOD)
