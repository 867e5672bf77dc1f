"""Plans for questions about people: who, when, how often, what was said. Read from the graph and from utterances, never guessed.

Each plan returns None where the memory keeps nothing of the kind, so that the question is answered from pictures and signs instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

from edgemem.answer.compose import listed, quote, time_text
from edgemem.answer.say.base import Steps, Window, answered, best_of, by_score, cite, look_for, strong, window_of
from edgemem.answer.say.people_words import (
    NOBODY,
    Item,
    action_text,
    as_related,
    as_talk,
    at_least_one,
    grouped,
    ids_of,
    items_of,
    object_text,
    occasions_of,
    option_of,
    person_text,
    proof_text,
    speaker_text,
    subject_text,
    sure_of,
    time_said,
    times_text,
    when_said,
)
from edgemem.answer.session import Session
from edgemem.answer.tools import Reply
from edgemem.answer.tools_graph import PEOPLE, Hear, Relate, Related, Row
from edgemem.answer.understand.people import ME, TALKS_TO, Asked, read_statement, same_verb
from edgemem.answer.understand.phrases import noun_phrase
from edgemem.answer.understand.words import words
from edgemem.answer.weigh import is_shown
from edgemem.records import US, Evidence

T = TypeVar("T")
Maybe = Steps["Reply | None"]

NEAR_US = 120 * US
"""Who spoke or was seen this close to what went on was there."""
LEAST = 0.25
"""Below this confidence nothing is claimed."""
_ANY_ROW = 0.9
"""Confidence in a verbatim utterance that holds every word asked about, heard with certainty."""


def relation(s: Session) -> Maybe:
    """Answer `session.parsed.asked`; None where nothing of the kind is kept and the other plans may try."""
    asked = s.parsed.asked
    if asked is None:
        return None
    if asked.wanted == "said":
        return (yield from _said(s, asked))
    if asked.wanted == "with":
        return (yield from _with(s, asked))
    if not asked.types:
        return (yield from _spoke_of(s, asked))
    return (yield from _done(s, asked))


# ------------------------------------------------------------------------------------------------------------ what was done


def _done(s: Session, asked: Asked) -> Maybe:
    known, rows, notes = yield from _rows(asked, window_of(s))
    if not known.known and TALKS_TO in asked.types:
        return (yield from _heard_nearby(s, asked))
    if not known.known or (not rows and asked.wanted != "how_often" and not _about_people(asked) and not s.parsed.time and not known.rows):
        seen = None if not known.known else (yield from _only_seen(s, asked))
        return seen
    if not rows:
        return _none(s, asked)
    if asked.wanted in {"who", "what"}:
        return _ends(s, asked, rows, notes)
    occasions = occasions_of(rows)
    if asked.wanted == "how_often":
        times = f"{len(occasions)} time{'s' if len(occasions) != 1 else ''}"
        text = f"{action_text(asked)} {times}{time_said(s)}: {listed(time_text(o[0].t0_us, s.question.tz) for o in occasions[:6])}."
        return answered(text, sure_of(rows), ids_of(o[0].evidence for o in occasions), notes=notes)
    chosen = occasions[0][0] if asked.ordinal == 1 else occasions[-1][-1]
    order = {1: " first", -1: " last"}.get(asked.ordinal, "")
    action = action_text(asked)
    if asked.wanted == "did":
        action = f"Yes, {action[:1].lower() if action.startswith(('You ', 'Somebody ')) else action[:1]}{action[1:]}"
    text = f"{action}{order} at {time_text(chosen.t0_us, s.question.tz)}{proof_text(chosen)}."
    more = len(occasions) - 1
    text += f" {more} other time{'s' if more != 1 else ''}{time_said(s)}." if more and not asked.ordinal else ""
    rest = (row.evidence for occasion in reversed(occasions) for row in occasion)
    return answered(text[:1].upper() + text[1:], sure_of([chosen]), ids_of([chosen.evidence, *rest]), notes=notes)


def _rows(asked: Asked, window: Window) -> Steps[tuple[Related, list[Row], tuple[str, ...]]]:
    """Rows of the most fitting relation type that has any; those that quote the verb, where it was said and any do."""
    notes: tuple[str, ...] = ()
    found = Related()
    for type_ in asked.types:
        source, target = asked.source, asked.target
        found = as_related((yield _relate(source, target, (type_,), window, either=type_ == TALKS_TO)))
        rows = [row for row in found.rows if row.confidence >= LEAST]
        if not rows and type_ == TALKS_TO and ME in {source, target}:
            rows, notes = yield from _near_me(window, target if source == ME else source)
        if rows and asked.verb and any(same_verb(asked.verb, row.quote) for row in rows):
            rows = [row for row in rows if same_verb(asked.verb, row.quote)]
        elif rows and asked.verb:
            notes = (f'nothing was said of "{asked.verb}"; this is when it was used or handled',)
        if rows:
            return found, rows, notes
    return found, [], notes


def _near_me(window: Window, other: str) -> Steps[tuple[list[Row], tuple[str, ...]]]:
    """Who talked, when the wearer's voice is not known: everybody heard near the camera, or the one who is asked about."""
    mine = as_related((yield _relate(ME, "", (TALKS_TO,), (None, None), either=True)))
    if mine.rows:
        return [], ()
    heard = as_related((yield _relate(other, "", (TALKS_TO,), window, either=True)))
    rows = [row for row in heard.rows if row.confidence >= LEAST]
    return rows, (f"I do not know which voice is yours; {'this was said' if other else 'these people talked'} near you",) if rows else ()


