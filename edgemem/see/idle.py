"""Work that writers postponed until the board is idle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
"""A job that is not done after this time counts as interrupted and is due again."""


def run_idle_job(
    store: Store,
    writers: Sequence[Writer],
    embedder: TextEmbedder | None = None,
    lease_s: float = LEASE_S,
    writers_of: Mapping[str, Sequence[Writer]] | None = None,
) -> bool:
    """Do one job that is due: call its writer with `BoardIdle` and write what it asks for. False where none is due.

    If several writers have one name, the first is called, unless `writers_of` has one for the job's stream. A job waits if its writer is
    not among `writers` or has no trigger "idle". A job that fails is due again later; after several failures it is not tried any more
    (`View.jobs` lists it).
    """
    able = _able(writers)
    job = store.lease_job(sorted(able), now_us(), lease_s) if able else None
    if job is None:
        return False
    writer = (able | _able((writers_of or {}).get(job.stream, ())))[job.writer]
    failure = call_isolated(lambda: _do(store, job, writer, embedder), lambda error: error)
    if failure is not None:
        with store.transaction() as tx:
            tx.fail_job(job.id, one_line(failure))
    return True


def _able(writers: Sequence[Writer]) -> dict[str, Writer]:
    """Writers with the trigger "idle", by name; if several have one name, the first."""
    return {writer.name: writer for writer in reversed(writers) if "idle" in writer.triggers}


def _do(store: Store, job: Job, writer: Writer, embedder: TextEmbedder | None) -> Exception | None:
    postponed = msgspec.msgpack.decode(job.payload, type=Postponed)
    occasion = BoardIdle(
        payload=postponed.payload, stream=job.stream, now_us=now_us(), shown=frozenset(postponed.shown), open_view=store.view
    )  # fmt: skip
    operations = list(writer.write(occasion))
    with store.transaction() as tx:
        if tx.finish_job(job.id):  # if it is gone, it was forgotten in the meantime, together with its subject
            for step in steps(writer.name, occasion, operations, embedder):
                step(tx)
    return None
