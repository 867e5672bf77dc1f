"""Jobs: postponed work is done once, even if the process ends several times in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from edgemem.records import US
from edgemem.remember.check import check_memory
from edgemem.remember.forget import Wanted, forget
from edgemem.remember.rows.jobs import MOST_ATTEMPTS
from edgemem.remember.store import Store
from edgemem.remember.view import View

W = ("summariser",)


def put_off(store, payload=b"zebra", due_us=10 * US, writer="summariser", stream="cam"):
    with store.transaction() as tx:
        return tx.add_job(writer, stream, payload, due_us)


def finish(store, job_id):
    with store.transaction() as tx:
        return tx.finish_job(job_id)


def fail(store, job_id, why="no"):
    with store.transaction() as tx:
        tx.fail_job(job_id, why)


def test_a_job_is_leased_when_it_is_due_and_once(store):
    later, first = put_off(store, b"b", 20 * US), put_off(store, b"a", 10 * US)
    put_off(store, writer="other")
    assert store.lease_job(W, 10 * US - 1, 60) is None
    job = store.lease_job(W, 25 * US, 60)
    assert (job.id, job.writer, job.stream, job.payload, job.attempt) == (first, "summariser", "cam", b"a", 1)
    assert store.lease_job(W, 25 * US, 60).id == later
    assert store.lease_job(W, 25 * US, 60) is None
    assert store.lease_job((*W, "other"), 25 * US, 60).writer == "other"
    assert finish(store, first)
    assert not finish(store, first)
    with store.view() as view:
        assert [(state.id, state.attempts) for state in view.jobs()] == [(later, 1), (3, 1)]
        assert len(view.jobs(limit=1)) == 1


def test_a_lease_ends_and_the_job_is_due_again(store):
    job_id = put_off(store)
    assert store.lease_job(W, 10 * US, 5).attempt == 1
    assert store.lease_job(W, 15 * US - 1, 5) is None
    assert store.lease_job(W, 15 * US, 5).attempt == 2
    assert store.lease_job(W, 12 * US, 5).attempt == 3  # the clock went back behind the lease
    assert finish(store, job_id)


def test_after_a_failure_it_waits_twice_as_long_each_time_and_is_given_up_after_five(store):
    job_id, now_us = put_off(store), 10 * US
    for attempt in range(1, MOST_ATTEMPTS + 1):
        assert store.lease_job(W, now_us, 5).attempt == attempt
        fail(store, job_id, f"reason {attempt}" + "!" * 1000)
        wait_us = 60 * US * 2 ** (attempt - 1)
        if attempt < MOST_ATTEMPTS:
            assert store.lease_job(W, now_us + wait_us - 1, 5) is None
        now_us += wait_us
    assert store.lease_job(W, 10**15, 5) is None
    with store.view() as view:
        (state,) = view.jobs()
    assert (state.given_up, state.error, state.attempts) == (True, "reason 5" + "!" * 492, 5)
    assert not finish(store, job_id)
    fail(store, job_id, "again")
    store.close()
    assert b"zebra" not in (store.directory / "memory.db").read_bytes()
    assert check_memory(store.directory) == []


def test_only_the_latest_that_were_given_up_are_listed(store):
    for _ in range(70):
        job_id = put_off(store, due_us=0)
        for attempt in range(MOST_ATTEMPTS):
            store.lease_job(W, (attempt + 1) * 10**12, 5)
            fail(store, job_id)
    waiting = put_off(store)
    with store.view() as view:
        ids = [state.id for state in view.jobs()]
    assert ids == [*range(7, 71), waiting]


def test_what_ends_every_process_that_does_it_is_given_up(store):
    put_off(store)
    for attempt in range(MOST_ATTEMPTS):
        assert store.lease_job(W, (10 + 5 * attempt) * US, 5).attempt == attempt + 1
    other = put_off(store, b"other", 11 * US)
    assert store.lease_job(W, 100 * US, 5).id == other
    with store.view() as view:
        assert [state.given_up for state in view.jobs()] == [True, False]


CHILD = """
import os, signal, sys
from pathlib import Path
from edgemem.remember.store import Store
store = Store.open(Path(sys.argv[1]))
job = store.lease_job(["summariser"], 10_000_000, 5)
print(job.attempt, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_job_survives_that_its_process_is_killed(store):
    put_off(store)
    store.close()
    child = subprocess.run([sys.executable, "-c", CHILD, store.directory], capture_output=True, text=True, check=False, env=os.environ)
    assert (child.stdout, child.returncode) == ("1\n", -signal.SIGKILL), child.stderr
    with Store.open(store.directory) as again:
        assert again.lease_job(W, 14 * US, 5) is None
        job = again.lease_job(W, 15 * US, 5)
        assert (job.payload, job.attempt) == (b"zebra", 2)
        assert finish(again, job.id)
    assert check_memory(store.directory) == []


@pytest.mark.parametrize("wanted", [Wanted(from_us=0, to_us=US), Wanted(stream="cam"), Wanted(evidence=("m1",))])
def test_forgetting_takes_what_was_put_off_for_the_stream(store, making, wanted):
    with store.transaction() as tx:
        tx.add_moment(making.moment(0))
        tx.add_moment(making.moment(0, stream="door"))
        tx.set_state("see/cam", b"x")
    put_off(store)
    put_off(store, b"giraffe", stream="door")
    store.close()
    forget(store.directory, wanted)
    assert check_memory(store.directory) == []
    data = (store.directory / "memory.db").read_bytes()
    assert b"zebra" not in data
    with View.open(store.directory) as view:
        assert [state.stream for state in view.jobs()] == ([] if wanted.from_us == 0 else ["door"])


def test_forgetting_a_name_takes_work_that_holds_it_whatever_its_stream(store):
    put_off(store, b"\x81\xa4name\xa5Zebra")
    failed = put_off(store, b"\x90")
    put_off(store, b"giraffe")
    assert store.lease_job(W, 10 * US, 5)
    fail(store, failed, "no ZEBRA there")
    store.close()
    forget(store.directory, Wanted(entity="zebra"))
    with View.open(store.directory) as view:
        assert [state.id for state in view.jobs()] == [3]
    assert b"ebra" not in (store.directory / "memory.db").read_bytes()
