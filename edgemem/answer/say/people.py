"""Answers about people: who did what with what, who was there, who said what. Read from relations and utterances, never guessed.

An utterance counts as a row of the graph without a type: its source is the speaker, its quote what was said. None is returned where
nothing of the kind is known, so that the question is answered from words and pictures instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from edgemem.answer.compose import listed, quote, time_text, times
from edgemem.answer.retrieve import runs
from edgemem.answer.say.base import Steps, Window, abstain, answered, brought, cite, look_for, strong, window_of
from edgemem.answer.say.statements import option_of
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.answer.tools_graph import PEOPLE, Hear, Relate, Related, Row, row_text
from edgemem.answer.understand.people import ME, TALKS_TO, Asked, read_statement, same_verb
from edgemem.answer.understand.phrases import noun_phrase
from edgemem.answer.understand.words import best_word, line_of, words
from edgemem.answer.weigh import is_shown
from edgemem.records import US

Maybe = Steps["Reply | None"]

NEAR_US = 120 * US
"""Who spoke or was seen this close to what went on was there."""
OCCASION_US = 600 * US
"""Two rows closer than this are one occasion: "how often did I use the drill" counts jobs, not sentences."""
LEAST = 0.25
"""Below this confidence nothing is claimed."""
VERBATIM = 0.9
"""Confidence in an utterance that holds every word asked about."""
_EVERY_WORD = 0.99
_TOLD, _ALL_TOLD = 4, 10
"""So many of the newest utterances are told, and so many of a list of them."""
_NOT_YOURS = "I do not know which voice is yours; this was said near you"


def relation(s: Session) -> Maybe:
    """Answer `session.parsed.asked`; None where the other plans may try."""
    asked = s.parsed.asked
    if asked is None:
        return None
    if asked.wanted == "with":
        return (yield from _company(s, asked))
    if asked.types:
        rows, note = yield from _actions(asked, window_of(s))
        if not rows and TALKS_TO in asked.types:
            who = _other(asked).title()
            return abstain(f"I know of no talk{f' with {who}' if who else ''}{_then(s)}.")
        unsure = asked.wanted in {"did", "who", "what"} and asked.verb and note  # that it was used is not who fixed it
        return _summary(s, asked, rows, note) if rows and not unsure else None
    rows = yield from _heard(window_of(s), asked.about, asked.source)
    if asks_voices(asked) and asked.ordinal:  # "who spoke first"
        rows = rows[:1] if asked.ordinal > 0 else rows[-1:]
    names = set(words(s.parsed.person)) & set(words(asked.about))  # "the meeting with Sarah" is not the one with Robert
    rows = [row for row in rows if all(best_word(name, line_of(row.quote)) for name in names)]
    return _summary(s, asked, rows) if rows else (yield from _not_said(s, asked))


def asks_voices(asked: Asked) -> bool:
    """Asks who spoke, or how many did, whatever was said."""
    return asked.wanted in {"who", "how_many"} and not (asked.types or asked.about)


def _heard(window: Window, about: str = "", speaker: str = "") -> Steps[list[Row]]:
    """What was said about something, oldest first; only what holds every word, where anything does."""
    talk = yield from brought(Hear(about=about[:400], speaker=speaker[:100], from_us=window[0], to_us=window[1]), Related)
    rows = [msgspec.structs.replace(row, confidence=VERBATIM * row.confidence) for row in talk.rows]
    return [row for row in rows if row.confidence >= _EVERY_WORD * VERBATIM] or rows


def _related(window: Window | tuple[None, None], source: str = "", target: str = "", type_: str = "") -> Steps[Related]:
    either, (from_us, to_us) = type_ == TALKS_TO, window
    asked = Relate(source=source[:100], target=target[:100], type=type_, from_us=from_us, to_us=to_us, either=either)
    return (yield from brought(asked, Related))


def _actions(asked: Asked, window: Window) -> Steps[tuple[list[Row], str]]:
    """The rows of the most fitting type that has any, and what must be said about them."""
    for type_ in asked.types:
        found = yield from _related(window, asked.source, asked.target, type_)
        rows = [row for row in found.rows if row.confidence >= LEAST]
        exact = [row for row in rows if same_verb(asked.verb, row.quote)] if asked.verb else rows
        if rows:
            return exact or rows, "" if exact else f'nothing was said of "{asked.verb}"; this is when it was used or handled'
    mine = TALKS_TO in asked.types and ME in {asked.source, asked.target}
    if mine and not (yield from _related((None, None), ME, "", TALKS_TO)).rows:
        near = yield from _heard(window, speaker=_other(asked))
        return [row for row in near if row.source not in {"", "someone", ME}], _NOT_YOURS
    return [], ""


def _summary(s: Session, asked: Asked, rows: Sequence[Row], note: str = "") -> Reply:
    """What is wanted of the rows: the names, how often, when, or the words themselves."""
    if asked.wanted in {"who", "how_many", "what"}:
        return _named(s, asked, rows, note)
    occasions = _occasions(rows) if rows[0].type else [[row] for row in rows]
    if asked.wanted == "how_often":
        text = f"{times(len(occasions))}{_then(s)}: {listed(time_text(o[0].t0_us, s.question.tz) for o in occasions[:6])}."
        return _reply(s, text, rows, [o[0] for o in occasions], note)
    newest = (_ALL_TOLD if s.parsed.kind == "list" else _TOLD) if asked.wanted == "said" and not asked.ordinal else 1
    some = occasions[:1] if asked.ordinal == 1 else occasions[-newest:]
    chosen = [o[0 if asked.ordinal == 1 else -1] for o in some]
    first, *then = (_sentence(s, row) for row in chosen)
    text = " ".join(("Yes: " * (asked.wanted == "did") + first, *(f"{told[:1].upper()}{told[1:]}" for told in then)))
    more = len(occasions) - len(some)
    text += f" {more} other time{'s' if more != 1 else ''}{_then(s)}." if more and not asked.ordinal else ""
    return _reply(s, text, rows, [*chosen, *reversed(rows)], note)


def _named(s: Session, asked: Asked, rows: Sequence[Row], note: str) -> Reply:
    """Who it was, or what: the ends that the question leaves open, the most frequent first."""
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[_open_end(row, asked)].append(row)
    counts = {name: len(_occasions(own)) for name, own in groups.items() if name not in {"", "someone"}}
    names = sorted(counts, key=lambda name: -counts[name])
    if not names:
        return abstain(f"Somebody did, but I do not know who: {quote(rows[-1].quote)}.", evidence=cite(row.evidence for row in rows[::-1]))

    def how_often(name: str) -> str:
        last = time_text(groups[name][-1].t0_us, s.question.tz)
        return f"{_name(name)} ({f'{times(counts[name])}, last ' if counts[name] > 1 else ''}at {last})"

    said = f": {quote(groups[names[0]][0].quote, 200)}" if asked.about or asked.ordinal else ""
    number = f"{'at least ' * ('' in groups)}{len(names)}: " if asked.wanted == "how_many" else ""
    return _reply(
        s, f"{number}{listed(map(how_often, names[:6]))}{said}{_then(s)}.", rows, [groups[name][-1] for name in names], note, names
    )


def _reply(s: Session, text: str, rows: Sequence[Row], proof: Iterable[Row], note: str, names: Sequence[str] = ()) -> Reply:
    option = option_of(s, names or [row.quote for row in rows if not row.type])
    sure, evidence = max(row.confidence for row in rows), cite(row.evidence for row in proof)
    return answered(text[:1].upper() + text[1:], sure, evidence, option, notes=(note,) if note else ())


def _open_end(row: Row, asked: Asked) -> str:
    """The end that the question does not name. Talking goes both ways: who talked to me is whom I talked to."""
    known = set(words(asked.source or asked.target)) <= set(words(row.source)) if TALKS_TO in asked.types else bool(asked.source)
    return row.target if row.type and known else row.source


def _occasions(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows in time order, those close together as one occasion."""
    in_turn = sorted(rows, key=lambda r: (r.t0_us, r.t1_us))
    return runs(in_turn, lambda occasion, row: row.t0_us - max(r.t1_us for r in occasion) <= OCCASION_US)


