"""The perception toolkit (EventMemAgent section 3.3): recall, search, read, detect. Every planner may use it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from edgemem.extend import BaseTool, EdgememError, EngineError, Evidence, Moment, Observation, singular
from edgemem_eventmem.actions import DetectObjects, Events, Found, Frames, Looked, ReadPicture, RecallFrames, SearchMemory
from edgemem_eventmem.overlay import decode
from edgemem_eventmem.recall import event, long_term, short_term
from edgemem_eventmem.segmenter import Events as Segmenter
from edgemem_eventmem.writer import TUPLE

if TYPE_CHECKING:
    from edgemem.extend import Engines, View

TOP_K = 3
"""Events that a search by words brings (appendix A.1)."""
MIN_COSINE = 0.3
"""Least cosine of caption and query (appendix A.1). It belongs to Qwen3-Embedding: another space states its own, see `least_cosine`."""
TOP_TIMED = 8
"""Events that a search by time brings: the paper names no limit, a model's window has one."""
_CACHED = 256
"""Pictures whose reading or objects are remembered."""


class SearchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a search."""

    top_k: int = TOP_K
    min_cosine: float | None = None
    """None: what the space of the text embedder states, else 0.3."""


def least_cosine(calibration: dict[str, float]) -> float:
    """Least cosine of a caption that fits a query: above it are a tenth of unrelated pairs at most, as the card of the space measured."""
    return calibration.get("search_chance", MIN_COSINE)


class RecallTool(BaseTool):
    """Carries out `RecallFrames`."""

    name = "short_term"
    action = RecallFrames

    def run(self, action: RecallFrames, view: View) -> Frames:
        frames = short_term(view, action.frames)
        first_us = {stream.name: stream.t0_us for stream in view.streams()}
        t0_us = first_us[frames[0].moment.stream] if frames else 0
        return Frames(frames=tuple(frames), evidence=tuple(frame.evidence for frame in frames), stream_t0_us=t0_us)


class SearchTool(BaseTool):
    """Carries out `SearchMemory`."""

    name = "search_memory"
    action = SearchMemory

    def __init__(self, settings: SearchSettings | None = None, engines: Engines | None = None) -> None:
        self._settings, self._engines = settings or SearchSettings(), engines

    def run(self, action: SearchMemory, view: View) -> Events:
        if not action.query.strip():
            segments = view.segments(segmenter=Segmenter.name, from_us=action.from_us, to_us=action.to_us, limit=TOP_TIMED + 1)
            notes = (f"only the first {TOP_TIMED} events of that time",) if len(segments) > TOP_TIMED else ()
            return _events(view, [(segment.id, 0.0) for segment in segments[:TOP_TIMED]], notes)
        if self._engines is None or not self._engines.has("embed_text"):
            return self._by_words(action, view, "no text embedder is fetched")
        embedder = self._engines.role("embed_text")
        space, least = embedder.space, self._settings.min_cosine
        least = least_cosine(space.calibration) if least is None else least
        try:
            vector = embedder.embed_query([action.query])[0]
        except EngineError as error:
            return self._by_words(action, view, str(error))
        within: Any = {"kinds": (TUPLE,), "from_us": action.from_us, "to_us": action.to_us}
        passages = view.search_passages(space.name, vector, self._settings.top_k, **within)
        return _events(view, [(hit.document.segment_id, hit.score) for hit in passages if hit.score > least])

    def _by_words(self, action: SearchMemory, view: View, why: str) -> Events:
        within: Any = {"kinds": (TUPLE,), "from_us": action.from_us, "to_us": action.to_us}
        hits = view.search_text(action.query, self._settings.top_k, **within)
        return _events(view, [(hit.document.segment_id, 0.0) for hit in hits], (f"found by words: {why}",))


def _events(view: View, found: Sequence[tuple[int | None, float]], notes: tuple[str, ...] = ()) -> Events:
    known = [(segment, score) for number, score in found if number is not None and (segment := view.segment(number)) is not None]
    events = long_term(view, [segment for segment, _ in known], [score for _, score in known])
    return Events(events=tuple(events), evidence=tuple(one.evidence for one in events), notes=notes)


class _PictureTool(BaseTool):
    """Base of the tools that look at one picture. What was found in it is remembered."""

    def __init__(self, engines: Engines | None = None, frames: int = 32) -> None:
        self._engines, self._frames = engines, frames
        self._cache: OrderedDict[tuple[str, int], tuple[Observation, ...]] = OrderedDict()

    def _moment(self, action: ReadPicture | DetectObjects, view: View) -> Moment | str:
        """The moment that is meant, or why there is none."""
        if action.event_id is not None:
            found = event(view, action.event_id)
            if found is None:
                return f"there is no event {action.event_id}"
            moment = view.moment(found.first_frame) if found.first_frame is not None else None
            return moment or f"the first frame of event {action.event_id} is gone"
        frames = short_term(view, self._frames)
        index = len(frames) - 1 if action.frame_index is None else action.frame_index
        if not frames or not 0 <= index < len(frames):
            return f"there is no frame {index}; short-term memory has {len(frames)}"
        return frames[index].moment

    def _seen(
        self, moment: Moment, view: View, kinds: Sequence[str], look: Callable[[Any], Sequence[Observation]]
    ) -> Sequence[Observation]:
        """What was seen when the moment was kept; where that is nothing, `look` is asked, once. Raises EdgememError."""
        stored = [o for o in view.observations([moment.id]).get(moment.id, ()) if o.kind in kinds]
        if stored:
            return stored
        key = (str(view.directory), moment.id)
        if key not in self._cache:
            self._cache[key] = tuple(look(decode(view.picture(moment.id))))
            if len(self._cache) > _CACHED:
                self._cache.popitem(last=False)
        return self._cache[key]


class OcrTool(_PictureTool):
    """Carries out `ReadPicture`."""

    name = "ocr"
    action = ReadPicture

    def run(self, action: ReadPicture, view: View) -> Looked:
        moment = self._moment(action, view)
        if isinstance(moment, str):
            return Looked(notes=(moment,))
        if self._engines is None or not self._engines.has("read_text"):
            stored = [o for o in view.observations([moment.id]).get(moment.id, ()) if o.kind == "text"]
            notes = () if stored else ("no reader is fetched; run: edgemem engines fetch",)
            return _looked(moment, [Found(name=o.name, confidence=o.score, box=o.box) for o in stored], notes=notes)
        try:
            lines = self._seen(moment, view, ("text",), self._engines.role("read_text").read)
        except EdgememError as error:
            return Looked(notes=(str(error),))
        return _looked(moment, [Found(name=o.name, confidence=o.score, box=o.box) for o in lines])


class DetectTool(_PictureTool):
    """Carries out `DetectObjects`. Zero-shot detection as in the paper has no weights that run here: labels are matched with the names
    that the detector and the classifier on board know, and those that none of them knows come back as `unknown`.
    """

    name = "detect_objects"
    action = DetectObjects

    def run(self, action: DetectObjects, view: View) -> Looked:
        moment = self._moment(action, view)
        if isinstance(moment, str):
            return Looked(notes=(moment,))
        detector = self._engines.role("detect") if self._engines is not None and self._engines.has("detect") else None
        try:
            seen = self._seen(moment, view, ("object", "label"), detector.detect if detector is not None else lambda _image: ())
        except EdgememError as error:
            return Looked(notes=(str(error),))
        known = {*view.names("object"), *view.names("label"), *(detector.labels if detector is not None else ())}
        found = [
            Found(name=o.name, confidence=o.score, box=o.box, asked=label) for label in action.labels for o in seen if means(label, o.name)
        ]
        unknown = [label for label in action.labels if not any(means(label, name) for name in known)]
        return _looked(moment, found, unknown=tuple(unknown))


def means(label: str, name: str) -> bool:
    """Whether a name that was recognised is what a label asks for: the same words, or one more before them ("mug", "coffee mug")."""
    asked, known = _words(label), _words(name)
    return bool(asked) and (known[-len(asked) :] == asked or asked[-len(known) :] == known)


def _words(text: str) -> list[str]:
    """Lower case; the last word in the singular."""
    return singular(text.replace("-", " ").strip()).split()


def _looked(moment: Moment, found: Sequence[Found], unknown: tuple[str, ...] = (), notes: tuple[str, ...] = ()) -> Looked:
    best = max((one.confidence for one in found), default=0.0)
    evidence = Evidence(
        id=f"m{moment.id}", channel="frame", stream=moment.stream, t0_us=moment.t_us, t1_us=moment.t_us, offset_us=moment.offset_us,
        score=min(1.0, best), text=", ".join(dict.fromkeys(one.name for one in found))[:400],
    )  # fmt: skip
    return Looked(found=tuple(found), evidence=(evidence,), unknown=unknown, notes=notes)
