"""The writers `fused_caption` and `triples`: one paragraph and the edges of every window that closes."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

import msgspec

from edgemem.answer.tools_graph import PEOPLE
from edgemem.errors import ChatError, UsageError
from edgemem.records import US, Entity, Observation
from edgemem.remember.entries import NewDocument
from edgemem.remember.results import Spoken
from edgemem.see import operations
from edgemem.see.operations import (
    BaseWriter,
    BoardIdle,
    Occasion,
    Operation,
    Postpone,
    ReplaceDocument,
    Same,
    SegmentClosed,
    Split,
    Trigger,
    Triple,
)
from edgemem_egagent.ask import Completes
from edgemem_egagent.captions import FRAMES, RETRY_S, captioner_of
from edgemem_egagent.extract import extract
from edgemem_egagent.fuse import fused, origin_of
from edgemem_egagent.graph import KINDS, ME, RELATIONS, Edge, Extraction, Line, Node, SameAs, joined, person
from edgemem_egagent.names import ambiguous, most_complete
from edgemem_egagent.pictures import read_pictures
from edgemem_egagent.speech import read_speech
from edgemem_egagent.turns import TURN_GAP_US, speaker_name

_JOINED = 512
"""Names that a writer remembers to have joined."""
_BEFORE_US, _BEFORE_LINES = 60 * US, 12
"""How far back a talk is followed into earlier windows."""
FUSED = "fused"
"""Kind of the documents that fused captions are."""
_log = logging.getLogger("edgemem.egagent")
Extractor = Literal["auto", "local", "model"]


class FusedCaptionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who writes the paragraph."""

    model: bool = True
    """The language model, where one is configured; the template otherwise and whenever it fails."""
    frames: Annotated[int, msgspec.Meta(ge=0, le=30)] = FRAMES
    """Pictures of a window that a model which sees is shown; 0 = it gets what detectors saw."""
    wearer: str = ""


class FusedCaption(BaseWriter):
    """A document of kind "fused" per window: what was seen and what was said."""

    name = "fused_caption"

    def __init__(self, settings: FusedCaptionSettings | None = None, models: Completes | None = None) -> None:
        self._settings = settings or FusedCaptionSettings()
        self._models = models if self._settings.model and models is not None and models.there else None
        self.slow = self._models is not None
        self.triggers = _triggers(self._models)

    def write(self, occasion: Occasion) -> Iterator[Operation]:
        """At most one document; nothing where nothing was seen or said. Raises ChatError where the model fails for one written anew."""
        if isinstance(occasion, BoardIdle):
            yield from self._written_anew(occasion)
        elif isinstance(occasion, SegmentClosed):
            lines = lines_of(occasion.utterances, Voices(occasion, self._settings.wearer))
            try:
                text = self._caption(self._models, occasion, lines) if self._models else fused(occasion.segment, _seen(occasion), lines)
            except ChatError as error:
                _log.warning("fused caption by template: %s", error)
                yield from self._for_later(occasion, RETRY_S)
                return
            yield from _document(occasion, text, lines)

    def write_at_once(self, occasion: Occasion) -> Iterator[Operation]:
        """By the template, and anew in the model's words when there is time."""
        if isinstance(occasion, SegmentClosed):
            yield from self._for_later(occasion, 0.0)

    def _for_later(self, closed: SegmentClosed, after_s: float) -> Iterator[Operation]:
        lines = lines_of(closed.utterances, Voices(closed, self._settings.wearer))
        yield from _document(closed, fused(closed.segment, _seen(closed), lines), lines)
        yield Postpone(payload=msgspec.msgpack.encode(closed.segment.id), after_s=after_s)

    def _written_anew(self, idle: BoardIdle) -> Iterator[Operation]:
        """In the place of the template, or where the template had nothing to say."""
        closed = idle.segment_closed(msgspec.msgpack.decode(idle.payload, type=int))
        if closed is None or self._models is None or idle.open_view is None:
            return
        lines, segment = lines_of(closed.utterances, Voices(closed, self._settings.wearer)), closed.segment
        with idle.open_view() as view:
            found = view.documents(kinds=(FUSED,), stream=segment.stream, from_us=segment.t0_us, to_us=segment.t1_us)
        old = next((document for document in found if document.segment_id == segment.id), None)
        for document in _document(closed, self._caption(self._models, closed, lines), lines):
            new = msgspec.structs.replace(document, known_us=idle.now_us)
            yield new if old is None else ReplaceDocument(document_id=old.id, document=new)

    def _caption(self, models: Completes, closed: SegmentClosed, lines: list[Line]) -> str:
        return captioner_of(models).caption(closed, lines, self._settings.frames)