def _relate(source: str, target: str, types: tuple[str, ...], window: Window, *, either: bool = False) -> Relate:
    return Relate(source=source[:100], target=target[:100], types=types, from_us=window[0], to_us=window[1], either=either)


def _ends(s: Session, asked: Asked, rows: Sequence[Row], notes: tuple[str, ...]) -> Reply:
    """Who it was, or what: the ends of the rows that the question leaves open, the most frequent first."""
    names = grouped((_open_end(row, asked), row) for row in rows)
    if notes:
        names = grouped((name, row) for row in rows for name in (row.source, row.target))
    items = [item for item in items_of(names) if item.name not in NOBODY | {ME}]
    if not items:
        return _none(s, asked)
    said = listed(f"{person_text(item.name)} ({times_text(item, s)})" for item in items[:6])
    verb = {"who": "talked to" if asked.source else "talked"}.get(asked.wanted, "")
    lead = _lead(asked, verb)
    return answered(
        f"{lead}{said}{time_said(s)}.", sure_of(rows), ids_of(item.proofs[-1] for item in items), option_of(s, items), notes=notes
    )


def _heard_nearby(s: Session, asked: Asked) -> Maybe:
    """Who talked to whom where no relations are kept: those who were heard, if they are the ones asked about."""
    other = next((name for name in (asked.source, asked.target) if name not in {"", ME}), "")
    window = window_of(s)
    said = sorted(as_talk((yield Hear(speaker=other[:100], from_us=window[0], to_us=window[1]))).said, key=when_said)
    names = grouped((one.speaker, one) for one in said if one.speaker not in NOBODY | {ME})
    if not names or asked.wanted == "how_often":
        return None
    last = said[0] if asked.ordinal == 1 else said[-1]
    notes = ("no relations are kept; this is who was heard",)
    text = f"{listed(names)} spoke near you{time_said(s)}, last at {time_text(last.t0_us, s.question.tz)}: {quote(last.text, 160)}."
    items = [Item(name=n, confidence=0.5, proofs=tuple(o.evidence for o in ones), t0_us=ones[0].t0_us) for n, ones in names.items()]
    return answered(text, 0.5, ids_of([last.evidence, *(ones[-1].evidence for ones in names.values())]), option_of(s, items), notes=notes)


def _open_end(row: Row, asked: Asked) -> str:
    """The end that the question does not name. Talking goes both ways: who talked to me is whom I talked to."""
    known = asked.source or asked.target
    known_is_source = set(words(known)) <= set(words(row.source)) if TALKS_TO in asked.types else bool(asked.source)
    return row.target if known_is_source else row.source


def _lead(asked: Asked, verb: str) -> str:
    if TALKS_TO in asked.types:
        return f"{subject_text(asked.source)} {verb} " if asked.source else f"To {object_text(asked.target)} {verb} "
    return f"{action_text(asked)}: " if asked.source else ""


def _only_seen(s: Session, asked: Asked) -> Maybe:
    """It was seen, but nobody is known to have used it: say both, and claim nothing."""
    if not asked.target:
        return None
    lead = yield from look_for(asked.target, window_of(s))
    if not is_shown(s.parsed, lead):
        return None
    best = max(lead.episodes, key=lambda e: e.t1_us) if asked.ordinal == -1 else best_of(lead)
    text = f"I have nothing that says so; I saw the {lead.phrase} at {time_text(best.t0_us, s.question.tz)}."
    return Reply(text=text, status="abstained", confidence=0.5 * LEAST, evidence=cite(by_score(lead.episodes)[:3]))


