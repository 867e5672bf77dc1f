"""What the front door gives back beside the nouns: reports, timeline entries, opened evidence."""

from __future__ import annotations

from edgemem.records import Document, Moment, Observation, Record, Relation, Segment
from edgemem.see.pipeline import IngestReport

__all__ = ["IngestReport", "Ingested", "Shown", "TimelineEntry"]


class Ingested(Record, frozen=True):
    """What became of one of several sources: a report, or one line on why it failed."""

    source: str
    report: IngestReport | None = None
    error: str = ""


class TimelineEntry(Record, frozen=True):
    """A segment, how many of its moments are left, and what was written about it."""

    segment: Segment
    moments: int
    document: Document | None = None

    @property
    def text(self) -> str:
        """What was written about it, or ""."""
        return self.document.text if self.document is not None else ""


class Shown(Record, frozen=True):
    """A piece of evidence and what is known of it."""

    id: str
    item: Moment | Document | Segment | Relation
    text: str = ""
    """Of a document, or what was written about a segment."""
    speaker: str | None = None
    """Who said it, "" while nobody knows; None for what was not said."""
    moment: Moment | None = None
    """The moment whose picture shows it; for what was said or done the nearest one, if it is near."""
    observations: tuple[Observation, ...] = ()
    """What was seen and read in that picture."""
    picture: bytes | None = None
    """JPEG; None where there is none or it has faded."""