def _name(name: str) -> str:
    return "you" if name == ME else name or "somebody"


def _other(asked: Asked) -> str:
    """Who is asked about beside the wearer, "" for nobody in particular."""
    return next((name for name in (asked.source, asked.target) if name != ME), "")


def _then(s: Session) -> str:
    """The time as the question said it."""
    return f" {s.parsed.time.said}" if s.parsed.time else ""


def _sentence(s: Session, row: Row) -> str:
    at = f"at {time_text(row.t0_us, s.question.tz)}"
    if not row.type:
        return f"{_name(row.source)} said {quote(row.quote, 200)} {at}."
    return f"{row_text(row)} {at}{f': {quote(row.quote, 160)}' if row.quote else ''}."


def _not_said(s: Session, asked: Asked) -> Maybe:
    """Nobody spoke, or another than the one asked about, or under no name: say so, and claim nothing."""
    if asks_voices(asked):
        return abstain(f"I heard nobody speak{_then(s)}.")
    if asked.wanted != "said":
        return None
    name = "you" if asked.source == ME else asked.source.title()
    if not asked.about:
        return abstain(f"I heard nothing being said{f' by {name}' if name else ''}{_then(s)}.")
    rows = [row for row in (yield from _heard(window_of(s), asked.about)) if row.confidence >= _EVERY_WORD * VERBATIM]
    if not rows or asked.source in {"", ME}:
        return None
    number = rows[-1].source.removeprefix("speaker ")
    notes = (f'if that was {name}, say so: edgemem name speaker:{number} "{name}" --memory DIR',) if number.isdecimal() else ()
    text = f"I know of nothing that {name} said about that; {_sentence(s, rows[-1])}"
    return abstain(text, *notes, evidence=cite(row.evidence for row in rows[::-1]))


