"""How a command ends its process."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import atexit, sys, threading
from edgemem.cli import main
from edgemem.see import frame_slot

atexit.register(lambda: print("taken down"))
if {stuck}:
    threading.Thread(target=threading.Event().wait, name={name!r}, daemon=True).start()
print("said", end="")
main._leave(7)
"""


STUCK, ENDED = "said", "saidtaken down\n"


@pytest.mark.parametrize(
    ("stuck", "name", "said"),
    [(False, "", ENDED), (True, "edgemem-capture", STUCK), (True, "edgemem-see-yard", STUCK), (True, "another", ENDED)],
)
def test_a_process_whose_camera_hangs_ends_at_once_and_says_everything(stuck: bool, name: str, said: str) -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT.format(stuck=stuck, name=name)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, said, "")
