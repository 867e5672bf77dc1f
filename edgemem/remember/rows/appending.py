"""The vectors that a transaction adds or deletes, and the changes that the sidecars must get after the commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from edgemem.errors import EngineError
from edgemem.records import Matrix, Vector
from edgemem.remember.disk.page_budget import PageBudget
from edgemem.remember.rows.writing import Writing
from edgemem.remember.vectors.search import Holds, vec_id


@dataclass
class AppendedRows:
    """Vectors of one space added in this transaction. An owner is the row that a vector belongs to; `vec_space.holds` is its kind."""

    space_id: int
    dim: int
    holds: Holds
    owner_ids: list[int] = field(default_factory=list)
    times_us: list[int] = field(default_factory=list)
    stream_ids: list[int] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)

    def matrix(self) -> Matrix:
        """float32 [n, dim], from the stored f16 values, so that a rebuilt sidecar has the same bytes."""
        return np.frombuffer(b"".join(self.data), np.float16).reshape(-1, self.dim).astype(np.float32)

    def forget(self, owner_id: int) -> bool:
        """Remove an owner that was added and deleted in the same transaction; False if it is not here."""
        if owner_id not in self.owner_ids:
            return False
        at = self.owner_ids.index(owner_id)
        for column in (self.owner_ids, self.times_us, self.stream_ids, self.data):
            del column[at]
        return True


class Appending(Writing):
    """The part of `Transaction` that writes vectors. Their rows in SQLite are deleted by trigger with their owner."""

    def __init__(self, connection: sqlite3.Connection, known: Mapping[tuple[object, ...], int], allowance: PageBudget) -> None:
        super().__init__(connection, known, allowance)
        self.appended: dict[str, AppendedRows] = {}
        self.erased: dict[str, tuple[list[int], int]] = {}
        """Per space: owners whose rows were deleted, and the space's epoch after that."""
        self._erased: dict[int, list[int]] = {}

    def _add_vector(self, holds: Holds, space: str, vector: Vector, owner_id: int, t_us: int, stream_id: int) -> None:
        rows = self._rows_for(holds, space, vector)
        data = np.asarray(vector, np.float16).tobytes()
        self.connection.execute("INSERT INTO vec (id, data) VALUES (?, ?)", (vec_id(owner_id, rows.space_id), data))
        rows.owner_ids.append(owner_id)
        rows.times_us.append(t_us)
        rows.stream_ids.append(stream_id)
        rows.data.append(data)

    def _add_late_vector(self, holds: Holds, space: str, vector: Vector, owner_id: int, t_us: int, stream_id: int) -> None:
        """Add a vector whose owner may be older than others that have one in this space: that counts as a change, not as an addition."""
        space_id = self._rows_for(holds, space, vector).space_id
        newer = "SELECT 1 FROM moment m JOIN vec v ON v.id = (m.id << 8) + ? WHERE m.id > ? LIMIT 1"
        if self.connection.execute(newer, (space_id, owner_id)).fetchone():
            self._erased.setdefault(space_id, [])
        self._add_vector(holds, space, vector, owner_id, t_us, stream_id)

    def _replace_vector(self, holds: Holds, space: str, vector: Vector, owner_id: int) -> None:
        """Set the vector of an owner without time and stream. An old owner may get its first vector late: this counts as a change, not as
        an addition.
        """
        rows = self._rows_for(holds, space, vector)
        gone = self.connection.execute("DELETE FROM vec WHERE id = ?", (vec_id(owner_id, rows.space_id),)).rowcount
        erased = self._erased.setdefault(rows.space_id, [])
        if gone and not rows.forget(owner_id):
            erased.append(owner_id)
        self._add_vector(holds, space, vector, owner_id, 0, 0)

    def _drop_vectors(self, holds: Holds, owner_id: int) -> None:
        """Delete all vectors of an owner that is kept."""
        self._note_erased(holds, owner_id)
        keys = [(vec_id(owner_id, space_id),) for space_id, _ in self._spaces_of(holds, owner_id)]
        self.connection.executemany("DELETE FROM vec WHERE id = ?", keys)

    def _rows_for(self, holds: Holds, space: str, vector: Vector) -> AppendedRows:
        """The added rows of a space. Raises EngineError for a space that is unknown, has another dimension, or has other owners."""
        rows = self.appended.get(space)
        if rows is None:
            known = self.connection.execute("SELECT id, dim, holds FROM vec_space WHERE name = ?", (space,)).fetchone()
            if known is None:
                raise EngineError(f'vector space "{space}" is unknown to this memory: call Store.ensure_space first')
            rows = self.appended[space] = AppendedRows(*known)
        if rows.holds != holds:
            raise EngineError(f'vector space "{space}" has {rows.holds} vectors, no {holds} vectors: name another space')
        if vector.shape != (rows.dim,):
            raise EngineError(f'vector space "{space}" has {rows.dim} dimensions, the engine returned {vector.shape}')
        return rows

    def _spaces_of(self, holds: Holds, owner_id: int) -> list[tuple[int, str]]:
        """Id and name of each space in which the owner has a vector."""
        return self.connection.execute(
            "SELECT s.id, s.name FROM vec v JOIN vec_space s ON s.id = v.id & 255 AND s.holds = ? WHERE v.id BETWEEN ? AND ?",
            (holds, vec_id(owner_id, 0), vec_id(owner_id + 1, 0) - 1),
        ).fetchall()

    def _note_erased(self, holds: Holds, owner_id: int) -> None:
        """Call before the owner is deleted."""
        for space_id, name in self._spaces_of(holds, owner_id):
            if name not in self.appended or not self.appended[name].forget(owner_id):
                self._erased.setdefault(space_id, []).append(owner_id)

    def _settle_vectors(self) -> None:
        for rows in self.appended.values():
            self.connection.execute("UPDATE vec_space SET rows = rows + ? WHERE id = ?", (len(rows.owner_ids), rows.space_id))
        for space_id, owner_ids in self._erased.items():
            self.connection.execute("UPDATE vec_space SET rows = rows - ?, epoch = epoch + 1 WHERE id = ?", (len(owner_ids), space_id))
            name, epoch = self.connection.execute("SELECT name, epoch FROM vec_space WHERE id = ?", (space_id,)).fetchone()
            self.erased[name] = (owner_ids, epoch)
