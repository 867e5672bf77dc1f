"""What was recognised in an event, put into words, and how two events that follow one another differ. No language model is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from edgemem.extend import Observation, Origin, Record, sure_names

SEEN_OF_A_MOMENT = 24
"""Observations that are kept of one frame, the surest first: they wait in the writer's state until the event ends."""
_NAMES, _LINES = 8, 6
"""Most names and lines of text that a caption says."""
_LINE_CHARS = 80


class Seen(Record, frozen=True, array_like=True):
    """One observation, as it is saved."""

    kind: str
    name: str
    score: float
    colour: str = ""


Frame = tuple[Seen, ...]
"""What was recognised in one frame."""


class Facts(Record, frozen=True):
    """What an event showed: names that are probably right, and text as it was read."""

    things: tuple[str, ...] = ()
    """Objects and labels, the surest first."""
    counts: tuple[int, ...] = ()
    """Of each thing, the most that were seen at once."""
    colours: tuple[str, ...] = ()
    """Of each thing, its colour where one stood out."""
    lines: tuple[str, ...] = ()

    @property
    def origin(self) -> Origin:
        """Whose words a caption repeats."""
        return "ocr" if self.lines else "caption"


def seen_of(observations: Iterable[Observation]) -> Frame:
    """The surest observations of one frame."""
    named = sorted((o for o in observations if o.name.strip()), key=lambda o: -o.score)
    return tuple(Seen(kind=o.kind, name=o.name, score=o.score, colour=o.colour) for o in named[:SEEN_OF_A_MOMENT])


def facts_of(frames: Sequence[Frame]) -> Facts:
    """What these frames of one event show together."""
    seen = [[_observation(one) for one in frame] for frame in frames]
    things = list(dict.fromkeys([*sure_names("object", seen), *sure_names("label", seen)]))[:_NAMES]
    counts: Counter[str] = Counter()
    colours: dict[str, Counter[str]] = {name: Counter() for name in things}
    for frame in frames:
        here = Counter(one.name for one in frame if one.kind == "object")
        for name in things:
            counts[name] = max(counts[name], here[name], 1)
            colours[name].update(one.colour for one in frame if one.name == name and one.colour)
    lines: dict[str, str] = {}
    for one in (one for frame in frames for one in frame if one.kind == "text"):
        lines.setdefault("".join(one.name.split()).casefold(), " ".join(one.name.split())[:_LINE_CHARS])
    shades = tuple(colours[name].most_common(1)[0][0] if colours[name] else "" for name in things)
    return Facts(things=tuple(things), counts=tuple(counts[name] for name in things), colours=shades, lines=(*lines.values(),)[:_LINES])


def _observation(one: Seen) -> Observation:
    kind: Literal["label", "object", "text", "colour"]
    kind = "label" if one.kind == "label" else "object" if one.kind == "object" else "text" if one.kind == "text" else "colour"
    return Observation(kind=kind, name=one.name, score=one.score, colour=one.colour)


def caption(facts: Facts, heard: Sequence[str] = ()) -> str:
    """One paragraph on one line; empty where nothing was recognised. What was read or heard stands in quotation marks."""
    things = [_thing(*one) for one in zip(facts.things, facts.counts, facts.colours, strict=True)]
    parts = [
        f"In view: {', '.join(things)}." if things else "",
        f"Text: {', '.join(map(_quoted, facts.lines))}." if facts.lines else "",
        f"Heard: {' '.join(map(_quoted, heard))}." if heard else "",
    ]
    return " ".join(filter(None, parts))


def change(before: Facts, after: Facts) -> str:
    """How an event differs from the one before it; empty where nothing that was recognised does."""
    new, gone = _missing(after.things, before.things), _missing(before.things, after.things)
    lines = _missing(after.lines, before.lines)
    earlier, now = dict(zip(before.things, before.counts, strict=True)), dict(zip(after.things, after.counts, strict=True))
    other = [f"{name} from {earlier[name]} to {now[name]}" for name in now if name in earlier and earlier[name] != now[name]]
    parts = [
        f"new: {', '.join(new)}" if new else "",
        f"gone: {', '.join(gone)}" if gone else "",
        f"number of {', '.join(other)}" if other else "",
        f"new text: {', '.join(map(_quoted, lines))}" if lines else "",
    ]
    said = "; ".join(filter(None, parts))
    return f"{said}." if said else ""


def _missing(names: Sequence[str], others: Sequence[str]) -> list[str]:
    return [name for name in names if name not in others]


def _thing(name: str, count: int, colour: str) -> str:
    return " ".join(filter(None, (f"{count} x" if count > 1 else "", colour, name)))


def _quoted(text: str) -> str:
    flat = " ".join(text.split()).replace('"', "'")
    return f'"{flat}"'
