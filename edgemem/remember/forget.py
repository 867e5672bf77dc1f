"""Forgetting on request: deletes from every table, the full-text index, the vectors and the files. A receipt proves it afterwards.

One transaction deletes everything or nothing, and notes that the files must be wiped; then they are wiped. Under a byte budget there are
several transactions, so that the log stays within its share; the first one notes what will be deleted. If this or the wipe is interrupted,
`edgemem memory check` reports it, and `compact` or the next writer finishes it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol

from edgemem.clock import now_us
from edgemem.errors import BudgetError
from edgemem.records import Moment, Observation, Segment
from edgemem.remember.budget.batches import Step, cap_in_force, in_transactions
from edgemem.remember.disk import page_budget
from edgemem.remember.disk.directory import WriterLock, prepare
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.forgetting.erase import erasing
from edgemem.remember.forgetting.finish import ERASE_DUE, WIPE_DUE, erasing_due, wipe_files
from edgemem.remember.forgetting.selection import Receipt, Selection, Wanted, runs, select
from edgemem.remember.results import Spoken
from edgemem.remember.rows.reading import connect, ids_list
from edgemem.remember.rows.transaction import Transaction
from edgemem.remember.store import Store
from edgemem.remember.view import View

__all__ = ["Receipt", "Wanted", "finish_forgetting", "forget"]

_TOMBSTONES_A_PAGE = 64


RemoveSpeakers = Callable[[bytes, Collection[str]], bytes]
"""(state of a speech recogniser, names of forgotten speakers) -> the state without them."""


class Describer(Protocol):
    """Describes, step by step, what is left of a segment; `see.carry_out.describing` makes one from a recipe's writers."""

    def __call__(
        self,
        segment: Segment,
        moments: Sequence[Moment],
        observations: Mapping[int, tuple[Observation, ...]],
        utterances: Sequence[Spoken],
    ) -> Iterable[Callable[[Transaction], object]]: ...


def forget(
    directory: Path,
    wanted: Wanted,
    *,
    dry_run: bool = False,
    describe: Describer | None = None,
    clear: Callable[[bytes], bytes] | None = None,
    unlearn: RemoveSpeakers | None = None,
) -> Receipt:
    """Forget `wanted` in the memory at `directory`. A dry run only counts and changes nothing.

    `describe` describes what is left of a segment. `clear` removes the pictures from a stream's saved state (default: the whole state is
    deleted). `unlearn` removes the voices of forgotten speakers from the state of a speech recogniser. Raises UsageError if the memory does
    not have what is named, MemoryDirError if it is being written or cannot be wiped.
    """
    View.open(directory).close()  # raises a clear error if it cannot be opened
    if dry_run:
        with translated_errors(directory), closing(connect(directory)) as connection:
            return _receipt("", select(connection, wanted))
    with Store.open(directory, create=False, budget_bytes=cap_in_force(directory)) as store, store.view() as view:
        with store.transaction() as tx:
            selection = select(tx.connection, wanted)
        receipt = _receipt(secrets.token_hex(6), selection)
        in_transactions(store, chain(_deciding(receipt, wanted, selection, view, describe, (clear, unlearn)), erasing(receipt.id)))
    finish_forgetting(directory)
    return receipt


def _deciding(
    receipt: Receipt,
    wanted: Wanted,
    selection: Selection,
    view: View,
    describe: Describer | None,
    clear: tuple[Callable[[bytes], bytes] | None, RemoveSpeakers | None],
) -> Iterator[Step]:
    """Clear saved states and jobs, note what will be deleted, and correct and describe again the segments that lose a part.

    If it is interrupted before the receipt is written, states and jobs may be cleared without need, but none is left.
    """
    for stream in filter(None, (*selection.streams, selection.gone_stream)):
        yield partial(_clear_state, stream, None if stream == selection.gone_stream else clear[0])
    for job_id in sorted(selection.jobs):
        yield partial(_drop_job, job_id)
    yield lambda tx: _unlearn_voices(tx, selection, clear[1])
    yield lambda tx: _note(tx, receipt, wanted, selection)
    for segment in selection.trimmed:
        yield partial(_put_right, segment)
        if describe is not None:
            left = [moment for moment in view.segment_moments(segment.id) if moment.id not in selection.moments]
            said = view.utterances(stream=segment.stream, from_us=segment.t0_us, to_us=segment.t1_us)
            said = [spoken for spoken in said if spoken.document.id not in selection.documents]
            seen = view.observations(moment.id for moment in left)
            for step in describe(segment, left, seen, said):
                yield partial(_described, step)


