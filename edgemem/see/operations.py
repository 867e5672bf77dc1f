"""What a writer may ask to have written, and how it is carried out: with its segment, and what is too much for one transaction after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec

from edgemem.records import Moment, Observation, Origin, Quote, Record, Segment, least_trusted
from edgemem.remember.entries import NewDocument, NewEntity, NewMention, NewRelation, embedded
from edgemem.remember.results import Spoken

if TYPE_CHECKING:
    from edgemem.infer.roles import TextEmbedder
    from edgemem.remember.store import Transaction
    from edgemem.remember.view import View

Observations = Mapping[int, tuple[Observation, ...]]
"""What was seen, by moment id."""


class Closing(Record, frozen=True):
    """A segment that just closed, with all that is known of it."""

    segment: Segment
    moments: tuple[Moment, ...] = ()
    """In time order; none where only something was heard."""
    observations: Observations = msgspec.field(default_factory=dict)
    utterances: tuple[Spoken, ...] = ()
    """What was said since the segment before, in time order: no word is given to two segments of one track."""
    open_view: Callable[[], AbstractContextManager[View]] | None = None
    """The memory as it was before this segment, for writers that continue what stands there."""


class Node(Record, frozen=True):
    """An end of an edge: kind as in `records.Entity` and name."""

    kind: str
    name: str


class Triple(Record, frozen=True):
    """`source` did `type` to `target` in one interval.

    A quote that names neither document nor picture rests on the document that the same writer wrote before it.
    """

    source: Node
    type: str
    target: Node
    t0_us: int
    t1_us: int
    confidence: float = 1.0
    quotes: tuple[Quote, ...] = ()


class Mentioned(Record, frozen=True):
    """Someone or something came up in the document that the same writer wrote before this."""

    node: Node
    score: float = 1.0


class Same(Record, frozen=True):
    """`short` is another name of `full` ("Tom" of "Tom Baker"). It can be taken back later."""

    short: Node
    full: Node


Operation = NewDocument | Triple | Mentioned | Same


class Writer(Protocol):
    """Hook `register_writers`."""

    name: str

    def write(self, closing: Closing) -> Iterable[Operation]:
        """What is to be written about a segment that just closed. None of it may tell of a later time.

        A writer with the attribute `slow = True` is called in a thread of its own and may take its time.
        """
        ...


def steps(
    closing: Closing, operations: Iterable[Operation], embedder: TextEmbedder | None = None
) -> Iterator[Callable[[Transaction], int]]:
    """One step for each operation, in order, in one transaction or several; each returns how many documents it wrote.

    Nothing becomes known before its segment's end. A document is trusted no more than the least of what its writer was shown, whatever the
    writer says of it. A step that raises BudgetError wrote nothing that matters, and may be taken again.
    """
    carrying = _Carrying(closing, embedder)
    return (partial(carrying.out, operation) for operation in operations)


class _Carrying:
    """Carries out the operations of one writer on one segment."""

    def __init__(self, closing: Closing, embedder: TextEmbedder | None) -> None:
        self._closing, self._embedder = closing, embedder
        self._shown = _shown(closing)
        self._known_us = closing.segment.t1_us
        self._document_id: int | None = None
        """The last that was written."""

    def out(self, operation: Operation, tx: Transaction) -> int:
        if isinstance(operation, NewDocument):
            origin = least_trusted(operation.origin, *self._shown)
            self._document_id = tx.add_document(embedded(msgspec.structs.replace(operation, origin=origin), self._embedder))
            return 1
        if isinstance(operation, Triple):
            source_id, target_id = self._entity(tx, operation.source), self._entity(tx, operation.target)
            _add_triple(tx, self._closing, operation, source_id, target_id, self._document_id)
        elif isinstance(operation, Mentioned):
            if self._document_id is not None:
                entity_id = self._entity(tx, operation.node)
                mention = NewMention(entity_id=entity_id, document_id=self._document_id, score=operation.score, known_us=self._known_us)
                tx.add_mention(mention)
        else:
            short, full = self._entity(tx, operation.short), self._entity(tx, operation.full)
            if short != full:
                tx.merge_entity(short, full, self._known_us)
        return 0

    def _entity(self, tx: Transaction, node: Node) -> int:
        return tx.add_entity(NewEntity(kind=node.kind, name=node.name, known_us=self._known_us))


def anew(
    writers_of: Callable[[str], Sequence[Writer]], embedder: TextEmbedder | None = None
) -> Callable[..., Iterator[Callable[[Transaction], int]]]:
    """What puts the rest of a segment into words when something of it is forgotten: `remember.forget.Describer`.

    `writers_of` gives the writers for segments of a segmenter's name; the memory holds the space of the `embedder`.
    """

    def describe(
        segment: Segment, moments: Sequence[Moment], observations: Observations, utterances: Sequence[Spoken]
    ) -> Iterator[Callable[[Transaction], int]]:
        closing = Closing(segment=segment, moments=tuple(moments), observations=observations, utterances=tuple(utterances))
        for writer in writers_of(segment.segmenter):
            yield from steps(closing, writer.write(closing), embedder)

    return describe


def _shown(closing: Closing) -> set[Origin]:
    """Origins of the words that a writer of this segment was shown."""
    shown: set[Origin] = {spoken.document.origin for spoken in closing.utterances}
    if any(o.kind == "text" for seen in closing.observations.values() for o in seen):
        shown.add("ocr")
    return shown


def _add_triple(tx: Transaction, closing: Closing, triple: Triple, source_id: int, target_id: int, document_id: int | None) -> None:
    quotes = tuple(
        msgspec.structs.replace(quote, document_id=document_id) if quote.document_id is None and quote.moment_id is None else quote
        for quote in triple.quotes
    )
    tx.add_relation(
        NewRelation(
            type=triple.type, source_id=source_id, target_id=target_id, stream=closing.segment.stream, t0_us=triple.t0_us,
            t1_us=triple.t1_us, confidence=triple.confidence, known_us=max(closing.segment.t1_us, triple.t1_us), quotes=quotes,
        )
    )  # fmt: skip
