"""What a planner may do: typed actions, and the read-only tools that carry them out on an as-of view.

Actions are a tagged union that refuses unknown keys, so a language model's JSON is checked by the same types
(`decode_action`, `action_schema`) as the local planner's objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Any, Literal, Protocol

import msgspec
import numpy as np

from edgemem.answer.gather import Gather, Pool
from edgemem.answer.retrieve import Query, Retriever, as_evidence, fuse, pictures
from edgemem.answer.retrievers.readings import OcrReading, reading, readings
from edgemem.answer.sights import AROUND_US, COUNTED_SCORE, SeenName, appeared, seen_at_once
from edgemem.answer.tool_base import BaseAction, BaseTool, ToolResult, Windowed
from edgemem.answer.tools_graph import Hear, Relate, Related
from edgemem.answer.understand.words import singular
from edgemem.errors import UsageError
from edgemem.records import US, Channel, Observation, Status
from edgemem.remember.view import View


class Search(Windowed, frozen=True, tag="search"):
    """Find where in the memory something was seen or read."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=400)]
    channel: Channel | Literal["any"] = "any"
    top_k: Annotated[int, msgspec.Meta(ge=1, le=200)] = 20


class Inspect(BaseAction, frozen=True, tag="inspect"):
    """Look closely at a stretch of time: labels, objects with counts, text. A stretch of no length means the moment nearest to it; of a
    long one every appearance is told with its times, the most probably right first.
    """

    from_us: int
    to_us: int
    stream: str = ""
    max_moments: Annotated[int, msgspec.Meta(ge=1, le=64)] = 16


class Read(Windowed, frozen=True, tag="read"):
    """All text that was read in a stretch of time."""

    about: Annotated[str, msgspec.Meta(max_length=400)] = ""
    """In a very large memory only pictures whose text holds one of these words."""


class Count(Windowed, frozen=True, tag="count"):
    """The largest number of one kind of object that the detector saw in one picture."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class Reply(BaseAction, frozen=True, tag="answer"):
    """End the session. Every id in `evidence` must have come up in this session, best first."""

    text: Annotated[str, msgspec.Meta(max_length=4000)]
    status: Status = "answered"
    option: int | None = None
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    """Ids of what else it might be, best first."""
    unverified: tuple[str, ...] = ()
    """Parts of the question that nothing shows or denies."""
    named: tuple[str, ...] = ()
    """What it names that the question does not: what a question that goes on about it may call "it" or "them"."""


Action = Search | Gather | Inspect | Read | Count | Relate | Hear | Reply


def decode_action(data: bytes | str) -> Action:
    """JSON -> action. Raises UsageError with the offending key, to be given back to the model that wrote it."""
    try:
        action: Action = msgspec.json.decode(data, type=Action)
    except msgspec.DecodeError as error:
        raise UsageError(f"not a valid action: {error}") from None
    return action


def action_schema() -> dict[str, Any]:
    """JSON Schema of the actions, for planners that are language models."""
    return msgspec.json.schema(Action)


class Found(ToolResult, frozen=True):
    """Result of a search, best first."""

    notes: tuple[str, ...] = ()
    """Why channels could not be searched."""


class Scene(ToolResult, frozen=True):
    """Result of an inspection, moments oldest first."""

    sights: tuple[SeenName, ...] = ()
    readings: tuple[OcrReading, ...] = ()
    recorded: tuple[tuple[int, int], ...] = ()
    """From when to when each stream was recorded that an inspection met, in microseconds."""


class Tally(ToolResult, frozen=True):
    """Result of a count."""

    count: int = 0
    confidence: float = 0.0


class Refused(ToolResult, frozen=True, kw_only=True):
    """A check said no, or the tool failed; the reason goes back to the planner."""

    why: str
    failed: bool = False
    """The tool failed: `why` may hold the words of a model or a server. A planner does not show them to a model."""


Result = Found | Pool | Scene | Tally | Related | Refused


class Tool(Protocol):
    """Carries out one type of action. `BaseTool` has the defaults."""

    name: str

    @property
    def effect(self) -> bool:
        """It changes something: it is never run for a planner."""
        ...

    @property
    def action(self) -> type[msgspec.Struct]:
        """The type of action it carries out."""
        ...

    def run(self, action: Any, view: View) -> Result:
        """Tells of nothing outside the action's stretch of time."""
        ...


