"""A writer that is killed at any time loses no acknowledged data."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from edgemem.records import US
from edgemem.remember.store import Store

WRITER = """
import sys
from pathlib import Path
import numpy as np
import pytest
from edgemem.infer.roles import Space
from edgemem.records import US, Observation
from edgemem.remember.store import NewDocument, NewMoment, Store

store = Store.open(Path(sys.argv[1]))
store.ensure_space(Space(name="test/16", dim=16))
rng = np.random.default_rng(int(sys.argv[2]))
number = int(sys.argv[2])
while True:
    with store.transaction() as tx:
        vector = rng.normal(size=16).astype(np.float32)
        moment_id = tx.add_moment(NewMoment(stream="cam", seq=number, t_us=number * US, offset_us=number * US, width_px=1, height_px=1,
            sharpness=1, jpeg=rng.bytes(20_000), vectors={"test/16": vector / np.linalg.norm(vector)},
            observations=(Observation("label", "cat", 0.5),)))
        tx.add_document(NewDocument(kind="event", text=f"number{number}", stream="cam", t0_us=number, t1_us=number, offset_us=0,
            known_us=0, origin="system", moment_id=moment_id))
        if number % 3 == 2:
            tx.drop_moment(moment_id - 1)
        tx.set_state("number", str(number).encode())
    print(number, flush=True)
    if number % 5 == 0:
        store.maintain()
    number += 1
"""


def test_killed_again_and_again(directory, making):
    rng = np.random.default_rng(7)
    acknowledged = -1
    for _ in range(5):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(directory), str(acknowledged + 1)], stdout=subprocess.PIPE, text=True)
        first = int(writer.stdout.readline())
        time.sleep(rng.uniform(0, 0.25))
        os.kill(writer.pid, signal.SIGKILL)
        said = [first, *map(int, writer.stdout.read().split())]
        writer.stdout.close()
        writer.wait()
        with Store.open(directory) as store, store.view() as view:
            number = int(store.state("number"))
            assert number >= said[-1]
            documents = view.documents()
            assert [d.text for d in documents] == [f"number{i}" for i in range(number + 1)]
            moments = view.moments()
            hits = view.vector_search("test/16", making.unit(1), 10**6)
            assert {moment_id for moment_id, _ in hits} == {m.id for m in moments} == {d.moment_id for d in documents} - {None}
            assert view.names("label") == {"cat": len(moments)}
            assert all(len(view.picture(m.id)) == 20_000 for m in moments)
            (row,) = store._connection.execute("PRAGMA integrity_check").fetchall()
            assert row == ("ok",)
            assert store._connection.execute("PRAGMA foreign_key_check").fetchall() == []
            store._connection.execute("INSERT INTO document_fts (document_fts) VALUES ('integrity-check')")
            acknowledged = number
    assert acknowledged > 20


@pytest.mark.parametrize(("only", "cycles"), [("write", 30), ("ingest,forget,encrypt,compact,import,backup,daemon,restore,export", 27)])
def test_kills_under_load_lose_nothing(only, cycles):
    """The short run of `make torture`: fading, vacuum, checkpoints, forgetting and readers go on while what writes is killed."""
    tool = Path(__file__).parents[2] / "tools" / "torture.py"
    command = [sys.executable, str(tool), "--cycles", str(cycles), "--only", only]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "nothing lost" in run.stdout


def test_a_frame_that_was_kept_before_is_known_by_its_place_in_the_recording(directory, making):
    """Not by its number: after a gap in a recording a later run counts otherwise."""
    with Store.open(directory) as store:
        store.ensure_space(making.space)
        with store.transaction() as tx:
            kept = tx.add_moment(making.moment(7 * US))
            assert tx.find_moment(msgspec.structs.replace(making.moment(7 * US), seq=9)) == kept
            assert tx.find_moment(msgspec.structs.replace(making.moment(7 * US), offset_us=6 * US)) is None
            assert tx.find_moment(msgspec.structs.replace(making.moment(7 * US), t_us=6 * US)) is None
            assert tx.find_moment(making.moment(7 * US, stream="other")) is None
