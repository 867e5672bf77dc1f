"""From words to evidence: named channels over an as-of view, fused by reciprocal rank, merged into appearances.

Scores of different channels are never compared: `frame` scores are probabilities from the matcher, the others are ranks.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Protocol, TypeVar, get_args

import msgspec

from edgemem.answer.understand.words import content_words, root, words
from edgemem.errors import UsageError, nearest
from edgemem.records import US, Channel, Document, Evidence, Moment, Record
from edgemem.remember.view import View

T = TypeVar("T")

RRF_K = 60
"""Reciprocal rank fusion: score = sum of 1 / (60 + rank). Cormack, Clarke & Buettcher, SIGIR 2009."""
SAME_APPEARANCE_US = 300 * US
"""Sightings further apart are two appearances even when nothing was kept between them (the longest event of VAM, Table 4)."""
CLEAR = 0.5
"""A sighting is clear when it scores at least this share of the best one of its appearance."""


class Query(Record, frozen=True):
    """What to look for, and in which stretch of time (open where None)."""

    text: str
    from_us: int | None = None
    to_us: int | None = None

    def holds(self, t_us: int) -> bool:
        """The stretch of time holds this point."""
        return (self.from_us is None or t_us >= self.from_us) and (self.to_us is None or t_us <= self.to_us)


class Hits(Record, frozen=True):
    """What one channel found, best first. `confidence`: how likely it is that the thing is there at all, 0..1."""

    evidence: tuple[Evidence, ...] = ()
    confidence: float = 0.0
    taught: str = ""
    """What to call it, where it is a thing that was taught: "what looks like the keys you showed me"."""
    firing: float = 1.0
    """How well the vocabulary covers the query: the largest probability that a label fires on a picture of it."""
    silent: str = ""
    """Why the channel could not look at all, such as a missing engine."""
    note: str = ""
    """Why it looked in another way than it should have, such as a server that is away."""
    same: Mapping[str, float] = msgspec.field(default_factory=dict)
    """How surely each picture shows the same thing as the first, 0..1, by its id, where looks were compared."""


class Episode(Record, frozen=True):
    """One appearance: consecutive sightings of one thing. `score` is that of its best sighting."""

    stream: str
    t0_us: int
    t1_us: int
    offset_us: int
    score: float
    evidence: tuple[Evidence, ...]
    """Best first."""


class Retriever(Protocol):
    """A named channel. Pure reading; must not look outside the query's stretch of time."""

    name: Channel

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        """At most `k` hits, best first."""
        ...


def as_evidence(found: Moment | Document, channel: Channel, score: float, text: str) -> Evidence:
    """A kept picture or a document as evidence."""
    kind, t0_us, t1_us = ("m", found.t_us, found.t_us) if isinstance(found, Moment) else ("d", found.t0_us, found.t1_us)
    return Evidence(
        id=f"{kind}{found.id}", channel=channel, stream=found.stream, t0_us=t0_us, t1_us=t1_us, offset_us=found.offset_us, score=score,
        text=text,
    )  # fmt: skip


def pictures(view: View, scored: Iterable[tuple[int, float, str]]) -> tuple[Evidence, ...]:
    """Moments that may show a thing as evidence in the order given: their ids, scores, and what each was recognised by."""
    every = list(scored)
    moments = view.moments_of(moment_id for moment_id, _, _ in every)
    return tuple(as_evidence(moments[one], "frame", score, why) for one, score, why in every if one in moments)


_READ_OR_HEARD = frozenset({"text", "speech", "utterance", "fused", "habit"})
"""Documents that belong to the channels text and speech, or that repeat them, and what the user said to the memory itself: a word that was
only said is no sign of what was seen."""


