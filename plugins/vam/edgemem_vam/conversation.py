"""Conversations: which earlier questions one stands in, and what is worth knowing of one that is over (VAM B.5).

The session log holds every question with its answer. A pause of more than 5 minutes ends a conversation. What the summariser says of it is
not stored: a question may quote what is forgotten later, and then nothing may be left of it. It is made anew when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from edgemem.clock import to_iso
from edgemem.errors import ChatError
from edgemem.records import US, Record
from edgemem_vam.actions import Exchange
from edgemem_vam.roles import SESSION_SUMMARISER, Role, decide, request
from edgemem_vam.wire import SESSION_SCHEMA, Habit, decode_session_note

if TYPE_CHECKING:
    from edgemem.answer.models import Models
    from edgemem.remember.view import View

GAP_US = 300 * US
"""A longer pause ends a conversation (VAM B.5)."""
MESSAGES = 8
"""Messages of the conversation that the planner sees: four questions with their answers (VAM)."""
_CHARS = 400
_TURNS = 40
"""Exchanges of one conversation that the summariser reads, the latest."""


class SummariserSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How conversations are summarised."""

    summariser: Role = SESSION_SUMMARISER


class SessionMemory(Record, frozen=True):
    """What stays of a conversation: a few lines, and habits of the user with the words that prove them."""

    t0_us: int
    t1_us: int
    event_document: str
    habits: tuple[Habit, ...] = ()
    note: str = ""
    """Why no model wrote it."""


def conversation(view: View, asked_us: int) -> tuple[Exchange, ...]:
    """The last exchanges before a question of that time, oldest first, as far back as no pause is longer than 5 minutes."""
    found: list[Exchange] = []
    before_us = asked_us
    for head in view.sessions(MESSAGES):
        if head.asked_us > asked_us:
            continue
        if before_us - head.asked_us > GAP_US or len(found) == MESSAGES // 2:
            break
        found.append(Exchange(asked_us=head.asked_us, question=head.question[:_CHARS], answer=head.answer[:_CHARS]))
        before_us = head.asked_us
    return tuple(found[::-1])


def conversations(exchanges: Sequence[Exchange]) -> list[tuple[Exchange, ...]]:
    """Exchanges in the order of time, cut at every pause of more than 5 minutes."""
    cut: list[list[Exchange]] = []
    for exchange in sorted(exchanges, key=lambda e: e.asked_us):
        if not cut or exchange.asked_us - cut[-1][-1].asked_us > GAP_US:
            cut.append([])
        cut[-1].append(exchange)
    return [tuple(one) for one in cut]


def summarise(exchanges: Sequence[Exchange], models: Models | None, settings: SummariserSettings | None = None) -> SessionMemory:
    """Event document and habits of one conversation. A habit counts only when its quote stands in a question of the user, word for word.

    Without a model, or when it does not answer or its reply cannot be read, the questions are listed and no habits are claimed.
    """
    t0_us, t1_us = exchanges[0].asked_us, exchanges[-1].asked_us
    plain = "\n".join(f"{to_iso(exchange.asked_us)}: {exchange.question}" for exchange in exchanges)
    if models is None or not models.there:
        return SessionMemory(t0_us=t0_us, t1_us=t1_us, event_document=plain, note="no language model is configured")
    turns = [{"time": to_iso(e.asked_us), "user": e.question, "text": e.answer} for e in exchanges[-_TURNS:]]
    role = (settings or SummariserSettings()).summariser
    asked = request("session_summariser", role, {"request": "Summarise this conversation.", "turns": turns}, schema=SESSION_SCHEMA)
    try:
        note = decide(models, asked, decode_session_note)
    except ChatError as error:
        return SessionMemory(t0_us=t0_us, t1_us=t1_us, event_document=plain, note=str(error))
    if note is None:
        return SessionMemory(t0_us=t0_us, t1_us=t1_us, event_document=plain, note="the language model's summary could not be read")
    said = [_plain(exchange.question) for exchange in exchanges]
    habits = tuple(habit for habit in note.habits if any(_plain(habit.quote) in words for words in said))
    return SessionMemory(t0_us=t0_us, t1_us=t1_us, event_document=note.event_document, habits=habits)


def _plain(text: str) -> str:
    """Words between blanks, so that a part of a word is none."""
    return f" {' '.join(text.casefold().split())} "