def _about_people(asked: Asked) -> bool:
    return TALKS_TO in asked.types or asked.wanted == "what"


def _none(s: Session, asked: Asked) -> Reply:
    """Nothing is known of it; that proves nothing."""
    when = f" {s.parsed.time.said}" if s.parsed.time else ""
    talking = TALKS_TO in asked.types and asked.wanted != "what"
    target = subject_text(asked.target) if talking and asked.target != ME else object_text(asked.target)
    what = {"who": "anybody", "what": "anything"}.get(asked.wanted, target or "that")
    who = subject_text(asked.source) if asked.source not in {"", ME} else subject_text(asked.source).lower()
    action = "talking to" if talking else f"that {who} used"
    return Reply(text=f"I know nothing of {action} {what}{when}.", status="abstained", confidence=0.0)


# ------------------------------------------------------------------------------------------------------------- who was there


def _with(s: Session, asked: Asked) -> Maybe:
    """People who talked, or were seen or spoken to, around the time in question."""
    windows, proof, sure = [window_of(s)], tuple[Evidence, ...](), 1.0
    if asked.about:
        happened = yield from _happened(s, asked.about)
        if not happened:
            return None
        proof, sure = tuple(item.proofs[0] for item in happened[-3:]), max(item.confidence for item in happened)
        windows = [(item.t0_us - NEAR_US, item.proofs[0].t1_us + NEAR_US) for item in happened[-3:]]
    elif windows == [(None, None)]:
        return None
    people: list[tuple[str, Evidence, float]] = []
    known = False
    for window in windows:
        found = as_related((yield Relate(from_us=window[0], to_us=window[1])))
        known = known or found.known
        people += [(name, row.evidence, row.confidence) for row in found.rows for name in _there(row)]
        talk = yield Hear(from_us=window[0], to_us=window[1])
        people += [(one.speaker, one.evidence, 0.9) for one in as_talk(talk).said]
    grouped: defaultdict[str, list[tuple[Evidence, float]]] = defaultdict(list)
    for name, evidence, confidence in people:
        grouped[name].append((evidence, confidence))
    named = sorted((name for name in grouped if name not in NOBODY | {ME}), key=lambda n: -sum(c for _, c in grouped[n]))
    if not named:
        when = f" {s.parsed.time.said}" if s.parsed.time else ""
        return (
            Reply(text=f"I know of nobody who was there{when}.", status="abstained", confidence=0.0, evidence=ids_of(proof))
            if known
            else None
        )
    ids = ids_of([*(grouped[name][0][0] for name in named), *proof])
    items = [
        Item(name=n, confidence=grouped[n][0][1], proofs=(grouped[n][0][0],), t0_us=grouped[n][0][0].t0_us, count=len(grouped[n]))
        for n in named
    ]
    verb = "was" if len(named) == 1 else "were"
    at = f" at {time_text(proof[0].t0_us, s.question.tz)}" if proof else time_said(s)
    confidence = sure * min(0.9, at_least_one(c for name in named for _, c in grouped[name]))
    return answered(f"{listed(person_text(n) for n in named[:6])} {verb} there{at}.", confidence, ids, option_of(s, items))


def _there(row: Row) -> tuple[str, ...]:
    """Who a row shows to be present: who talks or acts and who is talked to, not who is only mentioned."""
    others = (row.target,) if row.target_kind in PEOPLE and row.type != "MENTIONS" else ()
    return tuple(name for name in (row.source, *others) if name not in NOBODY)


def _happened(s: Session, about: str) -> Steps[list[Item]]:
    """When something went on: as a relation, else as it was seen, else as it was spoken of; oldest first."""
    window = window_of(s)
    statement = read_statement(about)
    if statement is not None:
        _, rows, _ = yield from _rows(statement, window)
        if rows:
            return [Item(name=about, confidence=row.confidence, proofs=(row.evidence,), t0_us=row.t0_us) for row in rows]
    lead = yield from look_for(noun_phrase(about), window)
    if is_shown(s.parsed, lead):
        return [Item(name=about, confidence=lead.confidence, proofs=(e.best,), t0_us=e.t0_us) for e in strong(lead)]
    talk = as_talk((yield Hear(about=about[:400], from_us=window[0], to_us=window[1])))
    return [
        Item(name=about, confidence=0.8 * one.score, proofs=(one.evidence,), t0_us=one.t0_us) for one in sorted(talk.said, key=when_said)
    ]


