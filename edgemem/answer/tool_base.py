"""Defaults of planners, tools and what tools bring: no tools of its own, nothing changed, no document proposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from edgemem.records import Record
from edgemem.remember.entries import NewDocument, NewJob


class ToolResult(Record, frozen=True):
    """Base of every result of a tool."""

    documents: tuple[NewDocument, ...] = ()
    """What whoever may write should keep (`answer.written`); passages without vectors are embedded when they are stored."""
    postponed: tuple[NewJob, ...] = ()
    """Work that whoever may write should put off until the board is idle."""


class BaseTool:
    """Base of tools that only read. One with `effect = True` is never run for a planner: a person starts it from the command line."""

    effect: ClassVar[bool] = False


class BasePlanner:
    """Base of planners without tools of their own."""

    tools: Sequence[Any] = ()
