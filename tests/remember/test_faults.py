"""A disk that fails at any write: one clear line, and no acknowledged data is lost."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys

from edgemem.remember.check import check_memory
from edgemem.remember.store import Store

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


def fail_at(shim, directory, at, name, *, once):
    more = {"EDGEMEM_FAIL_ONCE": "1"} if once else {}
    acknowledged, said, code = write(shim, directory, at, FAULTS[name], **more)
    errors = [line for line in said if line.startswith("edgemem: ")]
    assert code == 0 or len(errors) == 1, (at, name, once, said)
    assert not any("Traceback" in line for line in said), (at, name, once, said)
    assert code or len(acknowledged) == 4
    sound(directory, acknowledged)


def test_at_every_write_boundary(shim, tmp_path):
    """Writes, syncs and truncations from the first to the last of a short life fail in turn, with each fault, for good or only once."""
    directory = tmp_path / "memory"
    _, said, _ = write(shim, directory, 0, 0, EDGEMEM_FAIL_COUNT="1")
    boundaries = int(said[-1].split()[1])
    assert boundaries > 30
    for i, at in enumerate(sorted({*range(1, 6), *range(1, boundaries + 1, max(1, boundaries // 64))})):
        fail_at(shim, directory, at, list(FAULTS)[i % 4], once=i // 4 % 2 == 0)
