"""A disk that fails at any write: one clear line, and no acknowledged data is lost."""

from __future__ import annotations

import errno
import importlib
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from edgemem.remember.check import check_memory
from edgemem.remember.disk import keys
from edgemem.remember.disk.error_translation import explain
from edgemem.remember.disk.keys import Key
from edgemem.remember.store import Store
from edgemem.secret import reveal

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
torture_commands = importlib.import_module("torture_commands")

WRITER = """
import sys
from pathlib import Path
import numpy as np
from edgemem.errors import EdgememError
from edgemem.infer.roles import Space
from edgemem.records import US, Observation
from edgemem.remember.store import NewDocument, NewMoment, Store

def work(directory):
    with Store.open(Path(directory), budget_bytes=64 << 20) as store:
        store.ensure_space(Space(name="test", dim=8))
        for number in range(4):
            with store.transaction() as tx:
                moment_id = tx.add_moment(NewMoment(stream="cam", seq=number, t_us=number * US, offset_us=number * US, width_px=1,
                    height_px=1, sharpness=1, jpeg=bytes([number]) * 6000, vectors={"test": np.eye(8, dtype=np.float32)[number]},
                    observations=(Observation("label", "cat", 0.5),)))
                tx.add_document(NewDocument(kind="event", text=f"number{number}", stream="cam", t0_us=number, t1_us=number,
                    offset_us=0, known_us=0, origin="system", moment_id=moment_id))
                if number == 2:
                    tx.drop_moment(moment_id - 1)
            print(number, flush=True)
            store._checkpoint() if number % 2 else store.maintain()

try:
    for directory in sys.argv[1:]:
        work(directory)
except EdgememError as error:
    sys.exit(f"edgemem: {error}")
"""
FAULTS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "read-only": errno.EROFS, "short write": -1}


def write(shim, directory, at, fault, **more):
    """Run the writer with its n-th write failing: (numbers that were acknowledged, last line on stderr, exit code)."""
    shutil.rmtree(directory, ignore_errors=True)
    told = {"EDGEMEM_FAIL_IN": str(directory), "EDGEMEM_FAIL_AT": str(at), "EDGEMEM_FAIL_WITH": str(fault)}
    environment = {**os.environ, "LD_PRELOAD": str(shim), **told, **more}
    run = subprocess.run([sys.executable, "-c", WRITER, str(directory)], capture_output=True, text=True, check=False, env=environment)
    return [int(line) for line in run.stdout.split()], run.stderr.strip().splitlines(), run.returncode


def sound(directory, acknowledged):
    """Open it like the next run, and find all acknowledged data."""
    with Store.open(directory) as store, store.view() as view:
        documents = [document.text for document in view.documents()]
        assert documents[: len(acknowledged)] == [f"number{number}" for number in acknowledged]
        assert len(documents) <= len(acknowledged) + 1
        for moment in view.moments():
            assert view.picture(moment.id) == bytes([moment.seq]) * 6000
        assert len(view.moments()) == len(documents) - (len(documents) > 2)
    assert check_memory(directory) == []


def fail_at(shim, directory, at, name, *, once, **more):
    more |= {"EDGEMEM_FAIL_ONCE": "1"} if once else {}
    acknowledged, said, code = write(shim, directory, at, FAULTS[name], **more)
    errors = [line for line in said if line.startswith("edgemem: ")]
    assert code == 0 or len(errors) == 1, (at, name, once, said)
    assert not any("Traceback" in line for line in said), (at, name, once, said)
    assert code or len(acknowledged) == 4
    sound(directory, acknowledged)


@pytest.mark.parametrize("key", [None, Key("6b" * 32, "a test")], ids=["plain", "encrypted"])
def test_at_every_write_boundary(shim, tmp_path, key):
    """Writes, syncs and truncations from the first to the last of a short life fail in turn, with each fault, for good or only once."""
    directory, more = tmp_path / "memory", {} if key is None else {keys.ENVIRONMENT_KEY: reveal(key.secret)}
    _, said, _ = write(shim, directory, 0, 0, EDGEMEM_FAIL_COUNT="1", **more)
    boundaries = int(said[-1].split()[1])
    assert boundaries > 30
    with keys.using(key):
        for i, at in enumerate(sorted({*range(1, 6), *range(1, boundaries + 1, max(1, boundaries // (64 if key is None else 32)))})):
            fail_at(shim, directory, at, list(FAULTS)[i % 4], once=i // 4 % 2 == 0, **more)


COMMAND = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from edgemem.errors import EdgememError
from torture_commands import COMMANDS
try:
    COMMANDS[sys.argv[2]]().run(Path(sys.argv[3]))
except EdgememError as error:
    sys.exit(f"edgemem: {error}")
"""


def run_failing(shim, name, folder, **told):
    """One command with a write that fails: (exit code, its lines on stderr)."""
    environment = {**os.environ, "LD_PRELOAD": str(shim), "EDGEMEM_FAIL_IN": str(folder), **told}
    command = [sys.executable, "-c", COMMAND, str(TOOLS), name, str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return run.returncode, run.stderr.strip().splitlines()


@pytest.mark.parametrize("name", [name for name in torture_commands.COMMANDS if name != "daemon"])
def test_commands_on_a_disk_that_fails_leave_the_old_or_the_new(shim, tmp_path, name):
    """What holds after a kill holds after a failed write: forgetting, encryption, copies and the way back, plain and encrypted."""
    command, base, work = torture_commands.COMMANDS[name](), tmp_path / "base", tmp_path / "work"
    base.mkdir(mode=0o700)
    command.prepare(base)
    shutil.copytree(base, work)
    code, said = run_failing(shim, name, work, EDGEMEM_FAIL_COUNT="1")
    boundaries = max(int(line.split()[1]) for line in said if line.startswith("writes "))
    assert code == 0
    assert boundaries > 5
    for i, at in enumerate(sorted({1, 2, *range(3, boundaries + 1, max(1, boundaries // 5))})):
        shutil.rmtree(work)
        shutil.copytree(base, work)
        fault = FAULTS[list(FAULTS)[i % 4]]
        once = {"EDGEMEM_FAIL_ONCE": "1"} if i // 4 % 2 else {}
        code, said = run_failing(shim, name, work, EDGEMEM_FAIL_AT=str(at), EDGEMEM_FAIL_WITH=str(fault), **once)
        assert not any("Traceback" in line for line in said), (at, fault, said)
        assert code == 0 or sum(line.startswith("edgemem: ") for line in said) == 1, (at, fault, said)
        command.verify(work, finished=code == 0)


def test_an_error_of_the_disk_without_a_free_byte_is_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite says "disk I/O error" where it cannot make its shared memory."""
    error = sqlite3.OperationalError("disk I/O error")
    assert "the disk reports an I/O error" in str(explain(tmp_path, error))
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=0))
    assert "the disk is full" in str(explain(tmp_path, error))
    assert "the disk is full" not in str(explain(tmp_path, sqlite3.OperationalError("database is locked")))
    assert "I/O error" in str(explain(tmp_path, OSError(5, "Input/output error")))

    def gone(_: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(os, "statvfs", gone)
    assert "the disk reports an I/O error" in str(explain(tmp_path, error))
