"""Events of the agent: frozen records that services, servers and programs get from its feed.

An event is sent after its data is in the memory.
"""

from __future__ import annotations

from typing import Literal

from edgemem.records import Answer, Entity, Question, Record, Segment, Utterance

StreamState = Literal["starting", "seeing", "blind", "seen"]
"""State of a stream: not open yet; frames arrive; nothing is seen now; a recording was seen to its end."""


class StreamStatus(Record, frozen=True):
    """One stream of the agent. `blind`: the reason why nothing is seen; `frames`: number since the start of the agent."""

    stream: str
    state: StreamState
    blind: str = ""
    frames: int = 0


class SegmentStored(Record, frozen=True, tag=True):
    """A segment was closed and stored. The texts of its writers are in the memory, except those of slow writers."""

    segment: Segment


class UtteranceHeard(Record, frozen=True, tag=True):
    """An utterance was stored. Its speaker is a name, "speaker 3", or "" if unknown."""

    utterance: Utterance


class EntityNamed(Record, frozen=True, tag=True):
    """An entity got a name or lost it: `entity.name` is its name from now on."""

    entity: Entity
    before: str
    """Its previous name, such as "speaker 3"."""
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
    """A part of the agent changed its state: a stream stopped seeing or sees again, a service failed, the governor does less or more work.

    Of a board, `well` means that all work is done; `why` has the step and its reason in any case.
    """

    kind: Literal["stream", "service", "board"]
    name: str
    well: bool
    t_us: int
    why: str = ""
    """If there is a problem: one line for a person."""


Event = SegmentStored | UtteranceHeard | EntityNamed | QuestionStep | QuestionAnswered | Health
"""Everything that the feed carries. Its first field "type" names the record on a wire."""
