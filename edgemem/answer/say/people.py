"""Answers about people: who did what with what, who was there, who said what. Read from relations and utterances, never guessed.

An utterance counts as a row of the graph without a type: its source is the speaker, its quote what was said. None is returned where the
memory keeps nothing of the kind, so that the question is answered from pictures and signs instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from edgemem.answer.compose import listed, quote, time_text
from edgemem.answer.say.base import Steps, Window, abstain, answered, best_of, by_score, cite, look_for, strong, window_of
from edgemem.answer.say.statements import option_of
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.answer.tools_graph import PEOPLE, Hear, Relate, Related, Row
from edgemem.answer.understand.people import ME, TALKS_TO, Asked, read_statement, same_verb
from edgemem.answer.understand.phrases import noun_phrase
from edgemem.answer.understand.words import words
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
_NOBODY = frozenset(("", "someone"))
_NOT_YOURS = "I do not know which voice is yours; this was said near you"
_ONLY_HEARD = "no relations are kept; this is who was heard"


def relation(s: Session) -> Maybe:
    """Answer `session.parsed.asked`; None where the other plans may try."""
    asked = s.parsed.asked
    if asked is None:
        return None
    if asked.wanted == "with":
        return (yield from _company(s, asked))
    if not asked.types:
        rows = yield from _heard(window_of(s), asked.about, asked.source)
        return _summary(s, asked, rows) if rows else (yield from _not_said(s, asked))
    known, rows, note = yield from _actions(asked, window_of(s))
    if rows:
        return _summary(s, asked, rows, note)
    return (yield from _not_done(s, asked)) if known else None


def _heard(window: Window, about: str = "", speaker: str = "") -> Steps[list[Row]]:
    """What was said about something, oldest first; only what holds every word, where anything does."""
    talk = yield Hear(about=about[:400], speaker=speaker[:100], from_us=window[0], to_us=window[1])
    said = talk.rows if isinstance(talk, Related) else ()
    rows = [msgspec.structs.replace(row, confidence=VERBATIM * row.confidence) for row in said]
    return [row for row in rows if row.confidence >= _EVERY_WORD * VERBATIM] or rows


def _related(window: Window, asked: Asked | None = None, type_: str = "") -> Steps[Related]:
    source, target = (asked.source[:100], asked.target[:100]) if asked else ("", "")
    found = yield Relate(source=source, target=target, type=type_, from_us=window[0], to_us=window[1], either=type_ == TALKS_TO)
    return found if isinstance(found, Related) else Related()


def _actions(asked: Asked, window: Window) -> Steps[tuple[bool, list[Row], str]]:
    """Whether relations are kept, the rows of the most fitting type that has any, and what must be said about them."""
    known = False
    for type_ in asked.types:
        found = yield from _related(window, asked, type_)
        known = known or found.known
        rows, note = [row for row in found.rows if row.confidence >= LEAST], ""
        if not rows and type_ == TALKS_TO and ME in {asked.source, asked.target}:
            rows, note = yield from _near_me(asked, window)
        if rows and asked.verb:
            exact = [row for row in rows if same_verb(asked.verb, row.quote)]
            rows, note = exact or rows, "" if exact else f'nothing was said of "{asked.verb}"; this is when it was used or handled'
        if rows:
            return known, rows, note
    return known, [], ""


def _near_me(asked: Asked, window: Window) -> Steps[tuple[list[Row], str]]:
    """Who talked where the wearer's voice is not known: everybody near the camera, or the one who is asked about."""
    other = next((name for name in (asked.source, asked.target) if name not in {"", ME}), "")
    mine = yield from _related((None, None), Asked(wanted="who", source=ME), TALKS_TO)
    if mine.rows:
        return [], ""
    found = yield from _related(window, Asked(wanted="who", source=other), TALKS_TO)
    if found.known or asked.wanted == "how_often":
        return [row for row in found.rows if row.confidence >= LEAST], _NOT_YOURS
    heard = yield from _heard(window, speaker=other)
    return [row for row in heard if row.source not in _NOBODY | {ME}], _ONLY_HEARD


