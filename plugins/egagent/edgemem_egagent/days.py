"""Which days the memory holds: what a planner chooses days and times from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgemem.answer.tool_base import BaseTool
from edgemem_egagent.actions import MOST_SPANS, Day, Days, ListDays
from edgemem_egagent.spans import day_of, day_span

if TYPE_CHECKING:
    from edgemem.remember.view import View


class DaysTool(BaseTool):
    """The days with something seen or said, newest first in the search and in the order of time in the result."""

    name = "list_days"
    action = ListDays

    def run(self, action: ListDays, view: View) -> Days:
        """Steps from one day that holds something to the one before it, so that years without anything cost nothing."""
        found: list[Day] = []
        last_us = _last(view, view.as_of_us)
        while last_us is not None and len(found) < MOST_SPANS:
            date = day_of(last_us, action.tz)
            first_us, _ = day_span(date, action.tz)
            found.append(Day(date=date, first_us=_first(view, first_us, last_us), last_us=last_us))
            last_us = _last(view, first_us - 1)
        return Days(days=tuple(reversed(found)))


def _last(view: View, to_us: int) -> int | None:
    """The latest time up to `to_us` at which something was seen or said."""
    seen = [moment.t_us for moment in view.moments(to_us=to_us, limit=1, newest_first=True)]
    said = [min(one.document.t1_us, to_us) for one in view.utterances(to_us=to_us, limit=1, newest_first=True)]
    return max((*seen, *said), default=None)


def _first(view: View, from_us: int, to_us: int) -> int:
    seen = [moment.t_us for moment in view.moments(from_us=from_us, to_us=to_us, limit=1)]
    said = [max(one.document.t0_us, from_us) for one in view.utterances(from_us=from_us, to_us=to_us, limit=1)]
    return min((*seen, *said), default=to_us)
