"""Conversations: which earlier questions one stands in, what is worth knowing of one that is over, and the habits of the user (VAM B.5).

The session log holds every question with its answer. A pause of more than 5 minutes ends a conversation. Of one that is over the habits of
the user are stored, each with the user's own words that prove it, so that later questions are answered accordingly. The summariser reads
the user's words alone for that: what an answer quoted of the scene can put no habit into anybody's mouth. The lines about what was talked
about are not stored: they may quote what is forgotten later. They are made anew when they are asked for (`edgemem habits`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from edgemem.clock import to_iso
from edgemem.errors import ChatError
from edgemem.llm.readable import UnreadableError, readable_reply
from edgemem.records import US, Record
from edgemem.remember.entries import NewDocument, NewJob
from edgemem.see.operations import BaseWriter, BoardIdle, Occasion
from edgemem_vam.actions import Exchange
from edgemem_vam.roles import SESSION_SUMMARISER, Role, request
from edgemem_vam.wire import SESSION_SCHEMA, Habit, decode_session_note

if TYPE_CHECKING:
    from edgemem.llm.models import Models
    from edgemem.remember.view import View

GAP_US = 300 * US
"""A longer pause ends a conversation (VAM B.5)."""
MESSAGES = 8
"""Messages of the conversation that the planner sees: four questions with their answers (VAM)."""
WRITER = "vam_conversations"
"""Name of the writer that learns habits when the board is idle."""
STREAM = "conversation"
"""Name of the stream that habits belong to: no camera's."""
HABITS = 12
"""Habits that the planner reads, the latest."""
_LOOKED_BACK = 200
"""Sessions that are looked through for the conversation before."""
_MARKS = ".,;:!?\"'()"
_LEAST_WORDS = 3
"""Of a quote that proves a habit."""
_HABIT = re.compile(r'(?P<habit>[^\n]*)\n"(?P<quote>.*)"', re.DOTALL)
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


def before(view: View, asked_us: int) -> tuple[Exchange, ...]:
    """The conversation before the one that a question of that time begins; () when it begins none, or when there was none."""
    heads = [head for head in view.sessions(_LOOKED_BACK) if head.asked_us <= asked_us]
    if not heads or asked_us - heads[0].asked_us <= GAP_US:
        return ()
    return conversations([Exchange(asked_us=h.asked_us, question=h.question, answer=h.answer) for h in heads])[-1]


def summarise(exchanges: Sequence[Exchange], models: Models | None, settings: SummariserSettings | None = None) -> SessionMemory:
    """Event document and habits of one conversation. A habit counts only when its quote stands in a question of the user, word for word.

    Without a model, or when it does not answer or its reply cannot be read, the questions are listed and no habits are claimed.
    """
    t0_us, t1_us = exchanges[0].asked_us, exchanges[-1].asked_us
    plain = "\n".join(f"{to_iso(exchange.asked_us)}: {exchange.question}" for exchange in exchanges)
    if models is None or not models.there:
        return SessionMemory(t0_us=t0_us, t1_us=t1_us, event_document=plain, note="no language model is configured")
    turns = [{"time": to_iso(e.asked_us), "user": e.question, **({"text": e.answer} if e.answer else {})} for e in exchanges[-_TURNS:]]
    role = (settings or SummariserSettings()).summariser
    asked = request("session_summariser", role, {"request": "Summarise this conversation.", "turns": turns}, schema=SESSION_SCHEMA)
    try:
        note = readable_reply(models, asked, decode_session_note)
    except UnreadableError:
        return SessionMemory(t0_us=t0_us, t1_us=t1_us, event_document=plain, note="the language model's summary could not be read")
    except ChatError as error:
        return SessionMemory(t0_us=t0_us, t1_us=t1_us, event_document=plain, note=str(error))
    said = [_plain(exchange.question) for exchange in exchanges]
    habits = tuple(habit for habit in note.habits if any(_plain(habit.quote) in words for words in said))
    return SessionMemory(t0_us=t0_us, t1_us=t1_us, event_document=note.event_document, habits=habits)


def known_habits(view: View) -> tuple[Habit, ...]:
    """The latest habits that are stored, oldest first."""
    found = [habit for document in view.documents(kinds=("habit",)) if (habit := _read(document.text)) is not None]
    return tuple(found[-HABITS:])


def habit_documents(memory: SessionMemory, exchanges: Sequence[Exchange], known: Sequence[Habit], known_us: int) -> list[NewDocument]:
    """What is to be stored of a conversation: its habits that are new and proved by at least three words of the user."""
    old = {habit.habit.casefold() for habit in known}
    new = {habit.habit.casefold(): habit for habit in memory.habits if len(habit.quote.split()) >= _LEAST_WORDS}
    return [_document(habit, exchanges, known_us) for name, habit in new.items() if name not in old]


def _document(habit: Habit, exchanges: Sequence[Exchange], known_us: int) -> NewDocument:
    said_us = next((e.asked_us for e in exchanges if _plain(habit.quote) in _plain(e.question)), exchanges[-1].asked_us)
    text = f'{" ".join(habit.habit.split())}\n"{habit.quote}"'
    return NewDocument(
        kind="habit", text=text, stream=STREAM, t0_us=said_us, t1_us=said_us, offset_us=0, known_us=max(known_us, said_us), origin="user"
    )  # fmt: skip


def _read(text: str) -> Habit | None:
    found = _HABIT.fullmatch(text)
    return Habit(habit=found["habit"], quote=found["quote"]) if found is not None and found["habit"].strip() else None


def learning(view: View, asked_us: int) -> tuple[NewJob, ...]:
    """The job that learns the habits of the conversation before; none where this question begins no new one."""
    over = before(view, asked_us)
    if not over:
        return ()
    span = msgspec.msgpack.encode((over[0].asked_us, over[-1].asked_us))
    return (NewJob(writer=WRITER, stream=STREAM, payload=span),)


class ConversationWriter(BaseWriter):
    """Stores the habits of the user that a conversation shows, once it is over and the board is idle. It reads the questions alone."""

    name = WRITER
    triggers = frozenset({"idle"})
    slow = True

    def __init__(self, settings: SummariserSettings | None = None, models: Models | None = None) -> None:
        self._settings = settings or SummariserSettings()
        self._models = models

    def write(self, occasion: Occasion) -> list[NewDocument]:
        """Raises ChatError when the model does not answer: it is asked again later."""
        if not isinstance(occasion, BoardIdle) or occasion.open_view is None or self._models is None or not self._models.there:
            return []
        from_us, to_us = msgspec.msgpack.decode(occasion.payload, type=tuple[int, int])
        with occasion.open_view() as view:
            heads = [head for head in view.sessions() if from_us <= head.asked_us <= to_us]
            known = known_habits(view)
        if not heads:
            return []  # they were forgotten meanwhile
        said = [Exchange(asked_us=head.asked_us, question=head.question, answer="") for head in sorted(heads, key=lambda h: h.asked_us)]
        memory = summarise(said, self._models, self._settings)
        if memory.note:
            raise ChatError(memory.note)
        return habit_documents(memory, said, known, occasion.now_us)


def _plain(text: str) -> str:
    """Words between blanks, without the marks around them, so that a part of a word is none."""
    return f" {' '.join(word.strip(_MARKS) for word in text.casefold().split())} "
