"""Divides the byte budget, and estimates the most pages that a write needs. Arithmetic only.

    cap = database file + write-ahead log + shared memory + vector files + the copy made while one of them is rewritten

The log gets a fifth of the cap (at most 16 MiB), a transaction half of the log. So a transaction always fits into the log after a cut, and
into the database if that many pages are kept free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edgemem.errors import BudgetError
from edgemem.records import Record

MINIMUM_BYTES = 64 << 20
"""Smallest cap. A transaction then has at most 6.4 MiB: enough for a second of stream with its pictures, observations and texts."""

PAGE_BYTES = 4096
FRAME_BYTES = PAGE_BYTES + 24
"""A page in the log."""
_LEAF_BYTES = 4060
_MOST_LOG_BYTES = 16 << 20
_LEAST_SLACK_BYTES = 256 << 10
"""Shared memory of the log (32 KiB for each 16 MiB), the lock, and the pages that a full-text merge writes beyond its estimate."""
_MOMENT_PAGES = 16
"""Pages of tables and indexes that one moment changes."""
_DOCUMENT_PAGES = 12
_PASSAGE_PAGES = 8
"""Pages of tables and indexes that one passage changes; a row of the vector files never comes with fewer."""
_RELATION_PAGES = 16
"""Pages for a relation with its two entities: five indexes, their tables, and new names."""
MERGE_PAGES = 8
"""Pages of full text that are merged, in each of two indexes, with every transaction that writes documents; two more per document."""
_STATE_PAGES = 12
BASE_PAGES = 12 + _STATE_PAGES + 2 * MERGE_PAGES
"""Pages that every transaction may change: counters, a small state, allocation maps, merged full text."""


def log_bytes(cap_bytes: int | None) -> int:
    """The log's share of a cap; without a cap its largest size."""
    return _MOST_LOG_BYTES if cap_bytes is None else min(_MOST_LOG_BYTES, cap_bytes // 5)


class BudgetShares(Record, frozen=True, kw_only=True):
    """A cap and its shares. All are upper bounds at every instant."""

    cap_bytes: int
    log_bytes: int
    slack_bytes: int

    @classmethod
    def of(cls, cap_bytes: int) -> BudgetShares:
        """Raises BudgetError below `MINIMUM_BYTES`."""
        if cap_bytes < MINIMUM_BYTES:
            raise BudgetError(f"budget.disk is {cap_bytes / 2**20:.1f}MiB: set it to {MINIMUM_BYTES >> 20}MiB or more")
        return cls(cap_bytes=cap_bytes, log_bytes=log_bytes(cap_bytes), slack_bytes=_LEAST_SLACK_BYTES + cap_bytes // 32)

    @property
    def transaction_pages(self) -> int:
        """Most pages that one transaction may change."""
        return self.log_bytes // 2 // FRAME_BYTES

    @property
    def share_bytes(self) -> int:
        """A quarter of the space that is left for data."""
        return (self.cap_bytes - self.slack_bytes - self.log_bytes * 3 // 2) // 4

    def database_pages(self, sidecars: Sequence[int], row_bytes: int) -> int:
        """Most pages of the database together with vector files of these sizes, each with rows of `row_bytes` in total.

        The largest file counts twice, because of its copy; so do the rows that the next transaction adds.
        """
        growth = 2 * row_bytes * (self.transaction_pages // _PASSAGE_PAGES)
        beside = self.log_bytes + self.slack_bytes + sum(sidecars) + max(sidecars, default=0) + growth
        return max(0, self.cap_bytes - beside) // PAGE_BYTES


def picture_pages(jpeg_bytes: int) -> int:
    """Overflow pages of a picture, and the page with its row."""
    return jpeg_bytes // _LEAF_BYTES + 2


def seen_pages(names: Iterable[str]) -> int:
    """Pages for observations: each changes a page of the postings, or of the index of names if its name is new, which is stored twice."""
    return sum(1 + 2 * len(name) // _LEAF_BYTES for name in names)


def moment_pages(jpeg_bytes: int, vector_bytes: int, seen: int) -> int:
    """Adding a moment; `seen` are the pages of its observations."""
    return _MOMENT_PAGES + picture_pages(jpeg_bytes) + vector_bytes // _LEAF_BYTES + seen


def dropping_pages(jpeg_bytes: int, seen: int) -> int:
    """Removing a moment: with `secure_delete` every page of its picture is overwritten, and names that nothing carries any more go."""
    return _MOMENT_PAGES + picture_pages(jpeg_bytes) + seen


def document_pages(text_bytes: int) -> int:
    """Adding or removing a document with its full text."""
    return _DOCUMENT_PAGES + text_bytes // 400


def passage_pages(text_bytes: int, vector_bytes: int) -> int:
    """Adding or removing a passage; `text_bytes` is of text that is not in its document."""
    return _PASSAGE_PAGES + text_bytes // _LEAF_BYTES + vector_bytes // _LEAF_BYTES


def part_pages(vector_bytes: int) -> int:
    """Adding or removing a part, or the vector of an entity: its table, three indexes, the vectors."""
    return _PASSAGE_PAGES + vector_bytes // _LEAF_BYTES


def job_pages(payload_bytes: int) -> int:
    """Adding or removing a job."""
    return 4 + payload_bytes // _LEAF_BYTES


def relation_pages(text_bytes: int) -> int:
    """Adding or removing a relation with its quotes, or an entity with its name."""
    return _RELATION_PAGES + text_bytes // _LEAF_BYTES


def session_pages(text_bytes: int, evidence: int) -> int:
    """Adding or removing a session: its steps are in consecutive pages; each piece of evidence may change a page of an index."""
    return _DOCUMENT_PAGES + text_bytes // 2000 + evidence // 4


def state_pages(value_bytes: int) -> int:
    """Replacing a state, in addition to `BASE_PAGES`."""
    return max(0, picture_pages(value_bytes) - _STATE_PAGES)


def segment_pages(moments: int) -> int:
    """Adding a segment: its moments are neighbours, dozens per page."""
    return 8 + moments // 8


class PageBudget:
    """The pages that one transaction may still change; without a budget (`pages` None) there is no limit."""

    def __init__(self, pages: int | None = None, pinned_bytes: int | None = None) -> None:
        self._pages = pages
        self.pinned_bytes = pinned_bytes
        """Most bytes of pinned pictures."""
        self.claimed = BASE_PAGES
        self._refused = False
        self._reserved = 0

    @property
    def fresh(self) -> bool:
        """Whether nothing is claimed yet."""
        return self.claimed == BASE_PAGES

    @property
    def full(self) -> bool:
        """Whether half of it is claimed, or a claim did not fit: commit, and continue in another transaction."""
        return self._refused or (self._pages is not None and self.claimed > self._pages // 2)

    def reserve(self, pages: int) -> None:
        """Reserve pages for a later `claim_reserved`."""
        self._reserved += pages
        if self._pages is not None:
            self._pages -= pages

    def claim_reserved(self, pages: int) -> None:
        """As `claim`, but first from the reserved pages."""
        kept = min(pages, self._reserved)
        self._reserved -= kept
        if self._pages is not None:
            self._pages += kept
        self.claim(pages)

    def fits(self, pages: int) -> bool:
        """Whether so many more pages can be claimed, or are few enough to fit into any transaction that is not full."""
        return self._pages is None or (self.claimed + pages <= self._pages and pages <= self._pages // 2)

    def take(self, pages: int) -> bool:
        """Claim so many pages if they still fit; else this transaction is full, and the next one takes them, even if they exceed its
        limit.
        """
        if self._pages is not None and self.claimed + pages > self._pages and not self.fresh:
            self._refused = True
            return False
        self.claimed += pages
        return True

    def claim(self, pages: int) -> None:
        """Claim pages. Raises BudgetError if the transaction would be too large for the budget; then nothing is claimed."""
        if self._pages is not None and pages and self.claimed + pages > self._pages:
            self._refused = True
            raise BudgetError(
                f"a transaction of {(self.claimed + pages) * PAGE_BYTES >> 10} KiB does not fit: budget.disk allows "
                f"{self._pages * PAGE_BYTES >> 10} KiB at once; write less at a time or raise budget.disk"
            )
        self.claimed += pages
