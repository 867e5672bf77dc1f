"""Jobs: work that a writer postponed until the board is idle. They are rows, so they survive a restart and a kill.

A job is leased for some seconds. The caller ends it with `finish_job` in the transaction that writes its results, or with `fail_job` and a
reason. If neither happens (the process was killed), it is due again when the lease ends. After a failure it waits, each time twice as long;
after the fifth lease it is given up, and its payload is deleted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from edgemem.records import US
from edgemem.remember.disk import page_budget
from edgemem.remember.entries import Job
from edgemem.remember.results import JobState
from edgemem.remember.rows.reading import RowReader
from edgemem.remember.rows.writing import Writing

MOST_ATTEMPTS = 5
FIRST_WAIT_S = 60
"""Waiting time after the first failure; then 120, 240 and 480 s."""
_MOST_GIVEN_UP = 64
"""Most given-up jobs that are still listed."""
_WRITERS = "writer IN (SELECT value FROM json_each(:writers))"
# A lease or a failure that was noted with a fast clock must not block a job.
_LEASABLE = f"NOT given_up AND {_WRITERS} AND due_us <= :now AND (until_us <= :now OR leased_us > :now)"


class JobWriting(Writing):
    """The part of `Transaction` that writes jobs."""

    def add_job(self, writer: str, stream: str, payload: bytes, due_us: int) -> int:
        """Postpone work until `due_us`, a time of the same clock as `now_us` of `Store.lease_job`. Only the writer can read `payload`."""
        self._allowance.claim(page_budget.job_pages(len(payload)))
        return self._insert("INSERT INTO job (writer, stream, payload, due_us) VALUES (?, ?, ?, ?)", (writer, stream, payload, due_us))

    def lease_job(self, writers: Sequence[str], now_us: int, lease_s: float) -> Job | None:
        """See `Store.lease_job`."""
        self._give_up_exhausted(writers, now_us)
        found = self._due(writers, now_us)
        if found is None:
            return None
        job_id, writer, stream, payload, attempts = found
        until_us = now_us + round(lease_s * US)
        self.connection.execute(
            "UPDATE job SET leased_us = ?, until_us = ?, attempts = attempts + 1 WHERE id = ?", (now_us, until_us, job_id)
        )
        return Job(id=job_id, writer=writer, stream=stream, payload=payload, attempt=attempts + 1)

    def _due(self, writers: Sequence[str], now_us: int) -> tuple[int, str, str, bytes, int] | None:
        return due_job(self.connection, writers, now_us)

    def finish_job(self, job_id: int) -> bool:
        """The job is done. False if it was forgotten, given up or done by another process in the meantime: then write no results of it."""
        self._allowance.claim(page_budget.job_pages(self._payload_bytes(job_id)))
        return self.connection.execute("DELETE FROM job WHERE id = ? AND NOT given_up", (job_id,)).rowcount == 1

    def fail_job(self, job_id: int, why: str) -> None:
        """The job failed: it is due again later, or given up. Does nothing if the job is gone."""
        self._allowance.claim(page_budget.job_pages(self._payload_bytes(job_id)))
        found = self.connection.execute("SELECT attempts, leased_us FROM job WHERE id = ? AND NOT given_up", (job_id,)).fetchone()
        if found is None:
            return
        attempts, leased_us = found
        if attempts >= MOST_ATTEMPTS:
            self._give_up(job_id, why)
            return
        wait_us = FIRST_WAIT_S * US << max(0, attempts - 1)
        self.connection.execute("UPDATE job SET due_us = ?, until_us = 0, error = ? WHERE id = ?", (leased_us + wait_us, why[:500], job_id))

    def release_jobs(self) -> None:
        """End every lease: their processes are gone. Only for the process that holds the memory, before its first lease."""
        self.connection.execute("UPDATE job SET until_us = 0 WHERE until_us > 0")

    def drop_job(self, job_id: int) -> None:
        """Remove a job in any state."""
        self._allowance.claim(page_budget.job_pages(self._payload_bytes(job_id)))
        self.connection.execute("DELETE FROM job WHERE id = ?", (job_id,))

    def _give_up_exhausted(self, writers: Sequence[str], now_us: int) -> None:
        """Give up jobs whose process ended every time before it could report a failure."""
        sql = f"SELECT id, payload FROM job WHERE {_LEASABLE} AND attempts >= {MOST_ATTEMPTS}"  # noqa: S608 - our own words
        for job_id, payload in self.connection.execute(sql, _bound(writers, now_us)).fetchall():
            self._allowance.claim(page_budget.job_pages(len(payload)))
            self._give_up(job_id, "it was started several times and never finished")

    def _give_up(self, job_id: int, why: str) -> None:
        self.connection.execute("UPDATE job SET given_up = 1, payload = x'', until_us = 0, error = ? WHERE id = ?", (why[:500], job_id))
        self.connection.execute(
            "DELETE FROM job WHERE given_up AND id NOT IN (SELECT id FROM job WHERE given_up ORDER BY id DESC LIMIT ?)", (_MOST_GIVEN_UP,)
        )

    def _payload_bytes(self, job_id: int) -> int:
        found = self.connection.execute("SELECT length(payload) FROM job WHERE id = ?", (job_id,)).fetchone()
        return found[0] if found else 0


class JobReading(RowReader):
    """The part of `View` that lists jobs."""

    def jobs(self, limit: int | None = None) -> list[JobState]:
        """Postponed and given-up jobs, oldest first. They are the same at every cut-off: they contain nothing of what was seen."""
        sql = "SELECT id, writer, stream, due_us, attempts, given_up, error FROM job ORDER BY id LIMIT :limit"
        names = ("id", "writer", "stream", "due_us", "attempts")
        rows = self._all(sql, limit=-1 if limit is None else limit)
        return [JobState(**dict(zip(names, row[:5], strict=True)), given_up=row[5] == 1, error=row[6]) for row in rows]


def due_job(connection: sqlite3.Connection, writers: Sequence[str], now_us: int) -> tuple[int, str, str, bytes, int] | None:
    """Id, writer, stream, payload and attempts of the job of these writers that has been due longest; None if none is due."""
    sql = f"SELECT id, writer, stream, payload, attempts FROM job WHERE {_LEASABLE} ORDER BY due_us, id LIMIT 1"  # noqa: S608
    found: tuple[int, str, str, bytes, int] | None = connection.execute(sql, _bound(writers, now_us)).fetchone()
    return found


def _bound(writers: Sequence[str], now_us: int) -> dict[str, object]:
    return {"writers": json.dumps(list(writers)), "now": now_us}
