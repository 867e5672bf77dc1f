"""The conversation a question stands in: earlier questions of the session log, as far back as no pause is longer than 5 minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgemem.records import US
from edgemem_vam.actions import Exchange

if TYPE_CHECKING:
    from edgemem.remember.view import View

GAP_US = 300 * US
"""A longer pause ends a conversation (VAM B.5)."""
MESSAGES = 8
"""Messages of the conversation that the planner sees: four questions with their answers (VAM)."""
_CHARS = 400


def conversation(_view: View) -> tuple[Exchange, ...]:
    """The last exchanges before the cut-off of the view, oldest first."""
    return ()
