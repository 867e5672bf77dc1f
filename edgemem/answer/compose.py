"""Short answers from evidence, in plain English. What was read is always quoted, never spoken as our own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from edgemem.answer.retrieve import Episode
from edgemem.answer.retrievers.readings import OcrReading
from edgemem.answer.sights import SeenName
from edgemem.answer.tools import Scene
from edgemem.answer.understand.lexicon import PAIRS
from edgemem.answer.understand.words import similar_texts, singular, words
from edgemem.clock import to_local
from edgemem.infer.boxes import inside
from edgemem.infer.labels import nouns
from edgemem.records import US, Evidence
from edgemem.words import word_classes


def span_text(seconds: float) -> str:
    """Such as "2 min 14 s", "45 s" or "1 h 5 min"."""
    minutes, left = divmod(round(max(0.0, seconds)), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {left} s" if minutes else f"{left} s"


def times(count: int) -> str:
    """Such as "2 times"."""
    return f"{count} time{'s' if count != 1 else ''}"


def time_text(t_us: int, tz: str) -> str:
    """Such as "10:02:14 on Monday 2026-05-04", on the clock of the one who asks."""
    return to_local(t_us, tz).strftime("%H:%M:%S on %A %Y-%m-%d")


def at(evidence: Evidence | Episode, tz: str) -> str:
    """When something was: "at 10:02:14 on Monday 2026-05-04 (2 min 14 s into "walk")"."""
    return f'at {time_text(evidence.t0_us, tz)} ({span_text(evidence.offset_us / US)} into "{evidence.stream}")'


def quote(text: str, limit: int = 300) -> str:
    """Text that was read, in quotation marks on one line, cut where it is long."""
    flat = " ".join(text.split()).replace('"', "'")
    return f'"{flat if len(flat) <= limit else flat[: limit - 1] + "…"}"'


_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_OWNED = re.compile(r"^(?:my|your|his|her|its|our|their|this|that|these|those|what looks like)\s", re.IGNORECASE)


def the(phrase: str) -> str:
    """The phrase with an article; one that it has already is taken off, and a word that stands for one is kept: "my keys"."""
    bare = _ARTICLE.sub("", phrase)
    return bare if _OWNED.match(bare) else f"the {bare}" if bare else "that"


def a(phrase: str) -> str:
    """The phrase with the article that fits, if it has none yet."""
    phrase = _ARTICLE.sub("", phrase)
    last = phrase.rpartition(" ")[2]
    if _OWNED.match(phrase) or last in PAIRS or singular(last) != last:
        return phrase
    return f"{'an' if phrase.lower().startswith(tuple('aeiou')) else 'a'} {phrase}"


def listed(parts: Iterable[str]) -> str:
    """Such as "a, b and c"."""
    some = [part for part in parts if part]
    return f"{', '.join(some[:-1])} and {some[-1]}" if len(some) > 1 else "".join(some)


AT_LEAST, SURE = 2, 0.5
"""So many things are named in any case, further ones from this score on. Both are chosen, not fitted: by the calibration of captions
(`see.write.probably_right`) a name that one picture alone shows at .5 is right in one of four cases, at .9 in three of four."""


def things(sights: Sequence[SeenName], limit: int = 4, without: Iterable[str] = (), tz: str = "") -> list[str]:
    """Names of what was seen, in their order, with counts and colours; nothing that shares a word with `without`. With a time zone each
    has the time at which it appeared, and "perhaps" where it is not sure.
    """
    days = {to_local(sight.t0_us, tz).date() for sight in sights} if tz else ()
    names: list[str] = []
    taken: set[str] = set()
    for sight in apart(sights, without):
        own = {sight.name} if tz else set(words(sight.name))
        unsure = sight.score < SURE
        untold = unsure and not tz and len(names) >= AT_LEAST
        if sight.kind not in {"label", "object"} or untold or own & taken:
            continue
        taken |= own
        number = f"{sight.count} x " if sight.kind == "object" and sight.count > 1 else ""
        colour = f"{sight.colour} " if sight.kind == "object" and sight.colour and sight.colour not in words(sight.name) else ""
        began = time_text(sight.t0_us, tz) if tz else ""
        began = f" ({began if len(days) > 1 else began.partition(' ')[0]})" if tz else ""
        names.append(f"{'perhaps ' * bool(unsure and tz)}{number}{colour}{sight.name}{began}")
        if len(names) == limit:
            break
    return names


def apart(sights: Iterable[SeenName], without: Iterable[str]) -> list[SeenName]:
    """Those that share no word with `without`, and are no lesser name of what does: of an otter's face, "bear"."""
    avoid = {singular(word) for phrase in without for word in words(phrase)}
    return without_own(sights, lambda one: not avoid.isdisjoint(map(singular, words(one.name))))


def without_own(sights: Iterable[SeenName], is_own: Callable[[SeenName], bool]) -> list[SeenName]:
    """Those that are not its own, and are no lesser name of what is."""
    kept, own = list[SeenName](), list[SeenName]()
    for sight in sights:
        (own if is_own(sight) else kept).append(sight)
    return [sight for sight in kept if not any(_is_part(sight, one) for one in own)]


def _is_part(one: SeenName, other: SeenName) -> bool:
    """A label of the other's crop or of a part of it at that time, and less sure."""
    labels = one.kind == other.kind == "label" and one.score <= other.score
    together = one.stream == other.stream and one.t0_us <= other.t1_us and other.t0_us <= one.t1_us
    return labels and together and one.box is not None and other.box is not None and inside(one.box, other.box) >= _PART


_PART = 0.8
"""Share of its crop that lies in the other's; chosen."""


_SHORTEST, _PRINT, _LEGIBLE = 2, 4, 0.3
"""Letters and figures of the shortest text that is told of a scene. So many words of which less are known are print: "C68 C70 R40 R41"."""


def distinct_readings(readings: Sequence[OcrReading], limit: int = 3) -> list[OcrReading]:
    """Longest reading of each text, print on things last: what stands on a sign is read again in every picture that shows it."""
    kept: list[OcrReading] = []
    long = (one for one in readings if sum(map(str.isalnum, one.text)) >= _SHORTEST)
    for reading in sorted(long, key=lambda r: -len(r.text)):
        if all(similar_texts(reading.text, other.text) < 0.7 and reading.text not in other.text for other in kept):
            kept.append(reading)
    best = sorted(kept, key=lambda r: len(words(r.text)) >= _PRINT and legible(r.text) < _LEGIBLE)[:limit]
    return sorted(best, key=lambda r: r.evidence.t0_us)


def legible(text: str) -> float:
    """Share of the words that a dictionary knows: "Gate 56" 1, the print on a circuit board ("or C68 R40") less."""
    letters = [word for word in words(text) if word.isalpha()]
    return sum(len(word) > 1 and bool(word_classes(word) or nouns().senses(word)) for word in letters) / max(1, len(letters))


NAMED, LISTED = 6, 10
"""So many things of a scene and of a stretch of time are named."""


def scene_text(scene: Scene, tz: str = "") -> str:
    """What a scene shows: "coffee mug, desk; the text "ROOM 214" "; with a time zone, what appeared when, and what may have."""
    seen = listed(things(scene.sights, LISTED if tz else NAMED, tz=tz))
    read = listed(quote(r.text, 120) for r in distinct_readings(scene.readings))
    return "; ".join(part for part in (seen, f"the text {read}" if read else "") if part)
