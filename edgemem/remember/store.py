"""The one writer of a memory: every change, every checkpoint and every vacuum goes through it.

SQLite 3.7.0 to 3.51.2 (Debian 12, JetPack) can lose commits when two connections checkpoint near each other; with one writer that
owns the checkpoints, and readers that never write, this cannot happen.
"""

from __future__ import annotations

import logging
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

import msgspec

from edgemem.errors import EngineError
from edgemem.records import Tier
from edgemem.remember import schema
from edgemem.remember.directory import WriterLock, disk_bytes, prepare
from edgemem.remember.entries import NewDocument, NewMoment, NewSegment, Retainable
from edgemem.remember.faults import explain, told
from edgemem.remember.transaction import Transaction
from edgemem.remember.vectors import SpaceWriter, space_row
from edgemem.remember.view import View

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["NewDocument", "NewMoment", "NewSegment", "Retainable", "Store", "Transaction"]

_log = logging.getLogger(__name__)

_VACUUM_PAGES = 256
"""Pages given back per step: 1 MiB, worst step measured 11.5 ms."""
_CHECKPOINT_PAGES = 2048
"""WAL size (8 MiB) from which `maintain` checkpoints."""
_MOST_NAMES = 20_000
"""Interned ids kept in memory between transactions; text that was read makes names without end."""
_BACKSTOP_PAGES = 16384
"""SQLite checkpoints by itself at 64 MiB of WAL, should nobody call `maintain`."""