def _summary(s: Session, asked: Asked, rows: Sequence[Row], note: str = "") -> Reply:
    """What is wanted of the rows: the names, how often, when, or the words themselves."""
    if asked.wanted in {"who", "what"}:
        return _named(s, asked, rows, note)
    tz, occasions = s.question.tz, [[row] for row in rows] if not rows[0].type else _occasions(rows)
    many = f"{len(occasions)} time{'s' if len(occasions) != 1 else ''}"
    if asked.wanted == "how_often":
        lead = f"{_action_text(asked)} {many}" if asked.types else many
        text = f"{lead}{_then(s)}: {listed(time_text(o[0].t0_us, tz) for o in occasions[:6])}."
        return _reply(s, text, rows, [o[0] for o in occasions], note)
    newest = occasions if asked.ordinal == 1 else occasions[::-1]
    shown = newest[: 1 if asked.ordinal or asked.wanted != "said" else 4]
    chosen = sorted((o[0 if asked.ordinal == 1 else -1] for o in shown), key=lambda row: row.t0_us)
    order = {1: " first", -1: " last"}.get(asked.ordinal, "") if asked.types else ""
    text = " ".join(_sentence(s, asked, row, order) for row in chosen)
    more = len(occasions) - len(shown)
    text += f" {more} other time{'s' if more != 1 else ''}{_then(s)}." if more and not asked.ordinal else ""
    text = f"Yes: {text}" if asked.wanted == "did" else text
    return _reply(s, text, chosen if asked.types else rows, [*chosen, *(row for o in newest for row in o)], note)


def _named(s: Session, asked: Asked, rows: Sequence[Row], note: str) -> Reply:
    """Who it was, or what: the ends that the question leaves open, the most frequent first."""
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for name in (row.source, row.target) if note == _NOT_YOURS else (_open_end(row, asked),):
            groups[name].append(row)
    names = sorted((n for n in groups if n not in _NOBODY and (n != ME or not rows[0].type)), key=lambda n: -len(_occasions(groups[n])))
    if not names:
        text = f"Somebody did, but I do not know who: {quote(rows[-1].quote)}."
        return abstain(text, evidence=_ids(rows[::-1]))

    def how_often(name: str) -> str:
        count, last = len(_occasions(groups[name])), time_text(groups[name][-1].t0_us, s.question.tz)
        return f"{_name(name)} ({f'{count} times, last ' if count > 1 else ''}at {last})"

    told = listed(how_often(name) for name in names[:6])
    if not rows[0].type:
        told += " spoke near you" if asked.types else f": {quote(groups[names[0]][0].quote, 200)}"
    elif TALKS_TO in asked.types:
        told = f"{_name(asked.source, 'You')} talked to {told}" if asked.source else f"{told} talked to {_name(asked.target)}"
    elif asked.source:
        told = f"{_action_text(asked)}: {told}"
    return _reply(s, f"{told}{_then(s)}.", rows, [groups[name][-1] for name in names], note, names)


def _reply(s: Session, text: str, rows: Sequence[Row], proof: Iterable[Row], note: str, names: Sequence[str] = ()) -> Reply:
    texts = names or [row.quote for row in rows if not row.type]
    sure = max(row.confidence for row in rows) if not rows[0].type else _at_least_one(row.confidence for row in rows)
    return answered(text[:1].upper() + text[1:], min(0.95, sure), _ids(proof), option_of(s, texts), notes=(note,) if note else ())


def _open_end(row: Row, asked: Asked) -> str:
    """The end that the question does not name. Talking goes both ways: who talked to me is whom I talked to."""
    if not row.type:
        return row.source
    known = set(words(asked.source or asked.target)) <= set(words(row.source)) if TALKS_TO in asked.types else bool(asked.source)
    return row.target if known else row.source


