"""What a signal asks for is done, whatever the main thread is about at that moment."""

from __future__ import annotations

import subprocess
import sys

import pytest

HELD = """
import os, signal, sys, threading
from edgemem.see.signals import on_hangup, stop_on_signals
asked, held, done = threading.Event(), threading.Lock(), threading.Event()
def action():
    asked.set()
    if held.acquire(timeout=5):
        done.set()
number = getattr(signal, sys.argv[1])
before = signal.getsignal(number)
with (on_hangup if number == signal.SIGHUP else stop_on_signals)(action):
    with held:
        os.kill(os.getpid(), number)
        asked.wait(5)
    assert done.wait(5)
assert signal.getsignal(number) is before
print("done")
"""
"""A lock that the action needs is held by the main thread when the signal comes: as the lock of an Event that it starts to wait for."""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_does_not_wait_for_the_thread_that_it_interrupts(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", HELD, name], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


HANGS = """
import os, signal, threading
from edgemem.see.signals import stop_on_signals
asked = threading.Event()
def hangs():
    asked.set()
    threading.Event().wait()
with stop_on_signals(hangs):
    os.kill(os.getpid(), signal.SIGTERM)
    assert asked.wait(20)
print("done")
"""
PATIENT = """
import os, signal, threading, time
from edgemem.see.signals import stop_on_signals
asked = threading.Event()
with stop_on_signals(asked.set, 0.2):
    os.kill(os.getpid(), signal.SIGINT)
    assert asked.wait(20)
    time.sleep(1.0)
print("done")
"""


@pytest.mark.parametrize("script", [HANGS, PATIENT], ids=["what is asked for hangs", "an interrupt is not repeated"])
def test_a_process_ends_in_its_own_time(script: str) -> None:
    """An action that hangs does not keep it, and only SIGTERM comes a second time: whoever pressed Ctrl-C may do so again."""
    done = subprocess.run(
        [sys.executable, "-c", f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{script}"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