class SpaceLike(Protocol):
    """What the store needs to know of a vector space; `infer.roles.Space` is one."""

    @property
    def name(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def metric(self) -> str: ...
    @property
    def calibration(self) -> Mapping[str, float]: ...


class Store:
    """An open memory, for writing. Make it with `Store.open`; use it as a context manager, from one thread at a time."""

    def __init__(self, directory: Path, connection: sqlite3.Connection, lock: WriterLock, budget_bytes: int | None) -> None:
        self.directory = directory
        self.budget_bytes = budget_bytes
        self._connection = connection
        self._lock = lock
        self._memory_id = bytes.fromhex(connection.execute("SELECT value FROM meta WHERE key = 'memory_id'").fetchone()[0])
        self._spaces: dict[str, SpaceWriter] = {}
        self._names: dict[tuple[object, ...], int] = {}
        for (name,) in connection.execute("SELECT name FROM vec_space").fetchall():
            self._add_space(name)

    @classmethod
    def open(cls, directory: Path, *, create: bool = True, budget_bytes: int | None = None) -> Store:
        """Lock the memory at `directory`, bring its schema up to date and repair its sidecars.

        Raises MemoryDirError when it is missing (and `create` is false), no memory, locked, too new, read-only or damaged.
        """
        with told(directory):
            prepare(directory, create=create)
            lock = WriterLock(directory)
            try:
                connection = _connect(directory)
                try:
                    return cls(directory, connection, lock, budget_bytes)
                except BaseException:
                    connection.close()
                    raise
            except BaseException:
                lock.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Checkpoint and unlock. Calling it twice does nothing."""
        try:
            with told(self.directory):
                self._connection.close()
        finally:
            self._lock.close()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Everything inside becomes durable together when the block ends, or not at all when it raises."""
        with told(self.directory):
            self._connection.execute("BEGIN IMMEDIATE")
        tx = Transaction(self._connection, self._names)
        try:
            yield tx
            tx.settle()
            self._connection.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError):
                raise explain(self.directory, error) from error
            raise
        if len(self._names) > _MOST_NAMES:
            self._names.clear()
        self._names.update(tx.learnt)
        self._follow(tx)

    def ensure_space(self, space: SpaceLike) -> None:
        """Make the vector space if it is new. Raises EngineError when the memory holds one of that name and another dimension."""
        with told(self.directory):
            known = space_row(self._connection, space.name)
            calibration = msgspec.json.encode(dict(space.calibration)).decode()
            if known is None:
                self._connection.execute(
                    "INSERT INTO vec_space (name, dim, metric, calibration) VALUES (?, ?, ?, ?)",
                    (space.name, space.dim, space.metric, calibration),
                )
                self._add_space(space.name)
            elif known.dim != space.dim:
                raise EngineError(
                    f'memory {self.directory} holds vectors of "{space.name}" with {known.dim} dimensions, the engine gives {space.dim}:'
                    " give the engine's space another name",
                )
            elif known.calibration != calibration:
                self._connection.execute("UPDATE vec_space SET calibration = ? WHERE id = ?", (calibration, known.id))

    def ensure_stream(self, name: str, t0_us: int) -> None:
        """Make the stream if it is new; `t0_us` is the time of its first frame."""
        with told(self.directory):
            self._connection.execute("INSERT INTO stream (name, t0_us) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, t0_us))

    def state(self, key: str) -> bytes | None:
        """What a component kept across restarts with `tx.set_state`."""
        with told(self.directory):
            found = self._connection.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    def view(self, as_of_us: int | None = None) -> View:
        """A read-only view with its own connection: what was known at `as_of_us`, everything by default."""
        return View.open(self.directory, as_of_us, budget_bytes=self.budget_bytes)

    def disk_bytes(self) -> int:
        """Bytes of everything in the directory: database, WAL, sidecars. Costs a few `stat` calls."""
        with told(self.directory):
            return disk_bytes(self.directory)

    def pressure(self, more_bytes: int = 0) -> int:
        """Bytes over the budget once `more_bytes` are written; 0 without a budget. Free pages inside the database do not count twice."""
        if self.budget_bytes is None:
            return 0
        free = self._pragma("freelist_count") * schema.PAGE_BYTES
        return max(0, self.disk_bytes() - free + more_bytes - self.budget_bytes)

    def newest_us(self) -> int | None:
        """Time of the newest moment; None when there is none."""
        with told(self.directory):
            newest: int | None = self._connection.execute("SELECT max(t_us) FROM moment").fetchone()[0]
        return newest

    def edges(self) -> frozenset[int]:
        """Ids of the first and the latest moment of each stream."""
        edge = "(SELECT m.id FROM moment m WHERE m.stream_id = s.id ORDER BY m.t_us {0}, m.id {0} LIMIT 1)"
        with told(self.directory):
            found = self._connection.execute(f"SELECT {edge.format('ASC')}, {edge.format('DESC')} FROM stream s").fetchall()  # noqa: S608
        return frozenset(moment_id for pair in found for moment_id in pair if moment_id is not None)

    def retainable(self, *, tiers: Sequence[Tier] | None = None, from_us: int, to_us: int, limit: int = -1) -> list[Retainable]:
        """Moments of these tiers (default: all) in an inclusive time range, in the order of time."""
        index = "INDEXED BY " + ("moment_time" if tiers is None else "moment_tier")
        of_tier = "" if tiers is None else f" AND m.tier IN ({','.join('?' * len(tiers))})"
        with told(self.directory):
            found = self._connection.execute(
                "SELECT m.id, m.stream_id, m.t_us, m.tier, m.protected, m.pinned, ifnull(b.generation, 0)"  # noqa: S608
                f" FROM moment m {index} LEFT JOIN blob b ON b.id = m.blob_id"
                f" WHERE m.t_us BETWEEN ? AND ?{of_tier} ORDER BY m.t_us, m.id LIMIT ?",
                (from_us, to_us, *(tiers or ()), limit),
            )
            return [
                Retainable(
                    id=row[0], stream_id=row[1], t_us=row[2], tier=row[3], protected=row[4] == 1, pinned=row[5] == 1, generation=row[6]
                )
                for row in found
            ]

    def picture(self, moment_id: int) -> bytes | None:
        """The JPEG of a moment; None if it has none."""
        with told(self.directory):
            found = self._connection.execute(
                "SELECT b.data FROM moment m JOIN blob b ON b.id = m.blob_id WHERE m.id = ?",
                (moment_id,),
            ).fetchone()
        return found[0] if found else None

    def maintain(self, *, vacuum_steps: int = 1) -> bool:
        """Do a bounded piece of upkeep: a checkpoint, a few steps of vacuum, sorting of a sidecar. True if more is to be done.

        Meant for the pauses of the frame path: a step takes some milliseconds.
        """
        with told(self.directory):
            wal = self.directory / f"{schema.DATABASE}-wal"
            if wal.exists() and wal.stat().st_size >= _CHECKPOINT_PAGES * schema.PAGE_BYTES:
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            for _ in range(vacuum_steps):
                if not self._pragma("freelist_count"):
                    break
                # Not `execute`: without result columns the standard library steps such a statement once, which frees one page.
                self._connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
            for space in self._spaces.values():
                space.tidy()
            return bool(self._pragma("freelist_count"))

    def _pragma(self, name: str) -> int:
        value: int = self._connection.execute(f"PRAGMA {name}").fetchone()[0]
        return value

    def _add_space(self, name: str) -> None:
        row = space_row(self._connection, name)
        assert row is not None
        self._spaces[name] = SpaceWriter(self._connection, self.directory, row, self._memory_id)

    def _follow(self, tx: Transaction) -> None:
        """Bring the sidecars to where the commit left SQLite.

        The commit stands whatever happens here: a sidecar that cannot be written is rebuilt at the next chance, and until then readers
        take what it lacks from SQLite.
        """
        try:
            for name, (moment_ids, epoch) in tx.erased.items():
                self._spaces[name].erase(moment_ids, epoch)
            for name, rows in tx.appended.items():
                if rows.moment_ids:
                    self._spaces[name].append(rows.moment_ids, rows.times_us, rows.stream_ids, rows.matrix())
        except OSError as error:
            _log.warning("memory %s: vectors could not be written beside the database (%s); searches are slower", self.directory, error)


def _connect(directory: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(directory / schema.DATABASE, isolation_level=None, check_same_thread=False)
    try:
        schema.configure(connection, cache_bytes=16 << 20)
        version = schema.version_of(connection, directory)
        connection.execute(f"PRAGMA wal_autocheckpoint={_BACKSTOP_PAGES}")
        schema.migrate(connection, version)
        connection.execute("INSERT INTO meta (key, value) VALUES ('memory_id', ?) ON CONFLICT DO NOTHING", (uuid.uuid4().hex,))
    except BaseException:
        connection.close()
        raise
    return connection
