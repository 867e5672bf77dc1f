"""Carries out the operations that writers return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.clock import now_us
from edgemem.records import US, Moment, Origin, Quote, Record, Segment, least_trusted
from edgemem.remember.entries import NewDocument, NewEntity, NewMention, NewRelation, embedded
from edgemem.remember.results import Spoken
from edgemem.see.operations import (
    EndRelation,
    Mentioned,
    Node,
    Observations,
    Occasion,
    Operation,
    Postpone,
    ReplaceDocument,
    RetireDocument,
    Same,
    SegmentClosed,
    Split,
    Triple,
    Writer,
)

if TYPE_CHECKING:
    from edgemem.infer.roles import TextEmbedder
    from edgemem.remember.store import Transaction

WriteStep = Callable[["Transaction"], int]
"""Carries out one operation; returns how many documents it wrote."""


class Postponed(Record, frozen=True, array_like=True):
    """Content of a job: the writer's payload and the origins of the text that the writer had read."""

    payload: bytes
    shown: tuple[Origin, ...]


def steps(writer: str, occasion: Occasion, operations: Iterable[Operation], embedder: TextEmbedder | None = None) -> Iterator[WriteStep]:
    """One step for each operation of the named writer, in order.

    Nothing becomes known before the time of the occasion. A document gets the least trusted origin of all that its writer has read,
    whatever the writer says. A step that raises BudgetError wrote nothing.
    """
    carrying = _CarryingOut(writer, occasion, embedder)
    return (partial(carrying.out, operation) for operation in operations)


class _CarryingOut:
    """The operations of one writer on one occasion."""

    def __init__(self, writer: str, occasion: Occasion, embedder: TextEmbedder | None) -> None:
        self._writer, self._occasion, self._embedder = writer, occasion, embedder
        self._document_id: int | None = None
        """Id of the document that was written last."""
        self._actions: dict[type, Callable[[Any, Transaction], object]] = {
            NewDocument: self._add,
            ReplaceDocument: self._replace,
            RetireDocument: lambda operation, tx: tx.retire_document(operation.document_id, occasion.known_us),
            Triple: self._triple,
            EndRelation: lambda operation, tx: tx.end_relation(operation.relation_id, operation.t_us),
            Mentioned: self._mention,
            Same: self._merge,
            Split: self._split,
            Postpone: self._postpone,
        }

    def out(self, operation: Operation, tx: Transaction) -> int:
        """Carry out one operation."""
        self._actions[type(operation)](operation, tx)
        return int(isinstance(operation, NewDocument | ReplaceDocument))

    def _add(self, new: NewDocument, tx: Transaction) -> None:
        self._document_id = tx.add_document(self._trusted(new))

    def _replace(self, operation: ReplaceDocument, tx: Transaction) -> None:
        self._document_id = tx.replace_document(operation.document_id, self._trusted(operation.document))

    def _trusted(self, new: NewDocument) -> NewDocument:
        origin = least_trusted(new.origin, *self._occasion.origins)
        return embedded(msgspec.structs.replace(new, origin=origin), self._embedder)

    def _triple(self, triple: Triple, tx: Transaction) -> None:
        quotes = tuple(map(self._rested, triple.quotes))
        source_id, target_id = self._entity(triple.source, tx), self._entity(triple.target, tx)
        tx.add_relation(
            NewRelation(
                type=triple.type, source_id=source_id, target_id=target_id, stream=self._occasion.stream, t0_us=triple.t0_us,
                t1_us=triple.t1_us, confidence=triple.confidence, known_us=max(self._occasion.known_us, triple.t1_us), quotes=quotes,
            )
        )  # fmt: skip

    def _rested(self, quote: Quote) -> Quote:
        """A quote without a source gets the document that was written last as its source."""
        bare = quote.document_id is None and quote.moment_id is None
        return msgspec.structs.replace(quote, document_id=self._document_id) if bare else quote

    def _mention(self, mentioned: Mentioned, tx: Transaction) -> None:
        if self._document_id is not None:
            entity_id = self._entity(mentioned.node, tx)
            known_us = self._occasion.known_us
            tx.add_mention(NewMention(entity_id=entity_id, document_id=self._document_id, score=mentioned.score, known_us=known_us))

    def _merge(self, same: Same, tx: Transaction) -> None:
        short, full = self._entity(same.short, tx), self._entity(same.full, tx)
        if short != full:
            tx.merge_entity(short, full, self._occasion.known_us)

    def _split(self, split: Split, tx: Transaction) -> None:
        merge_id = tx.merge_of(self._entity(split.short, tx))
        if merge_id is not None:
            tx.unmerge(merge_id, self._occasion.known_us)

    def _postpone(self, postpone: Postpone, tx: Transaction) -> None:
        payload = msgspec.msgpack.encode(Postponed(payload=postpone.payload, shown=tuple(sorted(self._occasion.origins))))
        tx.add_job(self._writer, self._occasion.stream, payload, now_us() + round(postpone.after_s * US))

    def _entity(self, node: Node, tx: Transaction) -> int:
        return tx.add_entity(NewEntity(kind=node.kind, name=node.name, known_us=self._occasion.known_us))


def describing(writers_of: Callable[[str], Sequence[Writer]], embedder: TextEmbedder | None = None) -> Callable[..., Iterator[WriteStep]]:
    """Makes a `remember.forget.Describer`: after part of a segment was forgotten, it describes again what is left.

    `writers_of` gives the writers for the segments of a segmenter, by its name. The memory has the vector space of the `embedder`.
    """

    def describe(
        segment: Segment, moments: Sequence[Moment], observations: Observations, utterances: Sequence[Spoken]
    ) -> Iterator[WriteStep]:
        closed = SegmentClosed(segment=segment, moments=tuple(moments), observations=observations, utterances=tuple(utterances))
        for writer in writers_of(segment.segmenter):
            if "segment_closed" in writer.triggers:
                yield from steps(writer.name, closed, writer.write(closed), embedder)

    return describe