def finish_forgetting(directory: Path, *, beyond_budget: bool = False) -> bool:
    """Finish an interrupted forgetting, including the wipe of the files; True if there was one.

    The wipe of an encrypted memory needs a second copy for a while, within the budget unless `beyond_budget`. Raises MemoryDirError while a
    writer or reader has the memory open, or if there is no space.
    """
    prepare(directory, create=False)
    with translated_errors(directory):
        with closing(connect(directory)) as connection:
            if not connection.execute("SELECT 1 FROM meta WHERE key = ?", (WIPE_DUE,)).fetchone():
                return False
            unfinished = erasing_due(connection) is not None
        if unfinished:
            Store.open(directory, create=False, budget_bytes=cap_in_force(directory)).close()
        cap_bytes = None if beyond_budget else cap_in_force(directory)
        lock = WriterLock(directory)
        try:
            wipe_files(directory, cap_bytes)
        finally:
            lock.close()
    Store.open(directory, create=False).close()  # rebuilds the vector files
    return True


def digest(kinds: Iterable[tuple[str, Iterable[tuple[int, int]]]]) -> bytes:
    """SHA-256 over the kinds and ranges of ids that a receipt covers."""
    lines = (f"{kind} {first} {last}\n" for kind, ids in sorted(kinds) for first, last in ids)
    return hashlib.sha256("".join(lines).encode()).digest()


def _receipt(key: str, selection: Selection) -> Receipt:
    return Receipt(
        id=key,
        moments=len(selection.moments),
        documents=len(selection.documents),
        relations=len(selection.relations),
        bytes=selection.bytes,
    )


def _note(tx: Transaction, receipt: Receipt, wanted: Wanted, selection: Selection) -> None:
    """Write the receipt, its tombstones, and the note that the files must be wiped."""
    kinds = [(kind, runs(ids)) for kind, ids in selection.ids() if ids]
    tx.claim(8 + sum(len(found) for _, found in kinds) // _TOMBSTONES_A_PAGE)
    tx.connection.execute(
        "INSERT INTO receipt (id, made_us, what, moments, documents, relations, bytes, sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (receipt.id, now_us(), wanted.what, receipt.moments, receipt.documents, receipt.relations, receipt.bytes, digest(kinds)),
    )
    tx.connection.executemany(
        "INSERT INTO tombstone (receipt_id, kind, first_id, last_id) VALUES (?, ?, ?, ?)",
        [(receipt.id, kind, first, last) for kind, ids in kinds for first, last in ids],
    )
    tx.connection.executemany(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", [(key, receipt.id) for key in (ERASE_DUE, WIPE_DUE)]
    )


def _described(step: Callable[[Transaction], object], tx: Transaction) -> None:
    """Carry out the step; leave it out if it does not fit into the budget."""
    with suppress(BudgetError):
        step(tx)


def _put_right(segment: Segment, tx: Transaction) -> None:
    """Set times and representative of what is left of a segment."""
    tx.claim(8)
    tx.connection.execute(
        "UPDATE segment SET t0_us = ?, t1_us = ?, offset_us = ?, representative_id = ? WHERE id = ?",
        (segment.t0_us, segment.t1_us, segment.offset_us, segment.representative_id, segment.id),
    )
    if segment.representative_id is not None:
        tx.connection.execute(
            "UPDATE segment_moment SET role = 'representative' WHERE segment_id = ? AND moment_id = ?",
            (segment.id, segment.representative_id),
        )
        tx.protect(segment.representative_id, "representative")


def _clear_state(stream: str, clear: Callable[[bytes], bytes] | None, tx: Transaction) -> None:
    """Components keep pictures of the last frames in their saved state. It is not visible which, so all are removed."""
    key = f"see/{stream}"
    found = tx.connection.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
    if found is None:
        return
    tx.claim(page_budget.picture_pages(len(found[0])))
    if clear is not None:
        tx.connection.execute("UPDATE state SET value = ? WHERE key = ?", (clear(found[0]), key))
    else:
        tx.connection.execute("DELETE FROM state WHERE key = ?", (key,))


def _drop_job(job_id: int, tx: Transaction) -> None:
    tx.drop_job(job_id)


def _unlearn_voices(tx: Transaction, selection: Selection, unlearn: RemoveSpeakers | None) -> None:
    """Speech recognisers keep known voices in states `hear/<name>`: a voice is deleted together with its speaker."""
    ids = ids_list(sorted(selection.entities))
    names = {row[0] for row in tx.connection.execute(f"SELECT name FROM entity WHERE kind = 'voice' AND id IN {ids}")}  # noqa: S608
    if not names:
        return
    for key, value in tx.connection.execute("SELECT key, value FROM state WHERE key GLOB 'hear/*'").fetchall():
        tx.claim(page_budget.picture_pages(len(value)))
        left = unlearn(value, names) if unlearn is not None else b""
        tx.connection.execute("UPDATE state SET value = ? WHERE key = ?", (left, key))
