"""`edgemem boards`, `doctor` and `config show` say which board this is and where values come from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TREES = Path(__file__).parent.parent / "device" / "boards"


def run(*arguments: str, **variables: str) -> str:
    command = [sys.executable, "-m", "edgemem", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_doctor_names_the_board_its_power_mode_and_missing_plugins(home: Path) -> None:
    assert home.name == "home"
    known = run("doctor", "--set", f"hardware.root={TREES / 'jetson-orin-nano-8gb'}", "--set", "hardware.plugins=['onnx','nothing-here']")
    line = 'NVIDIA Jetson Orin Nano 8 GB: file jetson-orin-nano-8gb, found by "nvidia,p3768-0000+p3767-0005-super"'
    assert f"ok      board           {line}" in known
    assert "ok      power mode      15W\n" in known
    todo = f"{'':24}to do: "
    assert f"note    board plugins   not installed: nothing-here\n{todo}pip install edgemem-nothing-here\n" in known
    other = json.loads(
        run("doctor", "--json", "--set", f"hardware.root={TREES / 'jetson-orin-nx-16gb'}", "--set", "hardware.power_modes=['15W','10W']")
    )
    (mode,) = [finding for finding in other["findings"] if finding["what"] == "power mode"]
    assert (mode["level"], mode["detail"]) == ("note", "25W")
    assert mode["todo"] == "the settings are made for 15W, 10W: sudo nvpmodel -m NUMBER"


def test_show_says_where_each_value_comes_from(home: Path) -> None:
    shown = run("config", "show", "--set", "board=raspberry-pi-5", "--set", "budget.disk=1GiB", EDGEMEM__BUDGET__FPS="0.5").splitlines()
    assert home.name == "home"
    assert 'budget.disk = "1GiB"  # --set budget.disk' in shown
    assert "budget.fps = 0.5  # environment EDGEMEM__BUDGET__FPS" in shown
    assert 'budget.ram = "2GiB"  # board raspberry-pi-5' in shown
    assert "budget.watts = 0.0  # default" in shown


def test_boards_lists_boards_and_deployments_and_this_one() -> None:
    root = f"hardware.root={TREES / 'jetson-thor'}"
    listed = json.loads(run("boards", "--json", "--set", root))
    kinds = {board["name"]: board["kind"] for board in listed["boards"]}
    assert kinds["pc"] == kinds["jetson-thor"] == "board"
    assert kinds["door-camera"] == "deployment"
    assert listed["here"] == "jetson-thor"
    assert run("boards", "--set", root).endswith("here: jetson-thor\n")
    assert run("boards", "--set", "board=none").endswith("here: no file of a board\n")


def test_doctor_says_that_a_board_is_unknown(home: Path, tmp_path: Path) -> None:
    assert home.parent == tmp_path
    (tmp_path / "proc" / "device-tree").mkdir(parents=True)
    (tmp_path / "proc" / "device-tree" / "model").write_bytes(b"Board X\0")
    said = run("doctor", "--set", f"hardware.root={tmp_path}")
    assert f"note    board           unknown (Board X): uses the file pc\n{'':24}to do: write a file for it, see docs/boards.md\n" in said
