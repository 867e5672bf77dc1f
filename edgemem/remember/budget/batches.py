"""Work of any size under the cap: in as many transactions as needed; without a cap in one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Protocol

from edgemem.remember.disk import page_budget
from edgemem.remember.disk.directory import disk_bytes
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.disk.schema import DATABASE
from edgemem.remember.rows.reading import connect
from edgemem.remember.rows.transaction import Transaction

Step = Callable[[Transaction], bool | None]
"""A small part of the work, at most half of a transaction; True while there is more."""


def cap_in_force(directory: Path) -> int | None:
    """The cap of the last writer of this memory; None if there was none, or if the memory is larger than it by now.

    Administration respects it, but must not evict from a memory that was allowed to grow in the meantime. Raises MemoryDirError.
    """
    if not (directory / DATABASE).is_file():
        return None
    with translated_errors(directory), closing(connect(directory)) as connection:
        found = connection.execute("SELECT value FROM meta WHERE key = 'budget_bytes'").fetchone()
    cap_bytes = max(int(found[0]), page_budget.MINIMUM_BYTES) if found else 0  # earlier versions allowed smaller ones
    return cap_bytes if disk_bytes(directory) <= cap_bytes else None


class Transactions(Protocol):
    """The part of the store that is used here."""

    def transaction(self) -> AbstractContextManager[Transaction]: ...


def in_transactions(store: Transactions, steps: Iterable[Step]) -> None:
    """Carry out the steps in order. The next step is read only when the previous one is done, so it may depend on it."""
    left = iter(steps)
    step = next(left, None)
    while step is not None:
        with store.transaction() as tx:
            while step is not None and not tx.full:
                if not step(tx):
                    step = next(left, None)