def _company(s: Session, asked: Asked) -> Maybe:
    """People who talked, or were seen or spoken to, around the time in question or when something last went on."""
    window, when = window_of(s), _then(s)
    event = (yield from _happened(s, asked.about)) if asked.about else None
    if event is not None:
        window, when = (event.t0_us - NEAR_US, event.t1_us + NEAR_US), f" at {time_text(event.t0_us, s.question.tz)}"
    elif asked.about or window[0] is None:
        return None
    found, there = (yield from _related(window)), defaultdict[str, list[Row]](list)
    for row in (*found.rows, *(yield from _heard(window))):
        spoken_to = {row.target} if row.target_kind in PEOPLE and row.type != "MENTIONS" else set()
        for name in ({row.source} | spoken_to) - {"", "someone", ME}:
            there[name].append(row)
    names = sorted(there, key=lambda name: -sum(row.confidence for row in there[name]))
    proof = [event] if event is not None else []
    if not names:
        return abstain(f"I know of nobody who was there{when}.", evidence=cite(row.evidence for row in proof)) if found.known else None
    sure = min(*(row.confidence for row in proof), max(row.confidence for row in there[names[0]]), 1.0)
    text = f"{listed(map(_name, names[:6]))} {'was' if len(names) == 1 else 'were'} there{when}."
    return answered(text, sure, cite(row.evidence for row in (*(there[name][0] for name in names), *proof)), option_of(s, names))


def _happened(s: Session, about: str) -> Steps[Row | None]:
    """When something last went on, as it was done, else seen, else spoken of."""
    window, statement = window_of(s), read_statement(about)
    if statement is not None and (rows := (yield from _actions(statement, window))[0]):
        return rows[-1]
    lead = yield from look_for(noun_phrase(about), window)
    if is_shown(s.parsed, lead):
        last = strong(lead)[-1]
        return Row(source="", t0_us=last.t0_us, t1_us=last.t1_us, confidence=lead.confidence, quote="", evidence=last.evidence[0])
    return next(reversed((yield from _heard(window, about))), None)
