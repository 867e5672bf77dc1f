"""Tokens and cost per UTC day, stored on disk, so that a limit applies across processes, restarts and crashes.

Before a call its worst case is written as spent; afterwards it is replaced by the real cost. So two processes cannot both use the last
tokens of a day, and after a crash the stored value is never too low.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec

from edgemem.errors import ChatError

EMBEDDING = "embedding"
"""The task of embeddings. They have limits of their own: what is seen must not use up what questions need."""
KEEP_DAYS = 400
"""Older days are deleted."""
LOCK_S = 10.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spent (
  day TEXT NOT NULL, task TEXT NOT NULL, model TEXT NOT NULL, place TEXT NOT NULL,
  calls INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, usd REAL NOT NULL,
  PRIMARY KEY (day, task, model, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dialect (place TEXT NOT NULL, model TEXT NOT NULL, day TEXT NOT NULL, json BLOB NOT NULL,
  PRIMARY KEY (place, model)) WITHOUT ROWID;
"""


class UsageLine(msgspec.Struct, frozen=True):
    """A line of the ledger."""

    day: str
    task: str
    model: str
    place: str
    calls: int
    tokens_in: int
    tokens_out: int
    usd: float


class UsageLedger:
    """The file at `path`, created at its first use. Safe to use from several threads and processes."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now

    def reserve(self, worst: UsageLine, tokens_per_day: int, usd_per_day: float, where: str = "openai") -> UsageLine:
        """Write the worst case as spent today and return it with its day. Raises ChatError if it exceeds the limit of the day, which is in
        the settings table `where`; 0 = no limit.
        """
        claim = msgspec.structs.replace(worst, day=self._day(), calls=1)
        with self._writing() as db:
            tokens, usd = db.execute(
                "SELECT coalesce(sum(tokens_in + tokens_out), 0), coalesce(sum(usd), 0) FROM spent WHERE day = ? AND (task = ?) = ?",
                (claim.day, EMBEDDING, claim.task == EMBEDDING),
            ).fetchone()
            if tokens_per_day and tokens + claim.tokens_in + claim.tokens_out > tokens_per_day:
                raise ChatError(_used_up(f"{where}.tokens_per_day", tokens_per_day, f"{tokens} tokens"))
            if usd_per_day and usd + claim.usd > usd_per_day:
                raise ChatError(_used_up(f"{where}.usd_per_day", usd_per_day, f"{usd:.4f} USD"))
            _add(db, claim)
            db.execute("DELETE FROM spent WHERE day < ?", (self._day(-KEEP_DAYS),))
        return claim

    def settle(self, claim: UsageLine, tokens_in: int, tokens_out: int, usd: float) -> None:
        """Replace the worst case by the real values. A call without a result is not counted."""
        with self._writing() as db:
            _add(
                db,
                msgspec.structs.replace(
                    claim,
                    calls=0 if tokens_in or tokens_out else -1,
                    tokens_in=tokens_in - claim.tokens_in,
                    tokens_out=tokens_out - claim.tokens_out,
                    usd=usd - claim.usd,
                ),
            )

    def lines(self, days: int) -> list[UsageLine]:
        """The last `days` days, newest first."""
        if not self._path.exists():
            return []
        with self._writing() as db:
            rows = db.execute("SELECT * FROM spent WHERE day > ? AND calls > 0 ORDER BY day DESC, task, model", (self._day(-days),))
            return [UsageLine(*row) for row in rows]

    def dialect(self, place: str, model: str, days: int) -> bytes | None:
        """What was learnt about a server in the last `days` days."""
        with self._writing() as db:
            row = db.execute(
                "SELECT json FROM dialect WHERE place = ? AND model = ? AND day > ?", (place, model, self._day(-days))
            ).fetchone()
        return None if row is None else bytes(row[0])

    def learn(self, place: str, model: str, json: bytes) -> None:
        """Store what was learnt about a server."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO dialect VALUES (?, ?, ?, ?)", (place, model, self._day(), json))

    def _day(self, offset: int = 0) -> str:
        return (datetime.fromtimestamp(self._now(), timezone.utc) + timedelta(days=offset)).date().isoformat()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction. Raises ChatError if the file cannot be written, because calls that cannot be counted are not allowed."""
        try:
            if not self._path.exists():
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.touch(mode=0o600)
            db = sqlite3.connect(self._path, timeout=LOCK_S, isolation_level=None)
            try:
                db.execute("BEGIN IMMEDIATE")
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    db.execute(statement)
                yield db
                db.execute("COMMIT")
            finally:
                db.close()  # rolls back what was not committed
        except (sqlite3.Error, OSError) as error:
            raise ChatError(
                f"the ledger {self._path} cannot be used ({error}), so no call is made: make it writable or delete it"
            ) from None


def _add(db: sqlite3.Connection, line: UsageLine) -> None:
    db.execute(
        "INSERT INTO spent VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, "
        "tokens_in = tokens_in + excluded.tokens_in, tokens_out = tokens_out + excluded.tokens_out, usd = usd + excluded.usd",
        msgspec.structs.astuple(line),
    )


def _used_up(key: str, cap: float, spent: str) -> str:
    return f"{key} = {cap} is reached ({spent} today); wait until 00:00 UTC, or raise it"
