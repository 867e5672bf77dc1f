"""Sessions: questions with their answers, step by step. Written when an answer is given, read to explain it.

A session quotes data of the memory: when any of that data is forgotten, the session is deleted too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from edgemem.errors import MemoryDirError
from edgemem.remember.disk import page_budget
from edgemem.remember.entries import NewCall, NewSession, NewStep
from edgemem.remember.results import SessionHead, SessionLog
from edgemem.remember.rows.reading import RowReader, ids_list
from edgemem.remember.rows.writing import Writing

_CALL_BYTES = 200
"""Estimated bytes of a call without its request, reply and log-probabilities."""
_ID = re.compile(r"([mdsru])(\d{1,18})")
_QUOTED_ID = re.compile(r'"([mdsru]\d{1,18})"')
_PLACES = {
    "m": "SELECT stream_id, t_us, t_us FROM moment WHERE id = ?",
    "d": "SELECT stream_id, t0_us, t1_us FROM document WHERE id = ?",
    "s": "SELECT stream_id, t0_us, t1_us FROM segment WHERE id = ?",
    "r": "SELECT stream_id, t0_us, t1_us FROM relation WHERE id = ?",
}
_KINDS = {"m": "moment", "d": "document", "s": "segment", "r": "relation"}
_HEAD = (
    "SELECT id, question, recipe, planner, asked_us, as_of_us, status, answer, option, confidence, tokens_in, tokens_out, usd, ms, notes"
    " FROM session WHERE asked_us <= :as_of AND "
)
_CALL = ("step", "task", "model", "request", "reply", "finish", "tokens_in", "tokens_out", "ms", "usd", "error", "logprobs")
"""Columns of `call`, with the names of the fields of `NewCall`."""
TOO_LARGE = "not every step of this answer was stored: the budget has no space for them"


class SessionWriting(Writing):
    """The part of `Transaction` that writes sessions."""

    def add_session(self, new: NewSession) -> int:
        """Store a question with its answer and steps. `evidence` is everything that was found; ids in the results of steps are stored too.

        If the budget has no space, prompts are left out, then steps, and a note says so. Raises MemoryDirError if some of the evidence was
        forgotten in the meantime, because the answer may quote it.
        """
        came_up = _came_up(new)
        self._refuse_forgotten(came_up)
        for lighter in ({"calls": ()}, {"steps": ()}):
            if not self._allowance.fits(page_budget.session_pages(_weight(new), len(came_up))):
                notes = (*(note for note in new.notes if note != TOO_LARGE), TOO_LARGE)
                new = msgspec.structs.replace(new, notes=notes, **lighter)
        weight = _weight(new)
        self._allowance.claim(page_budget.session_pages(weight, len(came_up)))
        session_id = self._insert(
            "INSERT INTO session (question, recipe, planner, asked_us, as_of_us, status, answer, option, confidence, tokens_in, tokens_out,"
            " usd, ms, notes, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                new.question,
                new.recipe,
                new.planner,
                new.asked_us,
                new.as_of_us,
                new.status,
                new.answer,
                new.option,
                new.confidence,
                new.tokens_in,
                new.tokens_out,
                new.usd,
                new.ms,
                json.dumps(new.notes, ensure_ascii=False),
                weight,
            ),
        )
        self.connection.executemany(
            "INSERT INTO step (session_id, actor, action, result, ms) VALUES (?, ?, ?, ?, ?)",
            [(session_id, step.actor, step.action_json, step.result_json, step.ms) for step in new.steps],
        )
        marks = ", ".join("?" * (1 + len(_CALL)))
        self.connection.executemany(
            f"INSERT INTO call (session_id, {', '.join(_CALL)}) VALUES ({marks})",  # noqa: S608 - our own names
            [(session_id, *(getattr(call, name) for name in _CALL)) for call in new.calls],
        )
        self.connection.executemany(
            "INSERT INTO session_evidence (session_id, kind, ref_id, stream_id, t0_us, t1_us) VALUES (?, ?, ?, ?, ?, ?)",
            [(session_id, kind, ref_id, *self._place(kind, ref_id)) for kind, ref_id in came_up],
        )
        return session_id

    def drop_session(self, session_id: int) -> bool:
        """Remove a session with all its steps. False if that does not fit into this transaction, which is then full."""
        found = self.connection.execute("SELECT bytes FROM session WHERE id = ?", (session_id,)).fetchone()
        if found:
            if not self._allowance.take(page_budget.session_pages(found[0], 0)):
                return False
            self.connection.execute("DELETE FROM session WHERE id = ?", (session_id,))
        return True

    def drop_sessions_about(self, kind: str, ids: Iterable[int]) -> bool:
        """Remove the sessions that have one of these moments ("m"), documents ("d"), segments ("s") or relations ("r") as evidence.

        False if not all of them fit into this transaction, which is then full.
        """
        sql = f"SELECT DISTINCT session_id FROM session_evidence WHERE kind = ? AND ref_id IN {ids_list(list(ids))}"  # noqa: S608 - integers
        return all(self.drop_session(session_id) for (session_id,) in self.connection.execute(sql, (kind,)).fetchall())

    def _place(self, kind: str, ref_id: int) -> tuple[Any, ...]:
        """Stream and time of a piece of evidence; stored because the evidence may be evicted before it is forgotten."""
        return self.connection.execute(_PLACES[kind], (ref_id,)).fetchone() or (None, None, None)

    def _refuse_forgotten(self, came_up: Iterable[tuple[str, int]]) -> None:
        for kind, ref_id in came_up:
            sql = "SELECT 1 FROM tombstone WHERE kind = ? AND ? BETWEEN first_id AND last_id"
            if self.connection.execute(sql, (_KINDS[kind], ref_id)).fetchone():
                raise MemoryDirError(f"this answer is not stored: {kind}{ref_id}, a part of its evidence, was forgotten in the meantime")


class SessionReading(RowReader):
    """The part of `View` that reads sessions."""

    def sessions(self, limit: int | None = None) -> list[SessionHead]:
        """Questions up to the cut-off with their answers, newest first."""
        rows = self._all(f"{_HEAD} 1 ORDER BY id DESC LIMIT :limit", limit=-1 if limit is None else limit)
        return [SessionHead(id=row[0], **_fields(row)) for row in rows]

    def session(self, session_id: int) -> SessionLog | None:
        """A session with its steps; None if it is unknown, forgotten, or was asked after the cut-off."""
        found = self._all(f"{_HEAD} id = :id", id=session_id)
        if not found:
            return None
        steps = self._all("SELECT actor, action, result, ms FROM step WHERE session_id = :id ORDER BY id", id=session_id)
        calls = self._all(f"SELECT {', '.join(_CALL)} FROM call WHERE session_id = :id ORDER BY id", id=session_id)  # noqa: S608
        evidence = self._all("SELECT kind || ref_id FROM session_evidence WHERE session_id = :id ORDER BY kind, ref_id", id=session_id)
        return SessionLog(
            id=session_id,
            **_fields(found[0]),
            steps=tuple(NewStep(actor=row[0], action_json=row[1], result_json=row[2], ms=row[3]) for row in steps),
            calls=tuple(NewCall(**dict(zip(_CALL, row, strict=True))) for row in calls),
            evidence=tuple(row[0] for row in evidence),
        )


def _fields(row: tuple[Any, ...]) -> dict[str, Any]:
    names = ("question", "recipe", "planner", "asked_us", "as_of_us", "status", "answer", "option", "confidence")
    more = ("tokens_in", "tokens_out", "usd", "ms")
    return {**dict(zip((*names, *more), row[1:-1], strict=True)), "notes": tuple(json.loads(row[-1]))}


def renumbered(text: str, ids: Mapping[str, Mapping[int, int]]) -> str:
    """JSON of a step with new ids instead of those that it quotes; 0 for ids without a new one."""
    return _QUOTED_ID.sub(lambda found: f'"{found[1][0]}{ids[found[1][0]].get(int(found[1][1:]), 0)}"', text)


def renumbered_request(request: bytes, ids: Mapping[str, Mapping[int, int]]) -> bytes:
    """The same for the request of a call; unchanged if it is no MessagePack."""

    def changed(item: object) -> object:
        if isinstance(item, str):
            return renumbered(f'"{item}"', ids)[1:-1] if _ID.fullmatch(item) else renumbered(item, ids)
        if isinstance(item, dict):
            return {key: changed(value) for key, value in item.items()}
        return [changed(value) for value in item] if isinstance(item, list) else item

    try:
        return msgspec.msgpack.encode(changed(msgspec.msgpack.decode(request))) if request else request
    except msgspec.DecodeError:
        return request


def _came_up(new: NewSession) -> list[tuple[str, int]]:
    """Kinds and ids of the evidence, each once; an utterance is a document."""
    named = [*new.evidence, *(found for step in new.steps for found in _QUOTED_ID.findall(step.result_json))]
    named += [found for call in new.calls for text in strings(call.request) for found in (text, *_QUOTED_ID.findall(text))]
    parts = [match.groups() for name in named if (match := _ID.fullmatch(name))]
    return sorted({("d" if kind == "u" else kind, int(number)) for kind, number in parts if int(number)})


def _weight(new: NewSession) -> int:
    texts = [new.question, new.answer, *new.notes, *(call.reply for call in new.calls)]
    texts += [text for step in new.steps for text in (step.actor, step.action_json, step.result_json)]
    calls = sum(_CALL_BYTES + len(call.request) + len(call.logprobs) for call in new.calls)
    return calls + sum(len(text.encode()) for text in texts)


def strings(request: bytes) -> list[str]:
    """Every string in a request, without keys; a request that is no MessagePack counts as one text."""
    try:
        pending = [msgspec.msgpack.decode(request)] if request else []
    except msgspec.DecodeError:
        return [request.decode(errors="replace")]
    found = []
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
    return found
