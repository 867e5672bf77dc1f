"""What remains after a power failure in the worst case: every file as of its last sync."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from edgemem.remember.check import check_memory
from edgemem.remember.store import Store

COMMITS = 300
WRITER = """
import os, sys
from pathlib import Path
from edgemem.records import US
from edgemem.remember.store import NewMoment, Store

store = Store.open(Path(sys.argv[1]), durability=sys.argv[2])
for number in range(int(sys.argv[3])):
    with store.transaction() as tx:
        tx.add_moment(NewMoment(stream="cam", seq=number, t_us=number * US, offset_us=number * US, width_px=1, height_px=1, sharpness=1,
            jpeg=number.to_bytes(4, "big") * 10_000, vectors={}))
    if number % 10 == 0:
        store.maintain()
os._exit(0)
"""


@pytest.mark.parametrize(("durability", "least"), [("full", COMMITS), ("normal", COMMITS // 3)])
def test_a_power_cut_takes_nothing_under_full_and_the_last_few_megabytes_under_normal(tmp_path, shim, durability, least):
    directory, left = tmp_path / "memory", tmp_path / "left"
    left.mkdir()
    told = {"LD_PRELOAD": str(shim), "EDGEMEM_FAIL_IN": str(directory), "EDGEMEM_SYNCED": str(left)}
    subprocess.run([sys.executable, "-c", WRITER, str(directory), durability, str(COMMITS)], check=True, env={**os.environ, **told})
    for path in left.iterdir():
        if not (directory / path.name).exists():  # SQLite syncs the directory after it removes a journal
            path.unlink()
    with Store.open(left) as store, store.view() as view:
        kept = [moment.seq for moment in view.moments()]
    assert kept == list(range(len(kept)))
    assert len(kept) >= least
    assert len(kept) == COMMITS or durability == "normal"
    assert (COMMITS - len(kept)) * 40_000 < 9 << 20  # the log is synced before it is this long
    assert check_memory(left) == []
