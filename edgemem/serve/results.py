"""Results of `Memory` other than the basic records: reports, timeline entries, opened evidence."""

from __future__ import annotations

from edgemem.records import Document, Moment, Observation, Record, Relation, Segment
from edgemem.see.report import IngestReport

__all__ = ["IngestReport", "Ingested", "Shown", "TimelineEntry"]


class Ingested(Record, frozen=True):
    """The result of one of several sources: a report, or one line on why it failed."""

    source: str
    report: IngestReport | None = None
    error: str = ""


class TimelineEntry(Record, frozen=True):
    """A segment, the number of its moments that are left, and the documents about it."""

    segment: Segment
    moments: int
    document: Document | None = None

    @property
    def text(self) -> str:
        """The text of the documents about it, or ""."""
        return self.document.text if self.document is not None else ""


class Shown(Record, frozen=True):
    """A piece of evidence with all known facts."""

    id: str
    item: Moment | Document | Segment | Relation
    text: str = ""
    """The text of a document, or of the documents about a segment."""
    speaker: str | None = None
    """Who said it, "" if unknown; None if it is no utterance."""
    moment: Moment | None = None
    """The moment whose picture shows it; for an utterance or a relation the nearest one, if it is near."""
    observations: tuple[Observation, ...] = ()
    """What was seen and read in the picture."""
    picture: bytes | None = None
    """JPEG; None if there is none, or it was evicted."""
