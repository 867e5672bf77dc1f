"""The `frame` channel: which pictures show what a query names, as evidence with scores that can be compared between queries."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np

from edgemem.answer.retrieve import Hits, Query, distinct, pictures
from edgemem.answer.retrievers import match
from edgemem.answer.retrievers.match import Features, Ranked
from edgemem.errors import EngineError
from edgemem.infer.phrase import LabelQuery
from edgemem.infer.roles import JointEmbedder, Space
from edgemem.records import Channel, Vector
from edgemem.remember.names import bare_name
from edgemem.remember.view import View


class Matcher(Protocol):
    """Scores pictures for a phrase."""

    def match(self, query: Query, view: View, k: int) -> Hits:
        """At most `k` pictures inside the query's stretch of time, scored 0..1. A dual encoder knows no labels, and its `firing` is 1."""
        ...


class Roles(Protocol):
    """What is needed of `infer.engines.Engines` here."""

    def missing(self, role: str) -> str: ...
    def role(self, role: str) -> Any: ...


class FrameRetriever:
    """Channel `frame`. The joint embedder is loaded at the first query, so that a question about time or text never waits for it."""

    name: Channel = "frame"

    def __init__(self, engines: Roles | None = None, matcher: Matcher | None = None) -> None:
        self._engines = engines
        self._matcher = matcher

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        """Pictures that show what the query names; a thing that was taught is that and nothing else."""
        if (taught := taught_hits(query, view, k)) is not None:
            return taught
        if self._matcher is None:
            why = self._engines.missing("embed_joint") if self._engines is not None else "no engines are configured"
            if why or self._engines is None:
                return Hits(silent=f"pictures were not searched: {why}")
            joint: JointEmbedder = self._engines.role("embed_joint")
            here: Matcher = LabelMatcher(joint.local) if isinstance(joint.local, NamesLabels) else VectorMatcher(joint.local)
            self._matcher = here if joint.space.name == joint.local.space.name else HostedMatcher(joint, here)
        return self._matcher.match(query, view, k)


@runtime_checkable
class NamesLabels(Protocol):
    """A joint embedder that sees by names: `infer.bridge.LabelBridge`."""

    @property
    def crop_space(self) -> Space | None: ...
    def match_labels(self, query: str) -> LabelQuery: ...


_WHOLE = 20_000
"""Up to this many moments a phrase is scored against the whole memory, which calibrates it best; above, inside the stretch of time only."""
_PER_NAME, _PER_NAME_LARGE = 500, 150
_READ, _READ_LARGE = 20_000, 3_000
"""Best sightings that are read, of one label and of all; what is ranked far down does not change the answer."""
_LEAST_FIRING = 0.05
_NAMES_LARGE = 20
"""In a large memory only so many labels, none of them that much less likely than the likeliest: 15 ms instead of 110 in 100,000 moments;
and those that are kinds of the thing.
"""
_KINDS = ("label", "object")
CROP = "crop"
"""Kind of the parts that are looked at closely."""
_NEAREST = 4
"""A thing that comes for seconds is in so many crops."""
_UNMAPPED = 1500
"""An encrypted memory has no vector files: a process reads the crops of up to so many moments once, in 0.2 s (`tools/bench/encryption.py`).
"""
_COMPARED = 100
"""Moments whose looks are compared with the best one's: those that labels rank first."""
_SAMPLED = 32
"""Moments whose crops tell what is usual in a memory."""


