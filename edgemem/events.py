"""What the agent reports while it runs: frozen records that services, servers and programs get from its feed.

An event comes after the fact: what it is about is in the memory already.
"""

from __future__ import annotations

from typing import Literal

from edgemem.records import Answer, Entity, Question, Record, Segment, Utterance

StreamState = Literal["starting", "seeing", "blind", "seen"]
"""Of a stream: not open yet, frames come, nothing is seen just now, a recording that was seen to its end."""


class StreamStatus(Record, frozen=True):
    """One stream of the agent. `blind` says why nothing is seen; `frames` counts since the agent began."""

    stream: str
    state: StreamState
    blind: str = ""
    frames: int = 0


class SegmentStored(Record, frozen=True, tag=True):
    """A segment was closed and stored. What its writers wrote about it is in the memory, unless a writer works later."""

    segment: Segment


class UtteranceHeard(Record, frozen=True, tag=True):
    """A stretch of speech was stored. Its speaker is a name, "speaker 3", or "" while nobody knows."""

    utterance: Utterance


class EntityNamed(Record, frozen=True, tag=True):
    """Somebody or something got a name, or lost it again: `entity.name` is what it is called from now on."""

    entity: Entity
    before: str
    """What it was called until now, such as "speaker 3"."""
    known_us: int


class QuestionStep(Record, frozen=True, tag=True):
    """A step of a question that is being answered, as soon as it is done. `QuestionAnswered` follows the last one."""

    question: Question
    number: int
    """From 1."""
    planner: str
    """Who chose the step."""
    line: str
    """What was done and what it brought, as a trace says it, with times in the zone of the question."""
    ms: float = 0.0


class QuestionAnswered(Record, frozen=True, tag=True):
    """A question and its answer."""

    question: Question
    answer: Answer


class Health(Record, frozen=True, tag=True):
    """A part of the agent changed its state: a stream became blind or sees again, a service failed."""

    kind: Literal["stream", "service"]
    name: str
    well: bool
    t_us: int
    why: str = ""
    """Where it is not well: one line for a person."""


Event = SegmentStored | UtteranceHeard | EntityNamed | QuestionStep | QuestionAnswered | Health
"""Everything that the feed carries. Its first field "type" names the record on a wire."""
