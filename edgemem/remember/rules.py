"""Retention rules of the user: nothing of a stream, or of a place, is kept longer than a number of days."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from edgemem.clock import SteadyClock
from edgemem.config import KeepRule
from edgemem.records import US
from edgemem.remember.store import Store, Transaction
from edgemem.remember.tiers import Retainer, RetentionStep

_SEGMENTS = (
    "WITH RECURSIVE shown (id) AS (SELECT segment_id FROM segment_moment WHERE moment_id = :id"
    " UNION SELECT g.parent_id FROM segment g JOIN shown ON g.id = shown.id WHERE g.parent_id IS NOT NULL)"
)
"""The segments that contain a moment, and their parents."""
DAY_US = 86_400 * US
_STEP_MOMENTS = 64
"""Most rows of each kind in one step; fewer if the budget allows less."""

_MOST_STEPS = 100_000
"""Upper limit of steps in `catch_up`: six million moments."""


class KeepRules:
    """Deletes what is too old by a rule: moments with their pictures, and everything written about that time.

    Pinned moments and representatives are deleted too, because a rule protects privacy. A document or segment that begins in the time that
    is too old is deleted as a whole. A place is recognised by its label: the moments that show it are deleted, with the documents of their
    segments.

    Days are counted from the time of the clock, not from the newest moment: one recording with a date in the future would delete all
    others, and a memory that nothing is added to would keep everything. A clock that is known to be wrong deletes nothing: one that was
    never set, one that was changed and that no time server has confirmed, and that of a live stream whose dates are not corrected yet.
    """

    name = "keep_rules"

    def __init__(self, rules: Sequence[KeepRule], clock: SteadyClock | None = None) -> None:
        """`clock` notices when the time of the system is changed, from when it is made (default: now)."""
        self._rules = rules
        self._clock = clock or SteadyClock()

    def apply(self, store: Store, now_us: int | None = None) -> RetentionStep:
        """Do one bounded step for each rule, as of `now_us` (default: the time of the clock, if it can be trusted)."""
        now = self._now_us(store) if now_us is None else now_us
        if now is None:
            return RetentionStep()
        dropped, done = 0, True
        for rule in self._rules:
            with store.transaction() as tx:
                number, finished = _apply(tx, rule, now - round(rule.keep_days * DAY_US))
            dropped, done = dropped + number, done and finished
        return RetentionStep(dropped=dropped, done=done)

    def _now_us(self, store: Store) -> int | None:
        now = self._clock.now()
        return now.t_us if now.trusted and store.time_trusted else None

    def catch_up(self, store: Store, now_us: int | None = None) -> int:
        """Do steps until nothing is too old, for example after a long pause; returns the number of deleted moments."""
        dropped = 0
        for _ in range(_MOST_STEPS):
            step = self.apply(store, now_us)
            dropped += step.dropped
            if step.done:
                break
            store.maintain()
        return dropped


class Retainers:
    """Several retainers as one: each does its own step."""

    name = "retainers"

    def __init__(self, parts: Sequence[Retainer]) -> None:
        self._parts = parts

    def apply(self, store: Store, now_us: int | None = None) -> RetentionStep:
        """Do one step of each."""
        steps = [part.apply(store, now_us) for part in self._parts]
        return RetentionStep(
            dropped=sum(step.dropped for step in steps),
            recoded=sum(step.recoded for step in steps),
            done=all(step.done for step in steps),
        )


def _apply(tx: Transaction, rule: KeepRule, before_us: int) -> tuple[int, bool]:
    """Returns (moments deleted, nothing is left to do). Everything that begins before `before_us` is too old."""
    streams = [key for key, name in tx.connection.execute("SELECT id, name FROM stream") if fnmatchcase(name, rule.stream)]
    moments: list[int] = []
    done = True
    for stream_id in streams:
        limit = _STEP_MOMENTS - len(moments)
        given = {"stream": stream_id, "before": before_us, "limit": limit, "place": rule.place, "score": rule.min_score * 1_000_000}
        if rule.place:
            sql = (
                "SELECT DISTINCT p.moment_id FROM term t JOIN posting p ON p.term_id = t.id WHERE t.kind = 'label' AND t.name = :place"
                " AND p.score_ppm >= :score AND p.t_us < :before AND p.stream_id = :stream LIMIT :limit"
            )
        else:
            sql = "SELECT id FROM moment WHERE stream_id = :stream AND t_us < :before ORDER BY t_us LIMIT :limit"
        moments += [row[0] for row in tx.connection.execute(sql, given).fetchall()]
        if not rule.place:
            done = _drop_texts(tx, stream_id, before_us) and done
    for number, moment_id in enumerate(moments):
        if tx.full:
            return number, False
        documents = f"{_SEGMENTS} SELECT id FROM document WHERE moment_id = :id OR segment_id IN (SELECT id FROM shown)"  # noqa: S608
        for (document_id,) in tx.connection.execute(documents, {"id": moment_id}).fetchall():
            if not (tx.drop_sessions_about("d", [document_id]) and tx.drop_document(document_id)):
                return number, False
        if not (tx.drop_sessions_about("m", [moment_id]) and tx.drop_moment(moment_id)):
            return number, False
    return len(moments), done and len(moments) < _STEP_MOMENTS


def _drop_texts(tx: Transaction, stream_id: int, before_us: int) -> bool:
    """Delete one step of documents, segments, relations and jobs of that time, and of answers based on it; True if none are left."""
    done = True
    jobs = f"SELECT j.id FROM job j JOIN stream s ON s.name = j.stream WHERE s.id = ? AND j.due_us < ? LIMIT {_STEP_MOMENTS}"  # noqa: S608
    for (job_id,) in tx.connection.execute(jobs, (stream_id, before_us)).fetchall():
        if tx.full:
            return False
        tx.drop_job(job_id)
    about = f"SELECT DISTINCT session_id FROM session_evidence WHERE stream_id = ? AND t0_us < ? LIMIT {_STEP_MOMENTS}"  # noqa: S608
    for (session_id,) in tx.connection.execute(about, (stream_id, before_us)).fetchall():
        if tx.full or not tx.drop_session(session_id):
            return False
    drops: dict[str, Callable[[int], bool | None]] = {
        "document": tx.drop_document,
        "segment": tx.drop_segment,
        "relation": tx.drop_relation,
    }
    for table, drop in drops.items():
        sql = f"SELECT id FROM {table} WHERE stream_id = ? AND t0_us < ? ORDER BY t0_us LIMIT {_STEP_MOMENTS}"  # noqa: S608
        found = tx.connection.execute(sql, (stream_id, before_us)).fetchall()
        done = done and len(found) < _STEP_MOMENTS
        for (key,) in found:
            if tx.full or drop(key) is False:
                return False
    return done
