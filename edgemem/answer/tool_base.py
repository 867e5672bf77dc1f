"""Defaults of planners, tools and what tools bring: no tools of its own, nothing changed, no document proposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import msgspec

from edgemem.records import Evidence, Record
from edgemem.remember.entries import NewDocument, NewJob


class ToolResult(Record, frozen=True):
    """Base of every result of a tool."""

    evidence: tuple[Evidence, ...] = ()
    """What it found; an answer may cite only what came up in its session."""
    documents: tuple[NewDocument, ...] = ()
    """What whoever may write should keep (`serve.written`); passages without vectors are embedded when they are stored."""
    postponed: tuple[NewJob, ...] = ()
    """Work that whoever may write should put off until the board is idle."""


class BaseAction(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="action"):
    """Base of every action: frozen and comparable; unknown keys are refused."""


class Windowed(BaseAction, frozen=True, kw_only=True):
    """Base of actions on a stretch of time, open where None."""

    from_us: int | None = None
    to_us: int | None = None


@runtime_checkable
class Timed(Protocol):
    """Any action on a stretch of time, also of a plugin: checks keep it within the question and the as-of time."""

    @property
    def from_us(self) -> int | None: ...
    @property
    def to_us(self) -> int | None: ...


class BaseTool:
    """Base of tools that only read. One with `effect = True` is never run for a planner: a person starts it from the command line."""

    effect: ClassVar[bool] = False


class BasePlanner:
    """Base of planners without tools of their own."""

    name: str
    tools: Sequence[Any] = ()