# ------------------------------------------------------------------------------------------------------------- what was said


def _said(s: Session, asked: Asked) -> Maybe:
    """Quotes of a speaker, or of anyone, about something."""
    window = window_of(s)
    talk = as_talk((yield Hear(about=asked.about[:400], speaker=asked.source[:100], from_us=window[0], to_us=window[1])))
    if not talk.said:
        return (yield from _said_by_another(s, asked))
    best = max(one.score for one in talk.said)
    chosen = [one for one in talk.said if one.score >= 0.8 * best] if asked.about else list(talk.said)
    chosen.sort(key=when_said, reverse=asked.ordinal != 1)
    shown = sorted(chosen[:1] if asked.ordinal else chosen[:4], key=when_said)
    text = " ".join(f"{speaker_text(one)} said {quote(one.text, 200)} at {time_text(one.t0_us, s.question.tz)}." for one in shown)
    more = len(chosen) - len(shown)
    text += f" {more} more." if more and not asked.ordinal else ""
    confidence = _ANY_ROW * best * (1.0 if asked.source or not asked.about else 0.95)
    items = [Item(name=one.text, confidence=one.score, proofs=(one.evidence,), t0_us=one.t0_us) for one in chosen]
    return answered(text, confidence, ids_of(one.evidence for one in [*shown, *chosen]), option_of(s, items, phrases=True))


def _said_by_another(s: Session, asked: Asked) -> Maybe:
    """Somebody spoke of it, but not the one asked about, or under no name, or at another time: say so, and claim nothing."""
    window = window_of(s)
    if not asked.source and not asked.about and window != (None, None):
        ever = as_talk((yield Hear(to_us=s.question.as_of_us, limit=1)))
        return Reply(text=f"I heard nothing being said{time_said(s)}.", status="abstained", confidence=0.0) if ever.said else None
    if asked.source in {"", ME} or not asked.about:
        return None
    talk = as_talk((yield Hear(about=asked.about[:400], from_us=window[0], to_us=window[1])))
    said = sorted((one for one in talk.said if one.score >= 0.99), key=when_said)
    if not said:
        return None
    one, name = said[-1], subject_text(asked.source)
    at = time_text(one.t0_us, s.question.tz)
    text = f"I know of nothing that {name} said about that; {speaker_text(one)} said {quote(one.text, 200)} at {at}."
    number = one.speaker.removeprefix("speaker ")
    notes = (f'if that was {name}, say so: edgemem name speaker:{number} "{name}" --memory DIR',) if number.isdecimal() else ()
    ids = ids_of(each.evidence for each in reversed(said))
    return Reply(text=text, status="abstained", confidence=0.5 * LEAST, evidence=ids, notes=notes)


def _spoke_of(s: Session, asked: Asked) -> Maybe:
    """Who spoke of something, when, how often, whether at all."""
    window = window_of(s)
    talk = as_talk((yield Hear(about=asked.about[:400], speaker=asked.source[:100], from_us=window[0], to_us=window[1])))
    said = sorted((one for one in talk.said if one.score >= 0.99), key=when_said) or sorted(talk.said, key=when_said)
    if not said:
        return None
    confidence = _ANY_ROW * max(one.score for one in said)
    ids = ids_of(one.evidence for one in (said if asked.ordinal != -1 else reversed(said)))
    tz = s.question.tz
    if asked.wanted == "who":
        names = grouped((one.speaker, one) for one in said if one.speaker not in NOBODY)
        if not names:
            return Reply(
                text=f"Somebody did, but I do not know the voice: {quote(said[0].text)}.", status="abstained", confidence=0.2, evidence=ids
            )
        items = [
            Item(name=n, confidence=confidence, proofs=tuple(o.evidence for o in ones), t0_us=ones[0].t0_us) for n, ones in names.items()
        ]
        first = next(iter(names.values()))[0]
        text = f"{listed(person_text(name) for name in names)}: {quote(first.text, 200)} at {time_text(first.t0_us, tz)}."
        return answered(text, confidence, ids, option_of(s, items))
    if asked.wanted == "how_often":
        return answered(
            f"{len(said)} time{'s' if len(said) != 1 else ''}{time_said(s)}, first at {time_text(said[0].t0_us, tz)}.", confidence, ids
        )
    one = said[0] if asked.ordinal == 1 else said[-1]
    lead = "Yes: " if asked.wanted == "did" else ""
    return answered(f"{lead}{speaker_text(one)} said {quote(one.text, 200)} at {time_text(one.t0_us, tz)}.", confidence, ids)
