"""Work that writers postponed until the board is idle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from edgemem.clock import now_us
from edgemem.isolation import call_isolated, one_line
from edgemem.see.carry_out import Postponed, steps
from edgemem.see.operations import BoardIdle, Writer

if TYPE_CHECKING:
    from edgemem.infer.roles import TextEmbedder
    from edgemem.remember.entries import Job
    from edgemem.remember.store import Store

LEASE_S = 600.0
"""A job that is not done by then is taken for interrupted, and is due again."""


def run_idle_job(store: Store, writers: Sequence[Writer], embedder: TextEmbedder | None = None, lease_s: float = LEASE_S) -> bool:
    """Do one job that is due: call its writer with `BoardIdle` and write what it asks for. False where none is due.

    A job whose writer is not among `writers`, or has no trigger "idle", waits. One that fails is due again after a while; after several
    failures it is given up (`View.jobs` lists it).
    """
    able = {writer.name: writer for writer in writers if "idle" in writer.triggers}
    job = store.lease_job(sorted(able), now_us(), lease_s) if able else None
    if job is None:
        return False
    failure = call_isolated(lambda: _do(store, job, able[job.writer], embedder), lambda error: error)
    if failure is not None:
        with store.transaction() as tx:
            tx.fail_job(job.id, one_line(failure))
    return True


def _do(store: Store, job: Job, writer: Writer, embedder: TextEmbedder | None) -> Exception | None:
    postponed = msgspec.msgpack.decode(job.payload, type=Postponed)
    occasion = BoardIdle(
        payload=postponed.payload, stream=job.stream, now_us=now_us(), shown=frozenset(postponed.shown), open_view=store.view
    )  # fmt: skip
    operations = list(writer.write(occasion))
    with store.transaction() as tx:
        if tx.finish_job(job.id):  # else it was forgotten meanwhile, and what it is about too
            for step in steps(writer.name, occasion, operations, embedder):
                step(tx)
    return None
