"""An answer without a language model's words: what the steps found, and how far it fits the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgemem.extend import Evidence, Record, Reply, ToolResult
from edgemem_eventmem.actions import Events, Frames, Looked
from edgemem_eventmem.tools import means

if TYPE_CHECKING:
    from edgemem.extend import Session

LEAST_FIT = 0.5
"""Share of the question's words that evidence must hold to be an answer."""
_GONE = re.compile(r"\bgone: [^;]*")
"""What a change says is no longer there (`facts.change`): no sign that it is."""
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are at be been did do does for from had has have how i in is it me my of on or our see seen show that the there these"
        " they this to was we were what when where which who why will with you your",
    )
)


class Fit(Record, frozen=True):
    """One piece of evidence and the share of the question's words that it holds."""

    share: float
    evidence: Evidence
    text: str


def words_of(text: str) -> list[str]:
    """Content words of a question, in lower case."""
    return [word for word in re.findall(r"\w+", text.casefold()) if word not in _STOP and len(word) > 1]


def fits(session: Session, frames: Frames, results: Sequence[ToolResult]) -> list[Fit]:
    """Everything that came up of the time that the question names, best first; of equal ones what a look brought, then short-term memory,
    newest first.
    """
    asked = list(session.parsed.things) or words_of(session.question.text)
    looks = [
        Fit(share=_share(asked, _names(one)), evidence=one.evidence[0], text=_said(one))
        for one in results
        if isinstance(one, Looked) and one.found and one.evidence
    ]
    recent = [Fit(share=_share(asked, [frame.text]), evidence=frame.evidence, text=frame.text) for frame in reversed(frames.frames)]
    events = [
        Fit(share=_share(asked, [event.caption, _GONE.sub("", event.change_from_previous)]), evidence=event.evidence, text=event.caption)
        for one in results
        if isinstance(one, Events)
        for event in one.events
    ]
    return sorted((fit for fit in (*looks, *recent, *events) if _in_time(session, fit.evidence)), key=lambda fit: -fit.share)


def _in_time(session: Session, one: Evidence) -> bool:
    span = session.span
    inside = (span.from_us is None or one.t1_us >= span.from_us) and (span.to_us is None or one.t0_us <= span.to_us)
    return inside or span.fell_back


def _names(result: Looked) -> list[str]:
    return [one.name for one in result.found] + [one.asked for one in result.found]


def _said(result: Looked) -> str:
    read = [one.name for one in result.found if not one.asked]
    seen = list(dict.fromkeys(one.name for one in result.found if one.asked))
    counted = [f"{sum(one.name == name for one in result.found)} x {name}" for name in seen]
    return "; ".join([*(f'"{line}"' for line in read), *counted])


def _share(asked: Sequence[str], texts: Sequence[str]) -> float:
    """Share of the asked phrases of which some text holds every word."""
    names = [name for text in texts for name in re.split(r'[,;."]', text)]
    held = sum(any(means(phrase, name.strip()) or _within(phrase, text) for name in names for text in texts) for phrase in asked)
    return held / len(asked) if asked and names else 0.0


def _within(phrase: str, text: str) -> bool:
    words = set(re.findall(r"\w+", text.casefold()))
    return bool(phrase.split()) and all(word.casefold() in words for word in phrase.split())


def reply_from(session: Session, frames: Frames, results: Sequence[ToolResult], note: str = "") -> Reply:
    """The best evidence as the answer; abstained where it holds too little of the question."""
    ranked, options, notes = fits(session, frames, results), session.question.options, (note,) if note else ()
    best = ranked[0] if ranked else None
    option = _chosen(options, ranked) if options else None
    if best is None or (best.share < LEAST_FIT and option is None):
        evidence = tuple(dict.fromkeys(fit.evidence.id for fit in ranked[:5]))
        return Reply(text="I found nothing that shows it.", status="abstained", confidence=0.0, evidence=evidence, notes=notes)
    evidence = tuple(dict.fromkeys(fit.evidence.id for fit in ranked if fit.share >= min(best.share, LEAST_FIT)))[:8]
    text = options[option] if option is not None else best.text[:1000]
    return Reply(text=text, option=option, status="answered", confidence=round(0.6 * best.share, 2), evidence=evidence, notes=notes)


def _chosen(options: Sequence[str], ranked: Sequence[Fit]) -> int | None:
    """The only option that some evidence names more of than of any other."""
    shares = [max((_share(words_of(option) or [option], [fit.text]) for fit in ranked), default=0.0) for option in options]
    best = max(shares)
    return shares.index(best) if best >= LEAST_FIT and shares.count(best) == 1 else None
