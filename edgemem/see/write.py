"""The built-in writer describes in words what a segment showed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from edgemem.clock import offset_text
from edgemem.records import Moment, Observation, Origin
from edgemem.remember.entries import NewDocument
from edgemem.see.operations import BaseWriter, Occasion, SegmentClosed

WEIGHTS = {"label": (0.296, 0.832, -0.991), "object": (1.214, 0.081, -0.487)}
"""Per kind of observation: the weights for the log odds of the best and of the second best score among the moments, and the constant.
Fitted by logistic regression on the names of two composed streams. On streams of another generator, 86 of 100 names with p >= .7 are right
(`tools/eval/captions.py`)."""
LEAST_PROBABILITY = 0.7
"""Least probability of a name that is written."""
ALONE = 0.94
"""If a segment has only one moment, this share of its score is used as the second score. Three of four right names had more."""
_ODDS = (0.01, 0.99)


def probably_right(kind: str, scores: Sequence[float]) -> float:
    """Probability that a segment really shows what the name says. `scores`: the best score of the name in each moment, 0 where it was not
    seen.
    """
    best, second = sorted([*scores, ALONE * scores[0] if len(scores) == 1 else 0.0], reverse=True)[:2]
    by_best, by_second, constant = WEIGHTS[kind]
    return 1 / (1 + math.exp(-(constant + by_best * _log_odds(best) + by_second * _log_odds(second))))


def _log_odds(score: float) -> float:
    clipped = min(max(score, _ODDS[0]), _ODDS[1])
    return math.log(clipped / (1 - clipped))


def sure_names(kind: Literal["label", "object"], seen: Sequence[Iterable[Observation]], least: float = LEAST_PROBABILITY) -> list[str]:
    """Names of labels or objects that are probably right, the most probable first. `seen`: the observations of each moment of a segment."""
    scores: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * len(seen))
    for number, observations in enumerate(seen):
        for one in (o for o in observations if o.kind == kind):
            scores[one.name][number] = max(scores[one.name][number], one.score)
    sure = {name: probably_right(kind, per_moment) for name, per_moment in scores.items()}
    return sorted((name for name, p in sure.items() if p >= least), key=lambda name: (-sure[name], name))


class EventDocumentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `EventDocument`."""

    min_probability: float = LEAST_PROBABILITY
    """Least probability that a name is right (`probably_right`); less probable names are not written."""
    max_labels: int = 6
    max_lines: int = 12
    """Lines of text quoted from one segment."""


class EventDocument(BaseWriter):
    """One document of kind "event" per segment, without a language model: what was seen, how many at once, in which colours, and which text
    was read. If nothing probable was seen, there is no document. Its origin is that of its least trusted part: with quoted text it is
    "ocr".
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
        """Scene labels that are probably right, the most probable first."""
        return sure_names("label", seen, self._settings.min_probability)[: self._settings.max_labels]

    def _objects(self, seen: Sequence[Iterable[Observation]]) -> list[str]:
        """`person (3 at once, red and blue)`, the most frequent first."""
        named = set(sure_names("object", seen, self._settings.min_probability))
        at_once: Counter[str] = Counter()
        times: Counter[str] = Counter()
        colours: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for observations in seen:
            sure = [o for o in observations if o.kind == "object" and o.name in named]
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
    """The text that was read in one moment, line by line, so that a search for it finds exactly this picture; None if there is no text."""
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
