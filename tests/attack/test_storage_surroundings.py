"""What happens around a memory: a file system that is read-only, and a wall clock that is set while a process writes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import simplejpeg

from edgemem.infer.roles import Space
from edgemem.records import US
from edgemem.remember.check import check_memory
from edgemem.remember.export import export
from edgemem.remember.store import NewDocument, NewMoment, Store
from edgemem.remember.view import View

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
CLI = (sys.executable, "-m", "edgemem")


def fill(directory):
    with Store.open(directory) as store:
        store.ensure_space(Space(name="looks", dim=8))
        with store.transaction() as tx:
            for number in range(6):
                jpeg = simplejpeg.encode_jpeg(np.full((16, 16, 3), number * 30, np.uint8), 90, "BGR")
                moment_id = tx.add_moment(
                    NewMoment(
                        stream="cam", seq=number, t_us=number * US, offset_us=number * US, width_px=16, height_px=16, sharpness=1.0,
                        jpeg=jpeg, vectors={"looks": np.eye(8, dtype=np.float32)[number]},
                    )
                )  # fmt: skip
                tx.add_document(
                    NewDocument(
                        kind="event", text=f"number {number}", stream="cam", t0_us=number * US, t1_us=number * US, offset_us=0,
                        known_us=number * US, origin="system", moment_id=moment_id,
                    )
                )  # fmt: skip


# A read-only file system


def may_mount() -> bool:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


def mounted_read_only(folder, *command):
    """Run a command in which `folder` is a read-only mount: (exit code, what it printed)."""
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    run = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, str(folder), *map(str, command)],
        capture_output=True, text=True, check=False, cwd=folder.parent, env=ENVIRONMENT, timeout=120,
    )  # fmt: skip
    return run.returncode, run.stdout + run.stderr


READING = (("ask", "what was number 3?"), ("search", "number"), ("timeline",), ("memory", "stats"), ("memory", "check"), ("show", "m1"))
WRITING = (
    ("memory", "compact"),
    ("forget", "--from", "1970-01-01", "--to", "1971-01-01"),
    ("memory", "pause"),
    ("memory", "import", "plain"),
)


@pytest.mark.skipif(not may_mount(), reason="only root may mount, and not everywhere")
@pytest.mark.parametrize("open_to_others", [False, True])
def test_on_a_read_only_file_system_asking_works_and_writing_says_why(tmp_path, open_to_others):
    """Also where an earlier version left the memory open to others, which cannot be mended there, and is said."""
    (tmp_path / "disk").mkdir()
    memory = tmp_path / "disk" / "memory"
    fill(memory)
    export(memory, tmp_path / "plain")
    if open_to_others:
        memory.chmod(0o755)
    before = {path: path.read_bytes() for path in memory.rglob("*") if path.is_file()}
    for command in READING:
        code, said = mounted_read_only(tmp_path / "disk", *CLI, *command, "--memory", memory)
        assert code in {0, 3}, (command, said)
        assert "Traceback" not in said
        assert ("that cannot be changed: Read-only file system" in said) is open_to_others, said
    for command in WRITING:
        code, said = mounted_read_only(tmp_path / "disk", *CLI, *command, "--memory", memory)
        assert code == 1, (command, said)
        assert "read-only" in said
        assert "Traceback" not in said
        assert len([line for line in said.splitlines() if line.startswith("edgemem: ")]) == 1
    assert {path: path.read_bytes() for path in memory.rglob("*") if path.is_file()} == before


# A clock that is set


WATCHER = """
import sys, time
from pathlib import Path
from edgemem.extend.testing import SyntheticCamera
from edgemem.remember.store import Store
from edgemem.records import Frame
from edgemem import clock
from edgemem.remember.tiers import AgeTiers
from edgemem.see.chains import Chain
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.segment import FixedWindow, FixedWindowSettings
from edgemem.see.select import KeepAll
from edgemem.see.sources.base import BaseSource
from edgemem.see.write import EventDocument

class Live(BaseSource):
    live, name, duration_us = True, "door", None
    def __init__(self):
        self._clock = clock.SteadyClock(kernel=lambda: 1000)
        self.t0_us, self._mono0_us, _ = self._clock.now()
        self.dropped = {}
    def frames(self):
        for picture in SyntheticCamera(float(sys.argv[2]) * 10, rate_fps=1.0, scene_s=5).frames():
            time.sleep(0.1)
            t_us, mono_us, error_us = self._clock.now()
            print(picture.seq, flush=True)
            yield Frame(stream="door", seq=picture.seq, t_us=t_us, offset_us=mono_us - self._mono0_us, image=picture.image,
                mono_us=mono_us, boot_id="this", error_us=error_us)

with Store.open(Path(sys.argv[1]), budget_bytes=64 << 20) as store:
    chains = [Chain(FixedWindow(FixedWindowSettings(seconds=1.0)), [EventDocument()])]
    Pipeline(Live(), PipelineParts(selector=KeepAll(), chains=chains, retainer=AgeTiers()), store).run()
"""
YEAR_S = 31_557_600
JUMPS = {
    "forward": [10 * YEAR_S],
    "back to 1970": [-int(time.time())],
    "an hour back": [-3600],
    "to and fro": [10 * YEAR_S, -3600, 0, -int(time.time()), 0, 5, -5, 0],
    "far": [200 * YEAR_S],
}


@pytest.fixture(scope="module")
def moved_clock(tmp_path_factory):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler on Linux to move the clock of a process")
    library = tmp_path_factory.mktemp("clock") / "moved_clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, Path(__file__).with_name("moved_clock.c"), "-ldl"], check=True)
    return library


@pytest.mark.parametrize("name", sorted(JUMPS))
def test_a_clock_that_is_set_while_a_process_writes_reorders_nothing(tmp_path, moved_clock, name):
    """A real process whose wall clock jumps: order and number of what was seen stay, nothing fades, and the memory is sound."""
    offset, memory = tmp_path / "offset", tmp_path / "memory"
    offset.write_text("0")
    began_us = time.time_ns() // 1000
    process = subprocess.Popen(
        [sys.executable, "-c", WATCHER, str(memory), "4"], stdout=subprocess.PIPE, text=True,
        env={**ENVIRONMENT, "LD_PRELOAD": str(moved_clock), "EDGEMEM_CLOCK": str(offset)},
    )  # fmt: skip
    process.stdout.readline()
    for seconds in JUMPS[name]:
        time.sleep(0.4)
        (tmp_path / "next").write_text(str(seconds))
        (tmp_path / "next").rename(offset)
    seen = 1 + len(process.stdout.read().split())
    process.stdout.close()
    assert process.wait() == 0
    assert check_memory(memory) == []
    with View.open(memory) as view:
        moments = view.moments()
        assert [one.seq for one in moments] == sorted(one.seq for one in moments)
        assert [one.offset_us for one in moments] == sorted(one.offset_us for one in moments)
        assert 3 < len(moments) <= seen
        assert all(began_us - 5 * US <= one.t_us <= began_us + 600 * US for one in moments), "a plausible clock is not left for another"
