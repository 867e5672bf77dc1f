"""Writers put into words what a segment showed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from edgemem.clock import offset_text
from edgemem.records import Moment, Observation, Origin
from edgemem.remember.entries import NewDocument
from edgemem.see.operations import BaseWriter, Occasion, SegmentClosed


class EventDocumentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is sure enough to be written down."""

    min_label: float = 0.3
    """Least score of a scene label, in the moment where it is best."""
    min_object: float = 0.4
    """Least score of a detected object."""
    max_labels: int = 6
    max_lines: int = 12
    """Lines of text quoted from one segment."""


class EventDocument(BaseWriter):
    """One document of kind "event" per segment, without a language model: what was seen, how many of it at once, in which colours, and what
    was written there. Nothing sure was seen: no document. Its origin is that of its least trusted part: quoted text makes it "ocr".
    """

    name = "event_document"

    def __init__(self, settings: EventDocumentSettings | None = None) -> None:
        self._settings = settings or EventDocumentSettings()

    def write(self, occasion: Occasion) -> list[NewDocument]:
        return self.describe(occasion) if isinstance(occasion, SegmentClosed) else []

    def describe(self, closed: SegmentClosed) -> list[NewDocument]:
        """At most one document."""
        segment = closed.segment
        seen = [closed.observations.get(moment.id, ()) for moment in closed.moments]
        labels, objects, lines = self._labels(seen), self._objects(seen), self._lines(seen)
        parts = [
            f"Scene: {', '.join(labels)}." if labels else "",
            f"Objects: {', '.join(objects)}." if objects else "",
            f"Text: {', '.join(lines)}." if lines else "",
        ]
        if not any(parts):
            return []
        end_us = segment.offset_us + segment.t1_us - segment.t0_us
        span = f"[{offset_text(segment.offset_us)} to {offset_text(end_us)}]"
        origin: Origin = "ocr" if lines else "caption"
        return [
            NewDocument(
                kind="event",
                text=" ".join([span, *filter(None, parts)]),
                stream=segment.stream,
                t0_us=segment.t0_us,
                t1_us=segment.t1_us,
                offset_us=segment.offset_us,
                known_us=segment.t1_us,
                origin=origin,
                segment_id=segment.id,
                moment_id=segment.representative_id,
            )
        ]

    def _labels(self, seen: Sequence[Iterable[Observation]]) -> list[str]:
        """Scene labels by their best score; one seen in more of the moments comes before an equally sure one."""
        best: defaultdict[str, float] = defaultdict(float)
        times: Counter[str] = Counter()
        for observations in seen:
            for label in (o for o in observations if o.kind == "label" and o.score >= self._settings.min_label):
                best[label.name] = max(best[label.name], label.score)
                times[label.name] += 1
        ranked = sorted(best, key=lambda name: (-round(best[name], 1), -times[name], -best[name], name))
        return ranked[: self._settings.max_labels]

    def _objects(self, seen: Sequence[Iterable[Observation]]) -> list[str]:
        """`person (3 at once, red and blue)`, the most frequent first."""
        at_once: Counter[str] = Counter()
        times: Counter[str] = Counter()
        colours: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for observations in seen:
            sure = [o for o in observations if o.kind == "object" and o.score >= self._settings.min_object]
            for name, count in Counter(o.name for o in sure).items():
                at_once[name] = max(at_once[name], count)
                times[name] += count
            for thing in sure:
                if thing.colour:
                    colours[thing.name][thing.colour] += 1
        return [_described(name, at_once[name], colours[name]) for name, _ in times.most_common()]

    def _lines(self, seen: Sequence[Iterable[Observation]]) -> list[str]:
        """Text as it was read, each line once, in the order in which it appeared."""
        first: dict[str, str] = {}
        for observations in seen:
            for line in (o for o in observations if o.kind == "text" and o.name.strip()):
                first.setdefault("".join(line.name.split()).casefold(), f'"{line.name.strip()}"')
        return list(first.values())[: self._settings.max_lines]


def _described(name: str, at_once: int, colours: Counter[str]) -> str:
    facts = [f"{at_once} at once"] if at_once > 1 else []
    if colours:
        facts.append(" and ".join(colour for colour, _ in colours.most_common(2)))
    return f"{name} ({', '.join(facts)})" if facts else name


def text_document(moment: Moment, observations: Iterable[Observation]) -> NewDocument | None:
    """What was written in one moment, line by line as read, so that a search for it finds the very picture; None where nothing was."""
    lines = [o.name.strip() for o in observations if o.kind == "text" and o.name.strip()]
    if not lines:
        return None
    return NewDocument(
        kind="text",
        text="\n".join(lines),
        stream=moment.stream,
        t0_us=moment.t_us,
        t1_us=moment.t_us,
        offset_us=moment.offset_us,
        known_us=moment.t_us,
        origin="ocr",
        moment_id=moment.id,
    )