def _document(closed: SegmentClosed, text: str, lines: list[Line]) -> Iterator[NewDocument]:
    segment = closed.segment
    if text:
        yield NewDocument(
            kind=FUSED, text=text, stream=segment.stream, t0_us=segment.t0_us, t1_us=segment.t1_us, offset_us=segment.offset_us,
            known_us=max([segment.t1_us, *(line.t1_us for line in lines)]), origin=origin_of(_seen(closed), lines),
            segment_id=segment.id, moment_id=segment.representative_id,
        )  # fmt: skip


class TriplesSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the graph may hold and who draws it."""

    nodes: tuple[str, ...] = KINDS
    relations: tuple[str, ...] = RELATIONS
    """The types that edges may have, and no others. Rules draw EGAgent's four; a language model draws any."""
    extractor: Extractor = "auto"
    """"model" and "local" as they say; "auto" is the model where one is configured. It draws from the fused caption that it wrote."""
    frames: Annotated[int, msgspec.Meta(ge=0, le=30)] = FRAMES
    """As of `fused_caption`, whose captions these edges are drawn from."""
    wearer: str = ""
    """The name under which the transcript has the person who carries the camera, besides "me"."""
    egocentric: bool = True
    """The camera is worn: what is large and low in the picture is in the wearer's hands."""
    min_confidence: float = 0.3


