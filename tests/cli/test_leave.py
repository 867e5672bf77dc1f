"""How a command ends its process."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from edgemem.cli.main import main

SCRIPT = """
import atexit, sys, threading
from edgemem.cli.main import program

atexit.register(lambda: print("taken down"))
if {stuck}:
    threading.Thread(target=threading.Event().wait, name={name!r}, daemon=True).start()
print("said", end="")
sys.argv = ["edgemem", "no-such-command"]
program()
"""


STUCK, ENDED = "said", "saidtaken down\n"


@pytest.mark.parametrize(
    ("stuck", "name", "said"),
    [(False, "", ENDED), (True, "edgemem-capture", STUCK), (True, "edgemem-see-yard", STUCK), (True, "another", ENDED)],
)
def test_a_process_whose_camera_hangs_ends_at_once_and_says_everything(stuck: bool, name: str, said: str) -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT.format(stuck=stuck, name=name)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, said)
    assert ended.stderr.count("\n") == 1
    assert "no-such-command" in ended.stderr


def test_a_reader_that_has_seen_enough_is_no_failure() -> None:
    with subprocess.Popen([sys.executable, "-m", "edgemem", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60.0) == 0


def test_a_command_run_inside_another_process_never_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    go_on = threading.Event()
    waiting = threading.Thread(target=go_on.wait, name="edgemem-capture", daemon=True)
    waiting.start()
    try:
        with pytest.raises(SystemExit) as ended:
            main(["--version"])
    finally:
        go_on.set()
        waiting.join()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("edgemem")
