"""Vector search in an encrypted memory: the int8 matrix is only in the memory of the process, not in a file.

Mapped files would have to be unencrypted. So the matrix is read from the database once per process and space. Later only added rows are
read; if rows were deleted, everything is read again. A vector takes its dimension in bytes, an eighth of that for its sign bits, and 24
bytes: 38 + 5 + 2 MB for 100,000 vectors of 384 dimensions.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from edgemem.remember.vectors.search import SpaceReader, SpaceRow, read_all, space_row, within
from edgemem.remember.vectors.sidecar import Columns

_MOST_SPACES = 8
"""Most spaces in memory; the one that was not searched for the longest time is removed."""
_TAIL_LEAST = 4096
"""Rows that may wait unsorted; with many rows, a tenth of them may."""


@dataclass(frozen=True)
class _Held:
    epoch: int
    ordered: Columns
    tail: Columns | None = None

    @property
    def parts(self) -> list[Columns]:
        return [self.ordered] if self.tail is None else [self.ordered, self.tail]

    @property
    def count(self) -> int:
        return sum(map(len, self.parts))

    @property
    def last_id(self) -> int:
        return max((int(part.moment_id.max()) for part in self.parts if len(part)), default=0)

    def with_more(self, more: Columns) -> _Held:
        tail = more if self.tail is None else _merged(self.tail, more)
        if len(tail) <= max(_TAIL_LEAST, len(self.ordered) // 10):
            return _Held(self.epoch, self.ordered, tail)
        return _Held(self.epoch, _merged(self.ordered, tail))


_held: OrderedDict[tuple[bytes, int], _Held] = OrderedDict()
_lock = threading.Lock()


class ResidentReader(SpaceReader):
    """A `SpaceReader` with the same results, without a file."""

    def _parts(self, from_us: int, to_us: int) -> list[Columns]:
        space = space_row(self._connection, self.space.name)
        if space is None:
            return []
        held = _current(self._connection, space, self._memory_id)
        low = int(np.searchsorted(held.ordered.t_us, from_us, "left"))
        high = int(np.searchsorted(held.ordered.t_us, to_us, "right"))
        parts = [held.ordered[low:high], *([] if held.tail is None else [within(held.tail, from_us, to_us)])]
        return [part for part in parts if len(part)]


def _current(connection: sqlite3.Connection, space: SpaceRow, memory_id: bytes) -> _Held:
    """The rows of the space in this process, updated from the database."""
    name = memory_id, space.id
    with _lock:
        held = _held.get(name)
        if held is None or held.epoch != space.epoch:
            held = _Held(space.epoch, Columns.of(*read_all(connection, space)))
        elif held.count < space.rows:
            held = held.with_more(Columns.of(*read_all(connection, space, held.last_id)))
        _held[name] = held
        _held.move_to_end(name)
        while len(_held) > _MOST_SPACES:
            _held.popitem(last=False)
    return held


def _merged(first: Columns, second: Columns) -> Columns:
    """Both, merged in time order."""
    order = np.argsort(np.concatenate((first.t_us, second.t_us)), kind="stable")
    pairs = ((getattr(first, name), getattr(second, name)) for name in ("t_us", "moment_id", "stream_id", "scale", "matrix", "signs"))
    return Columns(*(np.concatenate(pair)[order] for pair in pairs))