class Triples(BaseWriter):
    """Edges of the entity scene graph from what was said and seen in one window."""

    name = "triples"

    def __init__(self, settings: TriplesSettings | None = None, models: Completes | None = None) -> None:
        self._settings = settings or TriplesSettings()
        unknown = [kind for kind in self._settings.nodes if kind not in KINDS]
        if unknown:
            raise UsageError(f'triples: nodes: "{unknown[0]}" is none of {", ".join(KINDS)}')
        self._models = models if self._settings.extractor != "local" and models is not None and models.there else None
        if self._settings.extractor == "model" and self._models is None:
            raise UsageError('triples: extractor = "model" needs a language model; configure one or use "auto"')
        other = [relation for relation in self._settings.relations if relation not in RELATIONS]
        if other and self._models is None:
            raise UsageError(f'triples: relations: rules draw {", ".join(RELATIONS)}; "{other[0]}" needs a language model')
        self.slow = self._models is not None
        self.triggers = _triggers(self._models)
        self._joined: list[bytes] = []

    def write(self, occasion: Occasion) -> Iterator[Operation]:
        """Triples, then which names are one person's. Raises ChatError where the model fails for those that were to be drawn later."""
        if isinstance(occasion, BoardIdle):
            yield from self._drawn_later(occasion)
        elif isinstance(occasion, SegmentClosed):
            voices = Voices(occasion, self._settings.wearer)
            lines = lines_of(occasion.utterances, voices)
            try:
                drawn = self._drawn(self._models, occasion, lines) if self._models is not None else None
            except ChatError as error:
                _log.warning("edges by rules: %s", error)
                yield from self._for_later(occasion, RETRY_S)
                return
            yield from self._operations(self._extracted(occasion, lines, voices, drawn), voices)

    def write_at_once(self, occasion: Occasion) -> Iterator[Operation]:
        """By rules, and by the model as well when there is time."""
        if isinstance(occasion, SegmentClosed):
            yield from self._for_later(occasion, 0.0)

    def _for_later(self, closed: SegmentClosed, after_s: float) -> Iterator[Operation]:
        voices = Voices(closed, self._settings.wearer)
        yield from self._operations(self._extracted(closed, lines_of(closed.utterances, voices), voices), voices)
        yield Postpone(payload=msgspec.msgpack.encode(closed.segment.id), after_s=after_s)

    def _drawn_later(self, idle: BoardIdle) -> Iterator[Operation]:
        """The model's edges that rules did not draw when the segment closed."""
        closed = idle.segment_closed(msgspec.msgpack.decode(idle.payload, type=int))
        if closed is None or self._models is None:
            return
        voices = Voices(closed, self._settings.wearer)
        lines = lines_of(closed.utterances, voices)
        there = {_ends(edge) for edge in self._extracted(closed, lines, voices).edges}
        drawn = self._drawn(self._models, closed, lines)
        edges = tuple(edge for edge in drawn.edges if _ends(edge) not in there)
        yield from self._operations(Extraction(edges=edges, notes=drawn.notes), voices)

    def _operations(self, extraction: Extraction, voices: Voices) -> Iterator[Operation]:
        for note in extraction.notes:
            _log.info("not drawn: %s", note)
        edges = [edge for edge in extraction.edges if self._wanted(edge)]
        for edge in edges:
            yield Triple(
                source=voices.node(edge.source), type=edge.type, target=voices.node(edge.target), t0_us=edge.t0_us, t1_us=edge.t1_us,
                confidence=edge.confidence, quotes=edge.quotes,
            )  # fmt: skip
        yield from self._same(extraction.same, edges, voices)

    def _same(self, introduced: Iterable[SameAs], edges: Sequence[Edge], voices: Voices) -> Iterator[Same | Split]:
        """Names that are one person's and that the memory does not know as one yet; and those that are so no longer.

        Only what this writer joined is taken apart again: what a person said stands.
        """
        mentioned = [end.name for edge in edges for end in (edge.source, edge.target) if end.kind == "person"]
        for two in ambiguous(mentioned, voices.people):
            if (key := _digest(two)) in self._joined:
                self._joined.remove(key)
                yield Split(short=operations.Node(kind="person", name=two.other))
        for same in (*introduced, *most_complete(mentioned, [*voices.people, *voices.spoken])):
            if voices.people.get(same.other, same.other) != same.name:
                self._joined = [*self._joined, _digest(same)][-_JOINED:]
                yield Same(short=voices.node(person(same.other)), full=voices.node(person(same.name)))
        own = voices.spoken.get(ME)
        if own is not None and voices.people.get(own.name, own.name) != ME:
            yield Same(short=own, full=operations.Node(kind="person", name=ME))

    def state(self) -> bytes:
        """Which names this writer has joined, as digests: the names themselves are only in the memory, where they can be forgotten."""
        return msgspec.msgpack.encode(self._joined)

    def restore(self, state: bytes) -> None:
        """Raises msgspec.DecodeError for a state that is none."""
        self._joined = msgspec.msgpack.decode(state, type=list[bytes])

    def _wanted(self, edge: Edge) -> bool:
        allowed = set(self._settings.nodes)
        return (
            edge.type in self._settings.relations
            and {edge.source.kind, edge.target.kind} <= allowed
            and edge.confidence >= self._settings.min_confidence
        )

    def _extracted(self, closed: SegmentClosed, lines: list[Line], voices: Voices, drawn: Extraction | None = None) -> Extraction:
        """What the model drew, joined with what detectors saw; by rules where it drew nothing."""
        before = lines_of(_said_before(closed), voices)
        heard = read_speech(lines, [*voices.people], self._settings.wearer, before)
        present = [line.speaker for line in lines if line.speaker]
        looked = read_pictures(closed.moments, closed.observations, present, egocentric=self._settings.egocentric)
        spoken = heard if drawn is None else drawn
        return Extraction(edges=joined((*spoken.edges, *looked.edges), 0), same=heard.same, notes=drawn.notes if drawn is not None else ())

    def _drawn(self, models: Completes, closed: SegmentClosed, lines: list[Line]) -> Extraction:
        """From the caption that a model wrote of what it saw and what was said."""
        segment = closed.segment
        try:
            caption = captioner_of(models).caption(closed, lines, self._settings.frames)
        except ChatError as error:
            _log.warning("edges from a caption by template: %s", error)
            caption = fused(segment, _seen(closed), lines)
        if not caption:
            return Extraction()
        return extract(
            models, caption, lines, (segment.t0_us, segment.t1_us), moment_id=segment.representative_id, kinds=self._settings.nodes,
            relations=self._settings.relations, wearer=self._settings.wearer,
        )  # fmt: skip


