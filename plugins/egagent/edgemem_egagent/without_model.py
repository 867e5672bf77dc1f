"""The answer without a language model: the words of the local planner; else the utterance that fits the question best, quoted.

Relations that miss a condition of their search are never an answer. They are told as what comes nearest, beside an abstention.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

import msgspec

from edgemem.answer.compose import listed, quote, time_text
from edgemem.answer.local import LocalPlanner
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.answer.understand.words import likeness, words
from edgemem.records import Evidence
from edgemem_egagent.memory import Finding, WorkingMemory

_SPEAKS = 0.6
"""An utterance that holds this share of the words asked about is told when nothing else answers; an option must fit it as well."""
_TRUST = 0.6
"""A quote that fits the words may still miss the question: its confidence is this share of how well it fits."""
_CITED = 10
_NEAREST = 2
"""Hints that are told."""


def answered_locally(session: Session, memory: WorkingMemory) -> Generator[Any, Any, Reply]:
    """The local planner's answer. Where it abstains: a fitting quote, or what comes nearest to what was asked."""
    local = LocalPlanner()
    while not isinstance(action := local.next(session), Reply):
        yield action
    if action.status == "answered":
        return action
    asks_relation = session.parsed.asked is not None and bool(session.parsed.asked.types)
    quoted = None if asks_relation else _quoted(session, memory)
    return quoted or _nearest(action, session, memory)


def _quoted(session: Session, memory: WorkingMemory) -> Reply | None:
    """The best utterance that holds every name of the question; with options the option that it names."""
    names = _names(session.question.text)
    spoken = [f for f in memory.findings if f.tool == "transcript" and f.sure >= _SPEAKS]
    fitting = [(f, [e for e in f.evidence if names <= set(words(e.text))]) for f in spoken]
    fitting = [(finding, evidence) for finding, evidence in fitting if evidence]
    if not fitting:
        return None
    best, evidence = max(fitting, key=lambda one: one[0].sure)
    first, option = evidence[0], None
    if session.question.options:
        option, first, score = _option(session.question.options, evidence)
        if score < _SPEAKS:
            return None
    text = f"{quote(first.text, 200)} at {time_text(first.t0_us, session.question.tz)}."
    others = [e.id for e in evidence if e.id != first.id]
    return Reply(text=text, option=option, confidence=round(_TRUST * best.sure, 4), evidence=(first.id, *others)[:_CITED])


def _option(options: tuple[str, ...], evidence: list[Evidence]) -> tuple[int, Evidence, float]:
    """The option that an utterance names best, the earlier of equals; that utterance; how well."""
    scored = [(likeness(option, e.text), -number, e) for number, option in enumerate(options) for e in evidence]
    score, place, first = max(scored, key=lambda one: one[:2])
    return -place, first, score


def _names(question: str) -> set[str]:
    """Words with a capital that do not begin the question: people and places that an answer has to be about."""
    capital = re.findall(r"(?<=[\w,;:] )[A-Z][\w-]+", question)
    return {word for name in capital for word in words(name)} - {"i"}


def _nearest(abstained: Reply, session: Session, memory: WorkingMemory) -> Reply:
    """The abstention, with what is recorded of something similar: said to be that, and no proof."""
    hinted = [e for f in memory.findings for e in _hinted(f)]
    if not hinted:
        return abstained
    tz = session.question.tz
    told = listed(f"{_without_quote(e.text)} at {time_text(e.t0_us, tz)}" for e in hinted[:_NEAREST])
    text = f"{abstained.text} What comes nearest: {told}."
    return msgspec.structs.replace(abstained, text=text, alternatives=tuple(dict.fromkeys(e.id for e in hinted))[:_CITED])


def _hinted(finding: Finding) -> list[Evidence]:
    """Hints, newest first."""
    only = {hint.id for hint in finding.hints}
    return sorted((e for e in finding.evidence if e.id in only), key=lambda e: -e.t0_us)


def _without_quote(text: str) -> str:
    return text.split(': "', 1)[0]
