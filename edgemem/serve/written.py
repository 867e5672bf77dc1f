"""What a question wrote beside its answer, such as summaries of stretches of time, kept for later questions.

Tools read only. The `documents` of a result are proposals; whoever holds the memory for writing keeps them. In a memory that is
only read they live as long as their session. Documents of one kind, stretch of time and first line are versions of one. What a result
postpones becomes jobs for writers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from edgemem.answer.session import Session
from edgemem.clock import now_us
from edgemem.records import Document, least_trusted
from edgemem.remember.entries import NewDocument, NewJob, Postponed, embedded

if TYPE_CHECKING:
    from edgemem.infer.roles import TextEmbedder
    from edgemem.remember.store import Store
    from edgemem.remember.view import View


def written(session: Session) -> list[NewDocument]:
    """Documents that the steps of a session proposed; of several versions of one the last.

    Whatever a tool says of them, none is the user's or the system's own word, and none was known before the question was asked.
    """
    proposed: dict[tuple[object, ...], NewDocument] = {}
    for step in session.steps:
        proposed.update({_identity(document): _of_a_tool(document, session) for document in step.result.documents})
    return list(proposed.values())


def _of_a_tool(document: NewDocument, session: Session) -> NewDocument:
    known_us = max(document.known_us, min(session.question.asked_us, session.question.as_of_us))
    return msgspec.structs.replace(document, origin=least_trusted(document.origin, "caption"), known_us=known_us)


def postponed(session: Session) -> list[NewJob]:
    """Work that the steps of a session put off, each once."""
    return list({(job.writer, job.stream, job.payload): job for step in session.steps for job in step.result.postponed}.values())


def persist(store: Store, session: Session, embedder: TextEmbedder | None = None) -> int:
    """Write what the session proposed, each document in a transaction of its own, and put off what it postponed; returns how many
    documents were written.

    A document takes the place of the version that the memory holds, unless that one is newer or says the same. Passages without vectors
    are embedded; without an embedder they are left out, and the document is found by its words. Raises BudgetError.
    """
    for job in postponed(session):
        with store.transaction() as tx:
            tx.add_job(job.writer, job.stream, msgspec.msgpack.encode(Postponed(payload=job.payload, shown=())), now_us())
    proposed = [embedded(document, embedder) for document in written(session)]
    if not proposed:
        return 0
    if embedder is not None:
        store.ensure_space(embedder.space, holds="passage")
    with store.view() as view:
        versions = [(document, _version(document, view)) for document in proposed]
    count = 0
    for document, old in versions:
        if old is not None and (old.text == document.text or old.known_us > document.known_us):
            continue
        with store.transaction() as tx:
            if old is None:
                tx.add_document(document)
            else:
                tx.replace_document(old.id, document)
        count += 1
    return count


def _identity(document: NewDocument | Document) -> tuple[object, ...]:
    return (document.kind, document.stream, document.t0_us, document.t1_us, document.text.partition("\n")[0])


def _version(document: NewDocument, view: View) -> Document | None:
    """What the memory holds of it now."""
    near = view.documents(kinds=(document.kind,), stream=document.stream, from_us=document.t0_us, to_us=document.t1_us)
    return next((known for known in near if _identity(known) == _identity(document)), None)