def _triggers(models: Completes | None) -> frozenset[Trigger]:
    return frozenset({"segment_closed"} if models is None else {"segment_closed", "idle"})


def _ends(edge: Edge) -> tuple[str, str, str]:
    return edge.source.name, edge.type, edge.target.name


def _digest(same: SameAs) -> bytes:
    return hashlib.blake2b(f"{same.other}\n{same.name}".casefold().encode(), digest_size=8).digest()


def _said_before(closed: SegmentClosed) -> list[Spoken]:
    """What was said last before the window, as far as it can belong to the same talk."""
    if closed.open_view is None or not closed.utterances:
        return []
    first_us = min(spoken.document.t0_us for spoken in closed.utterances)
    with closed.open_view() as view:
        said = view.utterances(
            stream=closed.stream, from_us=first_us - _BEFORE_US, to_us=first_us - 1, limit=_BEFORE_LINES, newest_first=True
        )
    found: list[Spoken] = []
    begins_us = first_us
    for spoken in said:
        if begins_us - spoken.document.t1_us > TURN_GAP_US:
            break
        found.append(spoken)
        begins_us = spoken.document.t0_us
    return found[::-1]


def _seen(closed: SegmentClosed) -> list[tuple[Observation, ...]]:
    return [closed.observations.get(moment.id, ()) for moment in closed.moments]


class Voices:
    """The speakers of a window: under which name each is known by now, and which entity stands for it.

    An edge is stored at the voice itself, so that naming a voice later names what it said before, and taking the name back undoes it.
    """

    def __init__(self, closed: SegmentClosed, wearer: str = "") -> None:
        self._wearer = wearer
        self._names: dict[int, str] = {}
        self._nodes: dict[str, operations.Node] = {}
        self.people: dict[str, str] = {}
        """Every name of a person in the memory -> the name under which that person is shown."""
        if closed.open_view is not None:
            with closed.open_view() as view:
                for entity in view.entities():
                    if entity.kind in PEOPLE:
                        self.people.update(dict.fromkeys((entity.name, *entity.aliases), entity.name))
        for spoken in closed.utterances:
            if spoken.speaker is not None:
                entity = spoken.speaker
                shown = speaker_name(self.people.get(entity.name, entity.name), wearer)
                self._names[entity.id] = shown
                self._nodes[shown] = operations.Node(kind=entity.kind, name=entity.name)

    def name(self, entity: Entity | None) -> str:
        """As lines and edges call the speaker; "" for nobody."""
        if entity is None:
            return ""
        return self._names.get(entity.id) or speaker_name(self.people.get(entity.name, entity.name), self._wearer)

    def node(self, node: Node) -> operations.Node:
        """The entity that an end of an edge is stored at."""
        plain = operations.Node(kind=node.kind, name=node.name)
        return self._nodes.get(node.name, plain) if node.kind == "person" else plain

    @property
    def spoken(self) -> dict[str, operations.Node]:
        """Entities of those who spoke, by the name they are known under."""
        return self._nodes


def lines_of(utterances: Iterable[Spoken], voices: Voices) -> list[Line]:
    """Utterances as lines."""
    return [
        Line(
            speaker=voices.name(spoken.speaker), text=spoken.document.text, t0_us=spoken.document.t0_us, t1_us=spoken.document.t1_us,
            document_id=spoken.document.id, confidence=spoken.confidence, origin=spoken.document.origin,
        )
        for spoken in utterances
    ]  # fmt: skip
