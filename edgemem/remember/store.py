"""The only writer of a memory: every change, checkpoint and vacuum goes through it.

SQLite 3.7.0 to 3.51.2 (Debian 12, JetPack) can lose commits when two connections checkpoint at nearly the same time. With one writer that
does all checkpoints, and readers that never write, this cannot happen.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from edgemem.errors import EngineError, MemoryDirError
from edgemem.remember.budget.batches import cap_in_force, in_transactions
from edgemem.remember.budget.eviction import Eviction
from edgemem.remember.budget.maintenance import Maintenance
from edgemem.remember.budget.retention import RetentionReading
from edgemem.remember.disk import database, keys, page_budget, schema
from edgemem.remember.disk.contents import remove_part, remove_vectors
from edgemem.remember.disk.directory import PATIENCE_S, WriterLock, disk_bytes, prepare
from edgemem.remember.disk.error_translation import explain, translated_errors
from edgemem.remember.disk.log import Log
from edgemem.remember.entries import Job, NewDocument, NewMoment, NewSegment, Retainable
from edgemem.remember.forgetting import finish
from edgemem.remember.forgetting.erase import erasing
from edgemem.remember.possible import MOST_DIM
from edgemem.remember.rows import anchor, ledger, text
from edgemem.remember.rows.jobs import due_job
from edgemem.remember.rows.redate import Redating
from edgemem.remember.rows.transaction import Transaction
from edgemem.remember.vectors.search import Holds, SpaceWriter, space_row
from edgemem.remember.view import View

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["NewDocument", "NewMoment", "NewSegment", "Retainable", "Store", "Transaction"]

_log = logging.getLogger(__name__)

_MOST_NAMES = 20_000
"""Most interned ids kept in memory between transactions; text in pictures gives ever more names."""
_BACKSTOP_PAGES = 16384
"""If `maintain` is not called, SQLite makes a checkpoint at 64 MiB of WAL."""


class SpaceLike(Protocol):
    """What the store needs to know about a vector space; `infer.roles.Space` is one."""

    @property
    def name(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def metric(self) -> str: ...
    @property
    def calibration(self) -> Mapping[str, float]: ...


class Store(Maintenance, RetentionReading):
    """An open memory, for writing. Make it with `Store.open`; use it as a context manager, from one thread at a time."""

    def __init__(self, directory: Path, connection: sqlite3.Connection, lock: WriterLock, budget_bytes: int | None) -> None:
        self.directory = directory
        self.budget_bytes = budget_bytes
        self._connection = connection
        self._lock = lock
        self.ledger: Counter[str] = Counter(ledger.load(connection))
        """Bytes of pictures by tier and under "pinned"."""
        self._memory_id = bytes.fromhex(connection.execute("SELECT value FROM meta WHERE key = 'memory_id'").fetchone()[0])
        self._spaces: dict[str, SpaceWriter] = {}
        self._names: dict[tuple[object, ...], int] = {}
        for (name,) in connection.execute("SELECT name FROM vec_space").fetchall():
            self._add_space(name)
        self._division = None if budget_bytes is None else page_budget.BudgetShares.of(budget_bytes)
        self._eviction = None if self._division is None else Eviction(self, connection, self._division)
        self._wal = Log(directory / f"{schema.DATABASE}-wal")
        self._synced_s = time.monotonic()
        self._redate_due, self._redating = anchor.is_due(connection), False
        self._note_budget()
        self.free_space()

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        create: bool = True,
        budget_bytes: int | None = None,
        durability: Literal["normal", "full"] = "normal",
        patience_s: float = PATIENCE_S,
    ) -> Store:
        """Lock the memory at `directory`, migrate its schema, repair its sidecars, and finish what a crash interrupted.

        It waits `patience_s` for a lock that another process holds. With `durability` "full" every transaction is synced to the disk: a
        power failure then loses no committed one.

        Raises MemoryDirError if it is missing (and `create` is false), no memory, locked, too new, read-only or damaged.
        """
        if budget_bytes is not None:
            page_budget.BudgetShares.of(budget_bytes)
        with translated_errors(directory):
            prepare(directory, create=create)
            lock = WriterLock(directory, patience_s)
            try:
                connection = _connect(directory)
                if finish.is_due(connection):
                    connection.close()
                    _end_wiping(directory, lock)
                    connection = _connect(directory)
                try:
                    connection.execute(f"PRAGMA synchronous={durability}")
                    store = cls(directory, connection, lock, budget_bytes)
                    store._redate()
                    due = finish.erasing_due(connection)
                    if due is None:
                        return store
                    in_transactions(store, erasing(due))
                except BaseException:
                    connection.close()
                    raise
            except BaseException:
                lock.close()
                raise
        store.close()
        return cls.open(directory, create=False, budget_bytes=budget_bytes, durability=durability)  # wipe erased data now

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Checkpoint and unlock. Calling it twice does nothing."""
        try:
            with translated_errors(self.directory):
                self._connection.close()
        finally:
            for space in self._spaces.values():
                space.close()
            self._lock.close()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Everything inside is committed together when the block ends, or not at all if it raises.

        Under a budget, old data is evicted first if the block needs the space. If the block called for corrected dates, they are written
        before this returns. Raises BudgetError if no space can be made free.
        """
        self._redate()  # an error, such as a full disk, may have left some
        self.free_space()
        with self.unbounded() as tx:
            yield tx
        self._redate()

    def _redate(self) -> None:
        """Correct the dates that `Transaction.reanchor` noted, in as many transactions as the budget needs. Nothing else is written in
        between.
        """
        if self._redating or not self._redate_due:
            return
        self._redating = True
        try:
            in_transactions(self, [Redating()])
        finally:
            self._redating = False

    @contextmanager
    def unbounded(self) -> Iterator[Transaction]:
        """A transaction that does not free space first: for eviction itself, and for forgetting."""
        with translated_errors(self.directory):
            self._connection.execute("BEGIN IMMEDIATE")
        tx = Transaction(self._connection, self._names, self.ledger, self._allowance())
        try:
            yield tx
            tx.settle()
            self._connection.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if isinstance(error, database.errors("OperationalError")):
                raise explain(self.directory, error) from error
            raise
        if len(self._names) > _MOST_NAMES:
            self._names.clear()
        for name in tx.dropped_names:
            self._names.pop(name, None)
        self._names.update(tx.added_names)
        self.ledger = tx.ledger
        if tx.redated:
            self._redate_due = anchor.is_due(self._connection)
        self._follow(tx)

    def ensure_space(self, space: SpaceLike, holds: Holds = "moment") -> None:
        """Make the vector space if it is new. Raises EngineError when the memory holds one of that name with another dimension or use."""
        if not 1 <= space.dim <= MOST_DIM:
            raise EngineError(f'vector space "{space.name}" has {space.dim} dimensions: 1 to {MOST_DIM} are possible')
        with translated_errors(self.directory):
            known = space_row(self._connection, space.name)
            calibration = msgspec.json.encode(dict(space.calibration)).decode()
            if known is None:
                self._connection.execute(
                    "INSERT INTO vec_space (name, dim, metric, calibration, holds) VALUES (?, ?, ?, ?, ?)",
                    (space.name, space.dim, space.metric, calibration, holds),
                )
                self._add_space(space.name)
            elif known.dim != space.dim:
                raise EngineError(
                    f'memory {self.directory} has vectors of "{space.name}" with {known.dim} dimensions, the engine has {space.dim}:'
                    " give the engine's space another name",
                )
            elif known.holds != holds:
                raise EngineError(
                    f'"{space.name}" of memory {self.directory} has {known.holds} vectors, no {holds} vectors: give it another name'
                )
            elif known.calibration != calibration:
                self._connection.execute("UPDATE vec_space SET calibration = ? WHERE id = ?", (calibration, known.id))

    def lease_job(self, writers: Sequence[str], now_us: int, lease_s: float) -> Job | None:
        """Lease the job of these writers that has been due longest, for `lease_s`; None if none is due.

        End it with `Transaction.finish_job` or `fail_job`. Otherwise it is due again when the lease ends.
        """
        with translated_errors(self.directory):
            if due_job(self._connection, writers, now_us) is None:
                return None
        with self.transaction() as tx:
            return tx.lease_job(writers, now_us, lease_s)

    def ensure_stream(self, name: str, t0_us: int) -> None:
        """Create the stream if it is new; `t0_us` is the time of its first frame."""
        with translated_errors(self.directory):
            self._connection.execute("INSERT INTO stream (name, t0_us) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, t0_us))

    def state(self, key: str) -> bytes | None:
        """The state that a component saved with `tx.set_state`."""
        with translated_errors(self.directory):
            found = self._connection.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    def view(self, as_of_us: int | None = None) -> View:
        """A read-only view with its own connection: what was known at `as_of_us` (default: everything)."""
        return View.open(self.directory, as_of_us, budget_bytes=self.budget_bytes)

    def disk_bytes(self) -> int:
        """Bytes of everything in the directory: database, WAL, sidecars. It makes a few `stat` calls."""
        with translated_errors(self.directory):
            return disk_bytes(self.directory)

    @property
    def time_trusted(self) -> bool:
        """Whether the clock of the last live frame could be trusted and its dates are correct. If not, nothing fades by age."""
        return self.state("clock/untrusted") != b"1" and not self._redate_due

    def _note_budget(self) -> None:
        """Store the present cap, for readers."""
        if self.budget_bytes is None:
            return
        with translated_errors(self.directory):
            self._connection.execute(
                "INSERT INTO meta (key, value) VALUES ('budget_bytes', :cap) ON CONFLICT (key) DO UPDATE SET value = :cap"
                " WHERE value <> :cap",
                {"cap": str(self.budget_bytes)},
            )

    def _add_space(self, name: str) -> None:
        if database.is_cipher(self._connection):
            return  # its vectors are only in the database
        row = space_row(self._connection, name)
        assert row is not None
        self._spaces[name] = SpaceWriter(self._connection, self.directory, row, self._memory_id)

    def _follow(self, tx: Transaction) -> None:
        """Update the sidecars to the last commit of SQLite.

        The commit is valid whatever happens here: a sidecar that cannot be written is rebuilt later, and until then readers read the
        missing vectors from SQLite.
        """
        if self._redate_due:
            return  # their epoch shows that the files do not match; they are rewritten at the end
        for name, space in self._spaces.items():
            try:
                if tx.redated or (space.lost and (name in tx.erased or name in tx.appended)):
                    space.rebuild()  # reads everything of this commit
                    continue
                rows = tx.appended.get(name)
                if name in tx.erased:
                    space.erase(*tx.erased[name], more=rows is not None and bool(rows.owner_ids))
                if rows is not None and rows.owner_ids:
                    space.append(rows.owner_ids, rows.times_us, rows.stream_ids, rows.matrix())
            except OSError as error:
                _log.warning("memory %s: vectors could not be written beside the database (%s); searches are slower", self.directory, error)


def _make(directory: Path) -> None:
    """Create the database under another name first: a memory.db without tables is a damaged one, and never one that was just begun."""
    part = directory / schema.PART
    remove_part(part)
    try:
        with closing(database.connect(part, keys.configured())) as connection:
            schema.configure(connection)
            schema.migrate(connection, 0)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # unlike closing, it says when it fails
        part.replace(directory / schema.DATABASE)
    finally:
        remove_part(part)


def _connect(directory: Path) -> sqlite3.Connection:
    if not os.path.lexists(directory / schema.DATABASE):
        _make(directory)
    connection = database.connect(directory / schema.DATABASE, keys.configured())
    try:
        schema.configure(connection, cache_bytes=16 << 20)
        version = schema.version_of(connection, directory)
        connection.execute(f"PRAGMA wal_autocheckpoint={_BACKSTOP_PAGES}")
        schema.migrate(connection, version)
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":  # a change of its key was interrupted
            connection.execute("PRAGMA journal_mode=WAL")
        text.bound_merges(connection)
        connection.execute("INSERT INTO meta (key, value) VALUES ('memory_id', ?) ON CONFLICT DO NOTHING", (uuid.uuid4().hex,))
        if database.is_cipher(connection):
            remove_vectors(directory)
        remove_part(directory / schema.PART)
    except BaseException:
        connection.close()
        raise
    return connection


def _end_wiping(directory: Path, lock: WriterLock) -> None:
    """Wipe what an interrupted forgetting left to be wiped. What is in the way is said, and no reason not to open."""
    try:
        finish.wipe_files(directory, lock, cap_in_force(directory), patience_s=0.2)
    except MemoryDirError as error:
        _log.warning("%s", error)