class LabelMatcher:
    """By the labels that a phrase makes likely (`match`). A sighting scores confidence in the phrase times share of the best rank."""

    def __init__(self, joint: NamesLabels) -> None:
        self._labels = lru_cache(maxsize=1000)(joint.match_labels)
        self._crops = joint.crop_space.name if joint.crop_space is not None else ""
        self._usual: tuple[tuple[Path, int], Vector] | None = None
        """Memory and newest moment, and what its crops usually look like."""

    def match(self, query: Query, view: View, k: int) -> Hits:
        wanted, found, inside = self._judged(query, view)
        firing = max((*wanted.objects.values(), *wanted.labels.values()), default=0.0)
        if not inside:
            return Hits(firing=firing)
        sure = match.confidence(found)
        best, coloured, shown = inside[0].score, bool(wanted.colours), match.spread(inside, k)
        scored = ((r.moment_id, sure * r.score / best, f"{r.colour * coloured} {r.why}".strip()) for r in shown)
        same = match.same_thing(inside, self._looks(wanted, inside[:_COMPARED], view))
        return Hits(evidence=pictures(view, scored), confidence=sure, firing=firing, same={f"m{id_}": share for id_, share in same.items()})

    def judge(self, query: Query, view: View) -> tuple[Features, int | None]:
        """What the confidence is made of, and when the best moment was; None without one."""
        _, found, inside = self._judged(query, view)
        return found, inside[0].t_us if inside else None

    def _judged(self, query: Query, view: View) -> tuple[LabelQuery, Features, list[Ranked]]:
        """The labels of a phrase, its features, and the moments inside its stretch of time, best first."""
        wanted = self._labels(query.text)
        moments = _moments(view)
        whole = moments <= _WHOLE
        window: Any = {} if whole else {"from_us": query.from_us, "to_us": query.to_us}
        names = [*wanted.labels, *wanted.objects] if whole else _likely(wanted)
        most, all_ = (_PER_NAME, _READ) if whole else (_PER_NAME_LARGE, _READ_LARGE)
        postings = view.postings(names, kinds=_KINDS, limit_per_name=min(most, all_ // max(1, len(names))), **window)
        ranked = match.score_moments(wanted, postings, moments)
        inside = [one for one in ranked if query.holds(one.t_us)]
        if not inside:
            return wanted, Features(), []
        best_us, postings = inside[0].t_us, [posting for posting in postings if query.holds(posting.t_us)]
        near = view.moments(from_us=best_us - match.APPEARANCE_US, to_us=best_us + match.APPEARANCE_US, limit=2)
        found = match.features(wanted, postings, inside, beside=len(near) > 1)
        return wanted, msgspec.structs.replace(found, alike=self._alike(wanted, query, view)), inside

    def _looks(self, wanted: LabelQuery, ranked: Sequence[Ranked], view: View) -> dict[int, float]:
        """Cosine of the nearest crop of each moment with that crop of the best moment which is most like the thing's prototype.

        Moments without crops are left out, all of them where there is nothing to compare with.
        """
        if wanted.prototype is None or not self._crops:
            return {}
        parts, rows = view.part_vectors(self._crops, CROP, [one.moment_id for one in ranked])
        owners = np.array([part.moment_id for part in parts])
        own = rows[owners == ranked[0].moment_id]
        if not len(own):
            return {}
        cosines = rows @ own[(own @ wanted.prototype).argmax()]
        return {int(owner): float(cosines[owners == owner].max()) for owner in np.unique(owners)}

    def _alike(self, wanted: LabelQuery, query: Query, view: View) -> float | None:
        """How much nearer the nearest crops are to the thing's prototype than crops usually are, and than so many are by chance."""
        if wanted.prototype is None or not self._crops or (view.encrypted and _moments(view) > _UNMAPPED):
            return None
        window: Any = {"from_us": query.from_us, "to_us": query.to_us}
        near = view.nearest_parts(self._crops, wanted.prototype, _NEAREST, kind=CROP, **window)
        if not near:
            return None
        memory = view.directory, view.moments(limit=1, newest_first=True)[0].id
        if self._usual is None or self._usual[0] != memory:
            self._usual = memory, match.usual(view.part_sample(self._crops, CROP, _SAMPLED)[1])
        usual = float(self._usual[1] @ wanted.prototype)
        return statistics.fmean(hit.score for hit in near) - usual - match.chance(view.moments_in(query.from_us, query.to_us))


def _likely(query: LabelQuery) -> list[str]:
    """The likeliest names of each kind, and the kinds of the thing."""
    ranked = (sorted(names.items(), key=lambda pair: -pair[1])[:_NAMES_LARGE] for names in (query.labels, query.objects))
    likely = (name for pairs in ranked for name, firing in pairs if firing >= _LEAST_FIRING * pairs[0][1])
    return list(dict.fromkeys((*likely, *query.kinds)))


def _moments(view: View) -> int:
    """How many moments there are; in a large memory how many there have been, which costs no count."""
    newest = view.moments(limit=1, newest_first=True)
    if newest and newest[0].id > 2 * _WHOLE:
        return newest[0].id
    return sum(stream.moments for stream in view.streams())


_BACKGROUND = (
    "a car", "a tree", "a person", "a dog", "food", "a building", "the sky", "a machine", "a book", "water", "an animal", "a room",
    "clothes", "a tool", "a toy", "a plant", "a road", "a screen", "a sign", "furniture",
)  # fmt: skip
"""Everyday queries. What they score in the same memory tells what a chance hit scores there."""


class VectorMatcher:
    """By cosine, for a dual encoder. Confidence: how far the best hit stands above what everyday queries reach in the same memory."""

    def __init__(self, joint: JointEmbedder) -> None:
        self._joint = joint
        self._background: Any = None

    def match(self, query: Query, view: View, k: int) -> Hits:
        space = self._joint.space.name
        vector = self._joint.embed_text([query.text])[0]
        found = view.vector_search(space, vector, k, from_us=query.from_us, to_us=query.to_us)
        if not found:
            return Hits()
        if self._background is None:
            self._background = self._joint.embed_text(_BACKGROUND)
        tops = [hits[0][1] for v in self._background if (hits := view.vector_search(space, v, 1))]
        mean, spread = statistics.fmean(tops), max(statistics.pstdev(tops), 1e-3)
        scores = [(1 + math.tanh((cosine - mean) / spread / 2)) / 2 for _, cosine in found]  # the logistic function, without overflow
        scored = ((moment_id, score, "") for (moment_id, _), score in zip(found, scores, strict=True))
        return Hits(evidence=pictures(view, scored), confidence=scores[0])


class HostedMatcher:
    """By the vectors of a server. Where it does not answer, or no picture has its vector yet, by the embedder on this device."""

    def __init__(self, joint: JointEmbedder, here: Matcher) -> None:
        self._space, self._hosted, self._here = joint.space.name, VectorMatcher(joint), here

    def match(self, query: Query, view: View, k: int) -> Hits:
        instead = f"pictures were searched by the engine on this device, not by {self._space}"
        try:
            found = self._hosted.match(query, view, k)
        except EngineError as error:
            return msgspec.structs.replace(self._here.match(query, view, k), note=f"{instead}: {error}")
        waiting = bool(view.moments_without_vector(self._space, 1))
        if found.evidence or not waiting:
            note = f"the pictures that have no vector of {self._space} yet were not searched" if waiting else ""
            return msgspec.structs.replace(found, note=note)
        return msgspec.structs.replace(self._here.match(query, view, k), note=f"{instead}: none of these pictures has its vector yet")


LESSON, SIGHTING = "lesson", "taught"
"""Kinds of parts that seeing writes: what stands for a thing that was taught, and where it is seen again."""
_SHOWN = "shown"
"""Stream of the pictures that were given as files."""


def taught_hits(query: Query, view: View, k: int) -> Hits | None:
    """Moments in the query's stretch of time that show the taught thing which the query names, the likeliest first.

    A thing that was not seen again was last seen in its lesson, unless that is a picture that was given as a file. None where the query
    names no taught thing.
    """
    text = query.text.lower().strip()
    named = (one for name in (text, bare_name(text)) for one in view.entities(name=name))
    entity, lessons = next(((one, parts) for one in named if (parts := view.parts(entity_id=one.id, kind=LESSON))), (None, []))
    if entity is None:
        return None
    seen = view.parts(entity_id=entity.id, kind=SIGHTING, from_us=query.from_us, to_us=query.to_us)
    parts = seen or [part for part in lessons if part.stream != _SHOWN and query.holds(part.t0_us)]
    own = f"the {bare_name(entity.name.lower())} you showed me"
    told, taught = (f"looks like {own}", f"what looks like {own}") if seen else (own, own)
    ranked = sorted(parts, key=lambda part: (-part.score, -part.t0_us))
    scored = ((part.moment_id, part.score if seen else 1.0, told) for part in ranked if part.moment_id is not None)
    evidence = distinct(pictures(view, scored))[:k]
    return Hits(evidence=evidence, confidence=max((one.score for one in evidence), default=0.0), taught=taught)
