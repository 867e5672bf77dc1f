"""Stores the session of a question, and what its tools wrote. This is done after the answer was given, so that the user does not wait for
it.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from edgemem.errors import EdgememError
from edgemem.isolation import call_isolated, one_line
from edgemem.remember.administration import open_view
from edgemem.remember.disk.database import errors
from edgemem.remember.disk.directory import is_paused
from edgemem.remember.disk.error_translation import explain
from edgemem.remember.store import Store
from edgemem.serve.written import persist, postponed, written

if TYPE_CHECKING:
    from edgemem.answer.session import Session
    from edgemem.infer.roles import TextEmbedder
    from edgemem.remember.entries import NewSession

_log = logging.getLogger(__name__)

_WAITING = 64
"""Most sessions that may wait for the store; more are not stored, which is logged."""


@dataclass(frozen=True)
class Trace:
    """How one question was answered. `embedder` returns the embedder for what its tools wrote; it is called only if they wrote."""

    log: NewSession
    session: Session
    embedder: Callable[[], TextEmbedder | None]


def keep(store: Store, trace: Trace) -> None:
    """Store what the tools wrote, then the session. Raises EdgememError."""
    if written(trace.session) or postponed(trace.session):
        persist(store, trace.session, trace.embedder())
    with store.transaction() as tx:
        tx.add_session(trace.log)


def keep_if_free(memory: Path, trace: Trace) -> str:
    """Store it if no other process writes the memory now, within its cap; returns "" or one line on why not."""
    if is_paused(memory):
        return "the memory is paused"
    try:
        with open_view(memory) as view:
            budget_bytes = view.stats().budget_bytes
        with Store.open(memory, create=False, budget_bytes=budget_bytes, patience_s=0.0) as store:
            keep(store, trace)
    except EdgememError as error:
        return str(error)
    except errors() + (UnicodeDecodeError,) as error:  # noqa: RUF005 - mypy knows this form; damaged tables
        return str(explain(memory, error))
    return ""


class SessionLogger:
    """Stores the traces of an agent's questions in a separate thread, so that no answer waits for the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._traces: queue.Queue[Trace | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._run, name="edgemem-session-log", daemon=True)
        self._thread.start()

    def take(self, trace: Trace) -> None:
        """Add a trace; returns at once."""
        try:
            self._traces.put_nowait(trace)
        except queue.Full:
            _log.warning("too many questions at the same time: the trace of one is not stored")

    def close(self) -> None:
        """Store the waiting traces. The store must be open until then."""
        self._traces.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (trace := self._traces.get()) is not None:
            if is_paused(self._store.directory):
                continue
            call_isolated(partial(keep, self._store, trace), _not_kept)


def _not_kept(error: Exception) -> None:
    _log.warning("the trace of a question is not kept: %s", one_line(error))