def _occasions(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows in time order, those close together as one occasion."""
    groups: list[list[Row]] = []
    for row in sorted(rows, key=lambda r: (r.t0_us, r.t1_us)):
        if groups and row.t0_us - max(r.t1_us for r in groups[-1]) <= OCCASION_US:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _at_least_one(confidences: Iterable[float]) -> float:
    """That at least one holds: the rows are not independent, so a second one removes only part of the doubt."""
    doubt = 1.0
    for rank, confidence in enumerate(sorted(confidences, reverse=True)[:4]):
        doubt *= 1 - confidence / (1 + rank)
    return 1 - doubt


def _ids(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.evidence.id for row in rows))[:10]


def _name(name: str, me: str = "you") -> str:
    return me if name == ME else name.title() if name.islower() else name or "somebody"


def _then(s: Session) -> str:
    """The time as the question said it."""
    return f" {s.parsed.time.said}" if s.parsed.time else ""


def _action_text(asked: Asked) -> str:
    """Such as "you used the drill"."""
    if TALKS_TO in asked.types:
        return f"{_name(asked.source)} talked to {_name(asked.target)}"
    verb = _PAST.get(asked.verb, f"{asked.verb.rstrip('e')}ed" if asked.verb else "used")
    return f"{_name(asked.source)} {verb} {'you' if asked.target == ME else asked.target}".strip()


_PAST = {
    "drink": "drank", "eat": "ate", "drive": "drove", "ride": "rode", "wear": "wore", "hold": "held", "cut": "cut", "make": "made",
    "feed": "fed", "buy": "bought", "meet": "met", "pick up": "picked up", "turn on": "turned on or off", "carry": "carried",
}  # fmt: skip


def _sentence(s: Session, asked: Asked, row: Row, order: str) -> str:
    at = time_text(row.t0_us, s.question.tz)
    if not row.type:
        return f"{_name(row.source, 'you')} said {quote(row.quote, 200)} at {at}."
    return f"{_action_text(asked)}{order} at {at}{f': {quote(row.quote, 160)}' if row.quote else ''}."


def _not_done(s: Session, asked: Asked) -> Maybe:
    """Nothing is known of it; that proves nothing. Of a thing that was seen that is said, and no more."""
    if TALKS_TO in asked.types or not asked.target or s.parsed.time or asked.wanted in {"how_often", "what"}:
        return abstain(f"I know nothing of this{_then(s)}: {_action_text(asked)}.")
    lead = yield from look_for(asked.target, window_of(s))
    if not is_shown(s.parsed, lead):
        return None
    best = max(lead.episodes, key=lambda e: e.t1_us) if asked.ordinal == -1 else best_of(lead)
    text = f"I have nothing that says so; I saw the {lead.phrase} at {time_text(best.t0_us, s.question.tz)}."
    return abstain(text, evidence=cite(by_score(lead.episodes)[:3]))


def _not_said(s: Session, asked: Asked) -> Maybe:
    """Nobody spoke of it, or another than the one asked about, or under no name: say so, and claim nothing."""
    if not asked.source and not asked.about and window_of(s) != (None, None):
        ever = yield from _heard((None, s.question.as_of_us))
        return abstain(f"I heard nothing being said{_then(s)}.") if ever else None
    if asked.source in {"", ME} or not asked.about or asked.wanted != "said":
        return None
    rows = [row for row in (yield from _heard(window_of(s), asked.about)) if row.confidence >= _EVERY_WORD * VERBATIM]
    if not rows:
        return None
    name, number = _name(asked.source), rows[-1].source.removeprefix("speaker ")
    notes = (f'if that was {name}, say so: edgemem name speaker:{number} "{name}" --memory DIR',) if number.isdecimal() else ()
    text = f"I know of nothing that {name} said about that; {_sentence(s, asked, rows[-1], '')}"
    return abstain(text, *notes, evidence=_ids(rows[::-1]))


def _company(s: Session, asked: Asked) -> Maybe:
    """People who talked, or were seen or spoken to, around the time in question."""
    windows, happened = [window_of(s)], list[tuple[str, int, int, float]]()
    if asked.about:
        happened = (yield from _happened(s, asked.about))[-3:]
        windows = [(t0_us - NEAR_US, t1_us + NEAR_US) for _, t0_us, t1_us, _ in happened]
    if not windows or windows == [(None, None)]:
        return None
    there: defaultdict[str, list[Row]] = defaultdict(list)
    known = False
    for window in windows:
        found = yield from _related(window)
        known = known or found.known
        for row in (*found.rows, *(yield from _heard(window))):
            others = (row.target,) if row.target_kind in PEOPLE and row.type != "MENTIONS" else ()
            for name in {row.source, *others} - _NOBODY - {ME}:
                there[name].append(row)
    names = sorted(there, key=lambda name: -sum(row.confidence for row in there[name]))
    proof = tuple(one for one, *_ in happened)
    if not names:
        return abstain(f"I know of nobody who was there{_then(s)}.", evidence=proof) if known else None
    at = f" at {time_text(happened[0][1], s.question.tz)}" if happened else _then(s)
    sure = max((one[3] for one in happened), default=1.0) * min(0.9, _at_least_one(row.confidence for n in names for row in there[n]))
    text = f"{listed(map(_name, names[:6]))} {'was' if len(names) == 1 else 'were'} there{at}."
    return answered(text, sure, (*_ids(there[name][0] for name in names), *proof)[:10], option_of(s, names))


def _happened(s: Session, about: str) -> Steps[list[tuple[str, int, int, float]]]:
    """When something went on, as it was done, else seen, else spoken of: evidence, begin, end and confidence, oldest first."""
    window = window_of(s)
    statement = read_statement(about)
    rows = (yield from _actions(statement, window))[1] if statement is not None else []
    if not rows:
        lead = yield from look_for(noun_phrase(about), window)
        if is_shown(s.parsed, lead):
            return [(e.best.id, e.t0_us, e.best.t1_us, lead.confidence) for e in strong(lead)]
        rows = yield from _heard(window, about)
    return [(row.evidence.id, row.t0_us, row.evidence.t1_us, row.confidence) for row in rows]