def distinct(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Each picture, document and relation once, as it came first."""
    found: dict[str, Evidence] = {}
    for one in evidence:
        found.setdefault(one.id, one)
    return tuple(found.values())


class EventRetriever:
    """Full text over what was written about segments: captions, labels, summaries."""

    name: Channel = "event"

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        """Documents that hold the query's words, by BM25."""
        found = view.search_text(query.text, k, from_us=query.from_us, to_us=query.to_us)
        hits = [hit for hit in found if hit.document.kind not in _READ_OR_HEARD]
        evidence = tuple(as_evidence(hit.document, self.name, 1 / rank, hit.snippet) for rank, hit in enumerate(hits, 1))
        return Hits(evidence=evidence, confidence=max((held(content_words(query.text), hit.document.text) for hit in hits), default=0.0))


def held(wanted: Sequence[str], text: str) -> float:
    """Share of the wanted words that the text holds, by beginning or root: "printers" is in "the printer", "coming" in "he comes"."""
    own = words(text)
    roots = {root(one) for one in own}
    stems = [(word[: max(4, len(word) - 2)], root(word)) for word in wanted]
    return sum(end in roots or any(one.startswith(stem) for one in own) for stem, end in stems) / max(1, len(stems))


def fuse(lists: Sequence[Sequence[Evidence]], k: int) -> list[Evidence]:
    """Reciprocal rank fusion. Hits that point at the same picture or document count together; the first list names the channel."""
    scores = defaultdict[str, float](float)
    for hits in lists:
        for rank, evidence in enumerate(hits, 1):
            scores[evidence.id] += 1 / (RRF_K + rank)
    return sorted(distinct(chain.from_iterable(lists)), key=lambda one: (-scores[one.id], one.t0_us))[:k]


def search(view: View, query: Query, retrievers: Sequence[Retriever], channel: str = "any", top_k: int = 10) -> list[Evidence]:
    """What `edgemem search` prints: hits of one channel or of all fused, best first. Raises UsageError for an unknown channel."""
    if not re.search(r"\w", query.text):
        raise UsageError('the query is empty; search for something like: edgemem search "red mug" --memory DIR')
    if channel not in {"any", *get_args(Channel)}:
        raise UsageError(f'no channel is called "{channel}"{nearest(channel, ["any", *get_args(Channel)])}')
    if top_k < 1:
        raise UsageError("--top-k must be at least 1")
    query = msgspec.structs.replace(query, text=query.text[:1000])
    return fuse([one.retrieve(query, view, top_k).evidence for one in retrievers if channel in {"any", one.name}], top_k)


def episodes(view: View, hits: Iterable[Evidence]) -> list[Episode]:
    """Merge sightings into appearances, oldest first. Two sightings are one appearance when no other picture was kept between them."""

    def continues(run: list[Evidence], later: Evidence) -> bool:
        last = run[-1]
        close = last.stream == later.stream and later.t0_us - last.t1_us <= SAME_APPEARANCE_US
        return close and not view.moments(stream=last.stream, from_us=last.t1_us + 1, to_us=later.t0_us - 1, limit=1)

    found = runs(sorted(hits, key=lambda e: (e.stream, e.t0_us, e.t1_us)), continues)
    return sorted(map(episode_of, found), key=lambda e: (e.t0_us, e.t1_us))


def runs(items: Iterable[T], joins: Callable[[list[T], T], bool]) -> list[list[T]]:
    """The items in their order, those that follow each other together where `joins(run so far, item)`."""
    made: list[list[T]] = []
    for item in items:
        if made and joins(made[-1], item):
            made[-1].append(item)
        else:
            made.append([item])
    return made


def episode_of(sightings: Iterable[Evidence]) -> Episode:
    """Its ends are its first and last clear sighting: weak ones hold an appearance together, but do not make it longer."""
    best = tuple(sorted(sightings, key=lambda e: (-e.score, e.t0_us)))
    clear = sorted((e for e in best if e.score >= CLEAR * best[0].score), key=lambda e: e.t0_us)
    return Episode(
        stream=best[0].stream, t0_us=clear[0].t0_us, t1_us=max(e.t1_us for e in clear), offset_us=clear[0].offset_us, score=best[0].score,
        evidence=best,
    )  # fmt: skip