class SearchTool(BaseTool):
    """Ask the retrievers; "any" fuses them by reciprocal rank."""

    name = "search"
    action = Search

    def __init__(self, retrievers: Sequence[Retriever]) -> None:
        self._retrievers = tuple(retrievers)

    def run(self, action: Search, view: View) -> Found:
        query = Query(text=action.query, from_us=action.from_us, to_us=action.to_us)
        results = [r.retrieve(query, view, action.top_k) for r in self._retrievers if action.channel in {"any", r.name}]
        evidence = fuse([result.evidence for result in results], action.top_k)
        notes = tuple(why for result in results if (why := result.silent or result.note))
        return Found(evidence=tuple(evidence), notes=notes)


class InspectTool(BaseTool):
    """Collect what was observed in a stretch of time."""

    name = "inspect"
    action = Inspect

    def run(self, action: Inspect, view: View) -> Scene:
        stream, low, high = action.stream or None, action.from_us, action.to_us
        long = high - low > GLANCE_US
        if low == high:
            nearest = view.nearest(low, stream)
            inside = looked = [nearest] if nearest and abs(nearest.t_us - low) <= _NEAREST_US else []
        else:
            margin_us = AROUND_US if long else 0
            looked = view.moments(stream=stream, from_us=low - margin_us, to_us=high + margin_us, about=_INSPECTED)
            ends = [view.moments(stream=stream, from_us=low, to_us=high, limit=1, newest_first=last) for last in (False, True)]
            inside = [moment for moment in looked if low <= moment.t_us <= high]
            inside = sorted({moment.id: moment for moment in (*inside, *chain(*ends))}.values(), key=lambda m: (m.t_us, m.id))
        spread = np.linspace(0, len(inside) - 1, min(len(inside), action.max_moments)).round()
        chosen = [inside[int(i)] for i in spread]
        seen = view.observations([moment.id for moment in (*chosen, *(looked if long else ()))])
        looks = [(moment, seen[moment.id]) for moment in looked if moment.id in seen]
        sights = appeared(looks, low, high) if long else seen_at_once(looks)
        evidence = tuple(as_evidence(m, "frame", 1.0, describe_moment(seen.get(m.id, ()))) for m in chosen)
        read = tuple(made for moment in chosen if (made := reading(moment, seen.get(moment.id, ()))))
        met = [one for one in view.streams() if one.t0_us <= high and one.t1_us >= low and stream in {None, one.name}] if long else ()
        return Scene(evidence=evidence, sights=tuple(sights), readings=read, recorded=tuple((one.t0_us, one.t1_us) for one in met))


_NEAREST_US = 1800 * US
"""A still scene may keep no moment for this long."""
GLANCE_US = 15 * US
"""A shorter stretch is one look: what appears lasts as long (6 to 15 s in the streams of `tools/eval`)."""
_INSPECTED = 600


class ReadTool(BaseTool):
    """Collect what was read."""

    name = "read"
    action = Read

    def run(self, action: Read, view: View) -> Scene:
        found = readings(view, Query(text=action.about, from_us=action.from_us, to_us=action.to_us))
        return Scene(evidence=tuple(r.evidence for r in found), readings=tuple(found))


class CountTool(BaseTool):
    """Count objects by the detector's boxes."""

    name = "count"
    action = Count

    def run(self, action: Count, view: View) -> Tally:
        seen: dict[int, list[float]] = {}
        names = object_names(action.name, view)
        for posting in view.postings(names, kinds=("object",), from_us=action.from_us, to_us=action.to_us):
            if posting.score >= COUNTED_SCORE:
                seen.setdefault(posting.moment_id, []).append(posting.score)
        ranked = sorted(seen, key=lambda m: (-len(seen[m]), -max(seen[m]), m))[:8]
        evidence = pictures(view, ((m, max(seen[m]), f"{len(seen[m])} {action.name}") for m in ranked))
        return Tally(count=len(seen[ranked[0]]), evidence=evidence, confidence=max(seen[ranked[0]])) if ranked else Tally()


def object_names(phrase: str, view: View) -> list[str]:
    """Names of detected objects that the phrase means: the whole phrase in the singular, else its last words."""
    one, known = singular(phrase).split(), set(view.names("object"))
    return [name for name in (phrase, *(" ".join(one[i:]) for i in range(len(one)))) if name in known][:1]


def describe_moment(observations: Sequence[Observation], limit: int = 5) -> str:
    """One line about a picture: objects and labels by score, then what was read, quoted."""
    things = sorted((o for o in observations if o.kind in {"label", "object"}), key=lambda o: -o.score)
    names = list(dict.fromkeys(o.name for o in things))[:limit]
    texts = [o.name.strip() for o in observations if o.kind == "text" and o.name.strip()]
    return "; ".join(part for part in (", ".join(names), f'text "{" ".join(texts)[:200]}"' if texts else "") if part)
