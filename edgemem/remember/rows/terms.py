"""Names of observations: each is stored once, with the number of moments that have it. Names that no moment has any more are deleted."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence

from edgemem.records import Observation
from edgemem.remember.disk.page_budget import PageBudget
from edgemem.remember.rows import observations as packing
from edgemem.remember.rows.appending import Appending
from edgemem.remember.rows.reading import ids_list

_TERMS = 256
"""Names that are looked up and deleted together; each may be on a separate page of the table and of its index."""
_NO_KIND = "gone"
"""Kind of the newest term when no moment has it any more."""
_UNUSED = f"moments = 0 AND kind NOT IN ('{packing.COLOUR_WORD}', '{_NO_KIND}')"


class TermWriting(Appending):
    """The part of `Transaction` that writes observations and their names."""

    def __init__(self, connection: sqlite3.Connection, known: Mapping[tuple[object, ...], int], allowance: PageBudget) -> None:
        super().__init__(connection, known, allowance)
        self._counts: Counter[int] = Counter()

    def _add_observations(self, seen: Sequence[Observation], moment_id: int, t_us: int, stream_id: int) -> None:
        packed = packing.pack(seen, self._term)
        self.connection.execute("INSERT INTO observation VALUES (?, ?)", (moment_id, packing.encode(packed)))
        self.connection.executemany(
            "INSERT INTO posting VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (term_id, score_ppm, moment_id, ordinal, t_us, stream_id, colour_id, packing.area_ppm(box))
                for ordinal, (term_id, score_ppm, colour_id, box) in enumerate(packed)
            ],
        )
        self._counts.update({term_id for term_id, *_ in packed})

    def _drop_postings(self, packed: Sequence[packing.Packed], moment_id: int) -> None:
        self._counts.subtract({term_id for term_id, *_ in packed})
        self.connection.executemany(
            "DELETE FROM posting WHERE term_id = ? AND score_ppm = ? AND moment_id = ? AND ordinal = ?",
            [(term_id, score_ppm, moment_id, ordinal) for ordinal, (term_id, score_ppm, *_) in enumerate(packed)],
        )

    def settle_terms(self) -> None:
        """Write how many moments have each term, and delete terms that none has: otherwise text in pictures would fill a small disk."""
        changed = [(count, term_id) for term_id, count in self._counts.items() if count]
        if changed:
            self.connection.executemany("UPDATE term SET moments = moments + ? WHERE id = ?", changed)
        fewer = [term_id for term_id, count in self._counts.items() if count <= 0]
        if fewer:
            self._drop_terms(f"id IN {ids_list(fewer)}")
        self._counts.clear()

    def drop_unused_terms(self) -> bool:
        """Delete some terms that no moment has; earlier versions left such terms. True while there may be more."""
        if not self._allowance.take(_TERMS // 2):
            return True
        some = f"id IN (SELECT id FROM term WHERE {_UNUSED} LIMIT {_TERMS})"  # noqa: S608 - our own words
        return self._drop_terms(some) == _TERMS

    def _drop_terms(self, which: str) -> int:
        """Delete those that no moment has. The newest only loses its name: its id would be used again, and views cache ids."""
        found = self.connection.execute(f"SELECT id, kind, name FROM term WHERE {which} AND {_UNUSED}").fetchall()  # noqa: S608
        if not found:
            return 0
        newest: int = self.connection.execute("SELECT max(id) FROM term").fetchone()[0]
        ids = [row[0] for row in found]
        if newest in ids:
            self.connection.execute("UPDATE term SET kind = ?, name = id WHERE id = ?", (_NO_KIND, newest))
        gone = f"id IN {ids_list(ids)} OR kind = '{_NO_KIND}'"
        self.connection.execute(f"DELETE FROM term WHERE ({gone}) AND id < {newest}")  # noqa: S608 - integers and our own words
        for _, kind, name in found:
            self._drop_name(("term", kind, name))
        return len(found)
