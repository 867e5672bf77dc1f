"""Maintenance by the writer: free space before every transaction, the log, free pages, vector files; each in bounded steps."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

from edgemem.errors import BudgetError
from edgemem.remember.disk import page_budget, schema
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.disk.log import Log
from edgemem.remember.vectors.search import SpaceWriter

if TYPE_CHECKING:
    from edgemem.remember.budget.eviction import Eviction

_VACUUM_PAGES = 256
"""Pages returned per step: 1 MiB; the slowest measured step took 11.5 ms."""
_CHECKPOINT_BYTES = 1 << 20
"""Size of the log at which `maintain` makes a checkpoint: half the time of 2 MiB with a cut of the log (29 against 56 ms on a busy
disk)."""
_CHECKPOINT_S = 30.0
"""Longest time between checkpoints. A checkpoint syncs the log, so a power failure loses at most this."""
_READER_PATIENCE_S = 5.0
"""How long a write waits for a reader that prevents a cut of the log; our own views do so for one statement."""


class Maintenance:
    """Base of `Store`, which sets these attributes."""

    directory: Path
    _connection: sqlite3.Connection
    _wal: Log
    _spaces: dict[str, SpaceWriter]
    _division: page_budget.BudgetShares | None
    _eviction: Eviction | None
    _making_room = False
    _granted_pages = 0
    _synced_s = 0.0

    def free_space(self) -> None:
        """Evict old data until a whole transaction fits under the cap. Every transaction begins with this. It does nothing without a
        budget.

        Raises BudgetError if nothing is left to evict, or if a reader prevents a cut of the log.
        """
        division, eviction = self._division, self._eviction
        if division is None or eviction is None or self._making_room:
            return
        self._making_room = True
        try:
            with translated_errors(self.directory):
                hard = False
                self._cut_log()
                while not self.has_space():
                    if not eviction.step(hard=hard):
                        if hard:
                            raise BudgetError(
                                f"memory {self.directory}: nothing is left that may be evicted; raise budget.disk or unpin pictures"
                            )
                        hard = True
                        eviction.restart()
                    self._cut_log()
                self._give_back(division)
        finally:
            self._making_room = False

    def has_space(self, halves: int = 2) -> bool:
        """Whether enough pages are free for `halves` halves of a transaction."""
        if self._division is None:
            return True
        used = self._pragma("page_count") - self._pragma("freelist_count")
        return used + self._division.transaction_pages * halves // 2 <= self._most_pages(self._division)

    def _most_pages(self, division: page_budget.BudgetShares) -> int:
        sidecars = [space.disk_bytes() for space in self._spaces.values()]
        return division.database_pages(sidecars, sum(space.row_bytes for space in self._spaces.values()))

    def _give_back(self, division: page_budget.BudgetShares) -> None:
        """Shrink the database if the vector files leave too little space for it, and let SQLite itself refuse to exceed its share."""
        most = self._most_pages(division)
        while self._pragma("page_count") > most and self._pragma("freelist_count"):
            self._vacuum(min(_VACUUM_PAGES, division.transaction_pages // 4))
            self._cut_log()
        if (self.directory / schema.DATABASE).stat().st_size > most * schema.PAGE_BYTES:
            self._checkpoint()
        if most != self._granted_pages:
            self._connection.execute(f"PRAGMA max_page_count={max(1, most)}")
            self._granted_pages = most

    def _cut_log(self) -> None:
        """Cut the log if one more transaction could exceed its share. Raises BudgetError if a reader holds it for long."""
        deadline = time.monotonic() + _READER_PATIENCE_S
        while self._log_is_long():
            if not self._checkpoint(wait_ms=100) and time.monotonic() > deadline:
                raise BudgetError(
                    f"memory {self.directory}: a reader has prevented a cut of the log for {_READER_PATIENCE_S:.0f} s; end it"
                )

    def _checkpoint(self, *, wait_ms: int = 0, cut: bool = True) -> bool:
        """Move the log into the database. Pages that a reader still needs after `wait_ms` are left; then False.

        `cut` makes the file empty; otherwise the next transaction writes it from its beginning again.
        """
        self._synced_s = time.monotonic()
        self._connection.execute(f"PRAGMA busy_timeout={wait_ms}")
        try:
            with translated_errors(self.directory):
                how = "TRUNCATE" if cut else "PASSIVE"
                busy, written, moved = self._connection.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
        finally:
            self._connection.execute("PRAGMA busy_timeout=5000")
        if busy or moved < written:
            return False
        self._wal.note_moved()
        return True

    def _allowance(self) -> page_budget.PageBudget:
        if self._division is None:
            return page_budget.PageBudget()
        return page_budget.PageBudget(self._division.transaction_pages, self._division.cap_bytes // 2 - self._division.log_bytes)

    def maintain(self, *, vacuum_steps: int = 1) -> bool:
        """Do a bounded step of maintenance: a checkpoint, a few steps of vacuum, or sorting of a sidecar. True if there is more to do.

        Meant for the time between frames: a step takes some milliseconds.
        """
        with translated_errors(self.directory):
            division = self._division
            keep = 0 if division is None else division.transaction_pages
            log_bytes = _CHECKPOINT_BYTES if division is None else min(_CHECKPOINT_BYTES, division.log_bytes // 4)
            waiting, long = self._wal.waiting_bytes(), self._log_is_long()
            if long or waiting >= log_bytes or (waiting and time.monotonic() - self._synced_s >= _CHECKPOINT_S):
                self._checkpoint(cut=long)
            for _ in range(vacuum_steps):
                spare = self._pragma("freelist_count") - keep
                if spare <= 0 or self._log_is_long():
                    break
                self._vacuum(min(_VACUUM_PAGES, spare, *([] if division is None else [division.transaction_pages // 4])))
            for space in self._spaces.values():
                space.compact(None if division is None else division.slack_bytes // 8)
            return self._pragma("freelist_count") > keep

    def _log_is_long(self) -> bool:
        """Whether one more transaction could exceed the log's share of the budget."""
        return self._division is not None and self._wal.size_bytes() > self._division.log_bytes // 2

    def _vacuum(self, pages: int) -> None:
        # Not `execute`: the standard library runs only one step of a statement without result columns, which frees one page.
        self._connection.executescript(f"PRAGMA incremental_vacuum({pages})")

    def _pragma(self, name: str) -> int:
        value: int = self._connection.execute(f"PRAGMA {name}").fetchone()[0]
        return value
