"""Freed memory goes back to the system, whatever number of threads allocate."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from edgemem import allocation

if not sys.platform.startswith("linux"):
    pytest.skip("the GNU C library alone", allow_module_level=True)

THREADS = """
import ctypes, sys, threading
from edgemem import allocation
if sys.argv[1] == "bounded":
    allocation.bound_heap()
together = threading.Barrier(9)
def work():
    together.wait()
    blocks = [bytearray(50_000) for _ in range(200)]
    together.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
together.wait(); together.wait()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""


def heaps(how):
    run = subprocess.run([sys.executable, "-c", THREADS, how], capture_output=True, text=True, check=True)
    return run.stdout.count("<heap nr=")


def test_threads_share_few_arenas():
    if heaps("as it is") < 4:
        pytest.skip("this C library gives out few arenas by itself")
    assert heaps("bounded") <= 2


def test_what_is_freed_is_given_back_now_and_then(monkeypatch):
    class Library:
        trims = 0

        def malloc_trim(self, keep):
            assert isinstance(keep, ctypes.c_size_t)
            Library.trims += 1

    now_s = [100.0]
    monkeypatch.setattr(allocation, "_c_library", Library)
    monkeypatch.setattr(allocation.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(allocation, "_given_back_s", [0.0])
    for second in (100.0, 101.0, 104.9, 105.0, 109.0, 110.5):
        now_s[0] = second
        allocation.give_back()
    assert Library.trims == 3


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(allocation, "_c_library", lambda: None)
    allocation.bound_heap()
    allocation.give_back()
