"""What the plans about people share: candidate answers, occasions, how sure rows make, and the words for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from edgemem.answer.compose import quote, time_text
from edgemem.answer.session import Session
from edgemem.answer.tools import Result
from edgemem.answer.tools_graph import Related, Row, Said, Talk
from edgemem.answer.understand.people import ME, TALKS_TO, Asked
from edgemem.answer.understand.words import content_words, likeness, words
from edgemem.records import US, Evidence, Record

T = TypeVar("T")

OCCASION_US = 600 * US
"""Two rows closer than this are one occasion: "how often did I use the drill" counts jobs, not sentences."""
NOBODY = frozenset(("", "someone"))
"""Names that name nobody."""


class Item(Record, frozen=True):
    """One candidate answer: what it is called, how sure it is, the rows or utterances behind it (newest last)."""

    name: str
    confidence: float
    proofs: tuple[Evidence, ...]
    t0_us: int
    count: int = 1


def as_related(result: Result) -> Related:
    """The result of `Relate`; empty when it was refused."""
    return result if isinstance(result, Related) else Related()


def as_talk(result: Result) -> Talk:
    """The result of `Hear`; empty when it was refused."""
    return result if isinstance(result, Talk) else Talk()


def when_said(one: Said) -> int:
    """For sorting by time."""
    return one.t0_us


def grouped(pairs: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    """Items by name, names in the order in which they came up."""
    groups: defaultdict[str, list[T]] = defaultdict(list)
    for name, item in pairs:
        groups[name].append(item)
    return dict(groups)


def items_of(groups: dict[str, list[Row]]) -> list[Item]:
    """One candidate per name: the most frequent first."""
    made = [
        Item(
            name=name,
            confidence=sure_of(rows),
            proofs=tuple(row.evidence for row in rows),
            t0_us=rows[-1].t0_us,
            count=len(occasions_of(rows)),
        )
        for name, rows in groups.items()
    ]
    return sorted(made, key=lambda item: (-item.count, -item.confidence, -item.t0_us))


def occasions_of(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows in time order, those close together as one occasion."""
    groups: list[list[Row]] = []
    for row in sorted(rows, key=lambda r: (r.t0_us, r.t1_us)):
        if groups and row.t0_us - max(r.t1_us for r in groups[-1]) <= OCCASION_US:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def at_least_one(confidences: Iterable[float]) -> float:
    """That at least one holds: the rows are not independent, so a second one removes only part of the doubt."""
    ordered = sorted(confidences, reverse=True)[:4]
    doubt = 1.0
    for rank, confidence in enumerate(ordered):
        doubt *= 1 - confidence / (1 + rank)
    return 1 - doubt


def sure_of(rows: Sequence[Row]) -> float:
    """How sure several rows make together."""
    return min(0.95, at_least_one(row.confidence for row in rows))


def ids_of(evidence: Iterable[Evidence]) -> tuple[str, ...]:
    """At most ten ids to cite."""
    return tuple(dict.fromkeys(one.id for one in evidence))[:10]


def person_text(name: str) -> str:
    """A name as it is told."""
    return "you" if name == ME else name


def subject_text(name: str) -> str:
    """Who did it, at the beginning of a sentence."""
    return "You" if name == ME else name.title() if name else "Somebody"


def object_text(name: str) -> str:
    """To whom or what it was done."""
    return "you" if name == ME else name


def speaker_text(one: Said) -> str:
    """Who said it."""
    return {ME: "You", "": "Somebody"}.get(one.speaker, one.speaker)


def action_text(asked: Asked) -> str:
    """Such as "you used the drill"."""
    if TALKS_TO in asked.types:
        return f"{subject_text(asked.source)} talked to {object_text(asked.target).title() if asked.target != ME else 'you'}"
    verb = _PAST.get(asked.verb, f"{asked.verb.rstrip('e')}ed" if asked.verb else "used")
    return f"{subject_text(asked.source)} {verb} {object_text(asked.target)}".strip()


def proof_text(row: Row) -> str:
    """The words that prove it."""
    return f": {quote(row.quote, 160)}" if row.quote else ""


def times_text(item: Item, s: Session) -> str:
    """How often, and when last."""
    at = time_text(item.t0_us, s.question.tz)
    return at if item.count == 1 else f"{item.count} times, last at {at}"


def time_said(s: Session) -> str:
    """The time as the question said it."""
    return f" {s.parsed.time.said}" if s.parsed.time else ""


def option_of(s: Session, items: Sequence[Item], *, phrases: bool = False) -> int | None:
    """The option that names the first item that any option names; for phrases the option whose words stand there best."""
    options = s.question.options
    if not options:
        return None
    if phrases:
        scores = [max((likeness(" ".join(content_words(option)), item.name) for item in items), default=0.0) for option in options]
        best = max(range(len(options)), key=lambda i: scores[i])
        return best if scores[best] >= 0.5 else None
    for item in items:
        named = set(words(item.name))
        for i, option in enumerate(options):
            if named & set(words(option)):
                return i
    return None


_PAST = {
    "drink": "drank", "eat": "ate", "drive": "drove", "ride": "rode", "wear": "wore", "hold": "held", "cut": "cut", "make": "made",
    "feed": "fed", "buy": "bought", "meet": "met", "pick up": "picked up", "turn on": "turned on or off", "carry": "carried",
}  # fmt: skip
