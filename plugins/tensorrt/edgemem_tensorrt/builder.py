"""Runs the process that builds a plan: one at a time on a machine, with a time limit and its progress."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from edgemem.extend import EngineError, Progress, change_or_create, make_directory
from edgemem_tensorrt.request import BuildLine, BuildRequest

COMMAND = (sys.executable, "-m", "edgemem_tensorrt.build")


def run_build(request: BuildRequest, name: str, lock: Path, progress: Progress, timeout_s: float, command: Sequence[str] = COMMAND) -> None:
    """Build a plan in a process of its own, so that its memory is returned and a crash does no harm.

    Only one build runs at a time: boards have little memory, and timings that are taken side by side are wrong. Raises EngineError with the
    reason if it fails, ends without a word or takes longer than `timeout_s`.
    """
    late = threading.Event()
    with _alone(lock, name, progress), tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors) as process:
            timer = threading.Timer(timeout_s, _end, (process, late))
            timer.start()
            try:
                last = _talk(process, request, name, progress)
            finally:
                timer.cancel()
                process.kill()
        if late.is_set():
            raise EngineError(f"{name}: the build took longer than {timeout_s:.0f} s and was ended; set build_timeout_s")
        if last is None or last.phase:
            raise EngineError(f"{name}: the build {_how_it_ended(process.returncode, errors.fileno())}")
        if last.problem:
            raise EngineError(f"{name}: {last.problem}")


def _end(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _talk(process: subprocess.Popen[bytes], request: BuildRequest, name: str, progress: Progress) -> BuildLine | None:
    """Give the process its request and follow its lines; returns the last one."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(msgspec.json.encode(request))
        process.stdin.close()
    except BrokenPipeError:  # it ended at once; why is on its standard error
        return None
    last = None
    for text in process.stdout:
        try:
            last = msgspec.json.decode(text, type=BuildLine)
        except msgspec.MsgspecError:
            continue
        if last.phase:
            progress(f"{name}: {last.phase}", last.done, last.total)
    process.wait()
    return last


def _how_it_ended(code: int, errors: int) -> str:
    """For a process that did not say why it ended."""
    if code == -9:
        return "was killed, most likely for want of memory; set a smaller workspace_mib, or stop other programs"
    size = os.fstat(errors).st_size
    tail = os.pread(errors, 2000, max(0, size - 2000)).decode("utf-8", "replace").strip().splitlines()
    return f"ended with code {code}: {tail[-1] if tail else 'without a word'}"


@contextmanager
def _alone(lock: Path, name: str, progress: Progress) -> Iterator[None]:
    """Hold the lock of builds; it is released with its descriptor, also when the process dies."""
    make_directory(lock.parent)
    descriptor = change_or_create(lock)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"{name}: waits for another build", 0, 0)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
