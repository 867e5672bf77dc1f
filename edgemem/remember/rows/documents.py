"""Documents with their passages and speakers: written by a transaction, read through a view as they were known at its cut-off."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from edgemem.errors import MemoryDirError
from edgemem.records import Document, Vector
from edgemem.remember.disk import page_budget
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.entries import NewDocument, NewPassage
from edgemem.remember.results import PassageHit, Spoken, TextHit
from edgemem.remember.rows import text
from edgemem.remember.rows.graph_table import GraphTableReading
from edgemem.remember.rows.parts import PartReading, PartWriting
from edgemem.remember.rows.reading import FOREVER_US, KNOWN, SOONEST_US, ids_list

UTTERANCE = "utterance"
"""Kind of documents that were said."""
_OVERSAMPLING = (4, 64)
"""How many passages per requested one are read first; only if too few pass the filters, the filters are evaluated first."""


class DocumentWriting(PartWriting):
    """The part of `Transaction` that writes documents."""

    def __init__(self, connection: sqlite3.Connection, known: Mapping[tuple[object, ...], int], allowance: page_budget.PageBudget) -> None:
        super().__init__(connection, known, allowance)
        self._written = 0
        """Number of documents written or removed: more of them need more merging of the full-text index."""

    def add_document(self, new: NewDocument) -> int:
        """Store a document; the full-text index follows by trigger.

        Raises EngineError for a space that is not for passages, BudgetError if it does not fit into the budget; then nothing is stored.
        """
        passages = (
            page_budget.passage_pages(_own_chars(new, passage), sum(2 * vector.size for vector in passage.vectors.values()))
            for passage in new.passages
        )
        self._allowance.claim(page_budget.document_pages(len(new.text)) + sum(passages))
        self._written += 1
        squeezed = text.squeeze(new.text) if new.origin == "ocr" or new.kind == "text" else ""
        stream_id = self._stream(new.stream, new.t0_us - new.offset_us)
        document_id = self._insert(
            "INSERT INTO document (kind, text, squeezed, stream_id, t0_us, t1_us, offset_us, known_us, origin, segment_id, moment_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                new.kind,
                new.text,
                squeezed,
                stream_id,
                new.t0_us,
                new.t1_us,
                new.offset_us,
                new.known_us,
                new.origin,
                new.segment_id,
                new.moment_id,
            ),
        )
        if new.kind == UTTERANCE:
            self.connection.execute("INSERT INTO utterance VALUES (?, ?, ?)", (document_id, new.speaker_id, new.confidence))
        self._add_passages(new, document_id, stream_id)
        return document_id

    def _add_passages(self, new: NewDocument, document_id: int, stream_id: int) -> None:
        for passage in new.passages:
            start = new.text.find(passage.text)
            place = (None, None, passage.text) if start < 0 else (start, len(passage.text), None)
            passage_id = self._insert(
                "INSERT INTO passage (document_id, kind, start, length, text) VALUES (?, ?, ?, ?, ?)", (document_id, passage.kind, *place)
            )
            for space, vector in passage.vectors.items():
                self._add_vector("passage", space, vector, passage_id, new.t0_us, stream_id)

    def replace_document(self, document_id: int, new: NewDocument) -> int:
        """Store a new version; views before `new.known_us` still show the old one."""
        self.retire_document(document_id, new.known_us)
        return self.add_document(new)

    def retire_document(self, document_id: int, until_us: int) -> None:
        """The text is no longer valid; views before `until_us` still show it. Raises MemoryDirError if it was retired or replaced
        before.
        """
        sql = "UPDATE document SET until_us = max(?, known_us) WHERE id = ? AND until_us IS NULL"
        if not self.connection.execute(sql, (until_us, document_id)).rowcount:
            raise MemoryDirError(f"document d{document_id} does not exist, or it was retired or replaced already")

    def drop_document(self, document_id: int) -> bool:
        """Remove a document with its full text, its passages and their vectors.

        False, and nothing is removed, if that does not fit into this transaction, which is then full.
        """
        found = self.connection.execute("SELECT length(text) FROM document WHERE id = ?", (document_id,)).fetchone()
        if not found:
            return True
        passages = self.connection.execute(
            "SELECT id, ifnull(length(text), 0) FROM passage WHERE document_id = ?", (document_id,)
        ).fetchall()
        pages = sum(
            page_budget.passage_pages(own, len(self._spaces_of("passage", passage_id)) * page_budget.PAGE_BYTES)
            for passage_id, own in passages
        )
        pages += self._parts_pages("document_id", document_id)
        if not self._allowance.take(page_budget.document_pages(found[0]) + pages):
            return False
        self._written += 1
        for passage_id, _ in passages:
            self._note_erased("passage", passage_id)
        self._note_parts_erased("document_id", document_id)
        self.connection.execute("DELETE FROM document WHERE id = ?", (document_id,))
        return True

    def _settle_text(self) -> None:
        if self._written:
            text.merge(self.connection, page_budget.MERGE_PAGES + 2 * self._written)


def _own_chars(new: NewDocument, passage: NewPassage) -> int:
    """Number of characters of a passage that are not in its document."""
    return 0 if passage.text in new.text else len(passage.text)


class DocumentReading(GraphTableReading, PartReading):
    """The part of `View` that reads documents."""

    def search_text(
        self,
        query: str,
        k: int,
        *,
        kinds: Sequence[str] | None = None,
        from_us: int | None = None,
        to_us: int | None = None,
        stream: str | None = None,
    ) -> list[TextHit]:
        """Documents that have word stems, word beginnings or text without spaces in common with the question `query`, best first."""
        where, values = self._documents_where(kinds, from_us, to_us, stream)
        with translated_errors(self.directory):
            ranks = text.ranked(self._connection, query, k, f"{KNOWN} AND {where}", {"as_of": self.as_of_us, **values})
        found = self._documents(f"d.id IN {ids_list([document_id for document_id, _ in ranks])}")
        documents = {document.id: document for document in found}
        return [
            TextHit(document=documents[document_id], rank=rank, snippet=text.snippet(documents[document_id].text, query))
            for document_id, rank in ranks
            if document_id in documents
        ]

    def documents(
        self,
        *,
        kinds: Sequence[str] | None = None,
        stream: str | None = None,
        from_us: int | None = None,
        to_us: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Document]:
        """Documents in order of their beginning."""
        where, values = self._documents_where(kinds, from_us, to_us, stream)
        way = "DESC" if newest_first else "ASC"
        return self._documents(f"{where} ORDER BY d.t0_us {way}, d.id {way} LIMIT :limit", limit=-1 if limit is None else limit, **values)

    def document(self, document_id: int) -> Document | None:
        """The document with this id; None if it is unknown, forgotten or not known at the cut-off."""
        found = self._documents("d.id = :id", id=document_id)
        return found[0] if found else None

    def search_passages(
        self,
        space: str,
        query: Vector,
        k: int,
        *,
        kinds: Sequence[str] | None = None,
        from_us: int | None = None,
        to_us: int | None = None,
        stream: str | None = None,
    ) -> list[PassageHit]:
        """The `k` passages nearest to `query`, a unit vector of that space, best first; `kinds` are kinds of documents.

        A document may be returned more than once, with several passages. Empty for a space that is unknown or not for passages.
        """
        reader = self._space(space)
        if reader is None or reader.space.holds != "passage" or k <= 0:
            return []
        where, values = self._documents_where(kinds, from_us, to_us, stream)
        stream_id = None if stream is None else self._stream_id(stream)
        latest_us = FOREVER_US if to_us is None else to_us
        for wanted in (*(k * times for times in _OVERSAMPLING), None):
            # A passage begins with its document. When that was known and when it ends is only in SQLite.
            among = self._passage_ids(where, values) if wanted is None else None
            limit = k if wanted is None else wanted
            with translated_errors(self.directory):
                found = reader.search(query, limit, from_us=SOONEST_US, to_us=latest_us, stream_id=stream_id, among=among)
            hits = self._passages(found, where, values)
            if len(hits) >= k or len(found) < limit:
                break
        return hits[:k]

    def _passage_ids(self, where: str, values: Mapping[str, object]) -> list[int]:
        sql = f"SELECT p.id FROM document d JOIN passage p ON p.document_id = d.id WHERE {KNOWN} AND {where}"  # noqa: S608
        return [row[0] for row in self._all(sql, **values)]

    def _passages(self, found: Sequence[tuple[int, float]], where: str, values: Mapping[str, object]) -> list[PassageHit]:
        """The passages that satisfy the condition, in the given order."""
        sql = "SELECT id, document_id, kind, start, length, text FROM passage WHERE id IN "
        rows = {row[0]: row[1:] for row in self._all(sql + ids_list([passage_id for passage_id, _ in found]))}
        condition = f"{where} AND d.id IN {ids_list([row[0] for row in rows.values()])}"
        documents = {document.id: document for document in self._documents(condition, **values)}
        hits = []
        for passage_id, score in found:
            document_id, kind, start, length, own = rows.get(passage_id, (0, "", 0, 0, ""))
            document = documents.get(document_id)
            if document is not None:
                said = document.text[start : start + length] if own is None else own
                hits.append(PassageHit(document=document, passage_kind=kind, text=said, score=score))
        return hits

    def utterances(
        self,
        *,
        stream: str | None = None,
        from_us: int | None = None,
        to_us: int | None = None,
        speaker_id: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Spoken]:
        """Utterances, in order of their beginning."""
        where, values = self._documents_where(None, from_us, to_us, stream)
        way = "DESC" if newest_first else "ASC"
        speakers = "" if speaker_id is None else ids_list(self._cluster(speaker_id))
        by = f"AND d.id IN (SELECT document_id FROM utterance WHERE speaker_id IN {speakers})" if speakers else ""  # noqa: S608
        documents = self._documents(
            f"d.kind = 'utterance' AND {where} {by} ORDER BY d.t0_us {way}, d.id {way} LIMIT :limit",
            limit=-1 if limit is None else limit,
            **values,
        )
        return self._spoken(documents)

    def spoken(self, document_ids: Sequence[int]) -> list[Spoken]:
        """Those of these documents that are utterances, in the given order."""
        found = {document.id: document for document in self._documents(f"d.id IN {ids_list(document_ids)}")}
        return self._spoken([found[key] for key in document_ids if key in found])

    def _spoken(self, documents: Sequence[Document]) -> list[Spoken]:
        sql = "SELECT document_id, speaker_id, confidence FROM utterance WHERE document_id IN "
        said = {row[0]: row[1:] for row in self._all(sql + ids_list([document.id for document in documents]))}
        entities = self._entities({speaker_id for speaker_id, _ in said.values() if speaker_id is not None})
        return [
            Spoken(document=document, speaker=entities.get(said[document.id][0]), confidence=said[document.id][1])
            for document in documents
            if document.id in said
        ]
