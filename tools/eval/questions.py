"""Questions about a composed stream with exact answers, in wordings of different people.

A phrase is true of every segment that has it as a tag, including hypernyms, so "a bird" has as many answers as birds were shown. Things
that are asked as never shown have no tag of anything in the whole stream.
"""

import random
import re
from collections.abc import Callable
from datetime import datetime

import msgspec
from media import Item
from segment import Segment
from signs import make_sign
from world import Question, Span, World, words_of

SHARE_UNANSWERABLE = 0.15
AS_OF_AFTER_S = 90.0  # questions are asked this long after the end by default

Draft = dict[str, object]
Maker = Callable[[random.Random, World], "Draft | None"]


def _when(rng: random.Random, world: World) -> Draft | None:
    p = world.thing(rng)
    text = rng.choice([
        f"When did I see {p.the}?", f"What time was it when {p.the} showed up?", f"At what time was {p.the} in view?",
        f"When was there {p.a}?", f"what time did i see {p.a}", f"Can you tell me when I came across {p.the}?",
    ])  # fmt: skip
    return {"text": text, "difficulty": p.difficulty, "check": "time", "spans": world.spans(p.words)}


def _where(rng: random.Random, world: World) -> Draft | None:
    scenes = [segment for segment in world.content if segment.what == "scene"]
    p = world.phrase(rng, rng.choice(rng.choice(scenes).things))
    spans = world.spans(p.words)
    places = [s for s in world.segments if p.words.lower() in s.tags and s.background]
    accept = [word for s in places for word in (*s.background.ask, *s.background.kinds)]  # type: ignore[union-attr]
    accept += [line for s in places if s.sign and s.sign.place for line in s.sign.lines]
    text = rng.choice([
        f"Where did I see {p.the}?", f"Where did I leave {p.the}?", f"Where was {p.the}?", f"Where was I when I saw {p.the}?",
        f"In which place was there {p.a}?", f"where is {p.the}",
    ])  # fmt: skip
    return {"text": text, "difficulty": p.difficulty, "check": "place", "accept": tuple(accept), "spans": spans}


def _what_at(rng: random.Random, world: World) -> Draft | None:
    segment = rng.choice([s for s in world.content if s.what != "sign"])
    at_s = rng.uniform(segment.t0 + 1, segment.t1 - 1)
    minutes, seconds = divmod(int(at_s), 60)
    text = rng.choice([
        f"What was I looking at at {world.clock(at_s)}?", f"What was in front of me at {world.clock(at_s)}?",
        f"What could be seen at {world.clock(at_s)}?", f"What was on screen at 00:{minutes:02}:{seconds:02}?",
        f"What was there {minutes} minutes and {seconds} seconds into the recording?",
    ])  # fmt: skip
    return {"text": text, "check": "text", "accept": words_of(segment), "spans": ((segment.t0, segment.t1),)}


def _sign(rng: random.Random, world: World) -> Draft | None:
    if not world.signs:
        return None
    asks = [(text, answer, s) for s in world.signs if s.sign for text, answer in s.sign.asks]
    for s in world.signs:
        if s.sign and sum(o.sign is not None and o.sign.colour == s.sign.colour for o in world.signs) == 1:
            said = max(s.sign.lines, key=len)
            asks += [(f"What did the {s.sign.colour} sign say?", said, s), (f"What was written on the {s.sign.colour} sign?", said, s)]
        for item in s.things:
            if s.sign and len(world.spans(item.name)) == 1:
                asks.append((f"What did the sign next to the {item.name} say?", s.sign.lines[0], s))
    text = rng.choice(asks)[0]
    same = [(answer, s) for other, answer, s in asks if other == text]
    kind = "who" if text.lower().startswith("who") else "what"
    accept = tuple(dict.fromkeys(answer for answer, _ in same))
    return {"text": text, "kind": kind, "check": "text", "accept": accept, "spans": tuple((s.t0, s.t1) for _, s in same)}


def _next(world: World, at_s: float, words: str, step: int) -> Segment | None:
    """The nearest segment with something to see after (step 1) or before (-1) a time, other than the anchor itself."""
    side = [s for s in world.content if (s.t0 >= at_s if step > 0 else s.t1 <= at_s) and words.lower() not in s.tags]
    return (side[0] if step > 0 else side[-1]) if side else None


def _around(rng: random.Random, world: World) -> Draft | None:
    anchor, step = world.once(rng), rng.choice([1, -1])
    if anchor is None:
        return None
    p, span = anchor
    segment = _next(world, span[1] if step > 0 else span[0], p.words, step)
    if segment is None:
        return None
    side = "after" if step > 0 else "before"
    text = rng.choice([
        f"What did I see right {side} {p.the}?", f"What came just {side} {p.the}?",
        f"What was the thing I saw directly {side} {p.the}?", f"What was in view immediately {side} I saw {p.the}?",
    ])  # fmt: skip
    return {"text": text, "kind": side, "difficulty": p.difficulty, "check": "text",
            "accept": words_of(segment), "spans": ((segment.t0, segment.t1),)}  # fmt: skip


def _between(rng: random.Random, world: World) -> Draft | None:
    for _ in range(30):
        a, b = world.once(rng), world.once(rng)
        if a is None or b is None or a[1][1] >= b[1][0]:
            continue
        inside = [s for s in world.content if s.t0 >= a[1][1] and s.t1 <= b[1][0]]
        if 1 <= len(inside) <= 3:
            text = rng.choice(
                [f"What did I see between {a[0].the} and {b[0].the}?", f"What was there after {a[0].the} and before {b[0].the}?"]
            )
            accept = tuple(word for s in inside for word in words_of(s))
            return {"text": text, "check": "text", "accept": accept, "spans": tuple((s.t0, s.t1) for s in inside)}
    return None


def _with_options(rng: random.Random, right: str, wrong: list[str], draft: Draft) -> Draft | None:
    wrong = [word for word in dict.fromkeys(wrong) if word.lower() != right.lower()][:3]
    if len(wrong) < 2:
        return None
    options = rng.sample([right, *wrong], len(wrong) + 1)
    return {**draft, "kind": "option", "check": "option", "options": tuple(options), "option": options.index(right)}


def _option_seen(rng: random.Random, world: World) -> Draft | None:
    p = world.thing(rng, plain=True)
    text = rng.choice(["Which of these did I see?", "Which of the following was in view?", "Which one have I come across?"])
    draft: Draft = {"text": text, "difficulty": p.difficulty, "spans": world.spans(p.words)}
    return _with_options(rng, p.words, [world.never(rng).words for _ in range(6)], draft)


def _option_order(rng: random.Random, world: World) -> Draft | None:
    last = rng.random() < 0.4
    firsts: dict[str, Span] = {}
    for _ in range(12):
        p = world.thing(rng, plain=True)
        span = world.spans(p.words)[-1 if last else 0]
        if span not in firsts.values() and not any(p.words.lower() in w.lower() or w.lower() in p.words.lower() for w in firsts):
            firsts[p.words] = span
    names = sorted(list(firsts)[:4], key=lambda words: firsts[words][0], reverse=last)
    if len(names) < 3:
        return None
    which = "last" if last else "first"
    text = rng.choice([f"Which of these did I see {which}?", f"Which one of these things came {which}?"])
    return _with_options(rng, names[0], names[1:], {"text": text, "spans": (firsts[names[0]],)})


def _option_next(rng: random.Random, world: World) -> Draft | None:
    anchor = world.once(rng)
    segment = anchor and _next(world, anchor[1][1], anchor[0].words, 1)
    if not anchor or not segment or not segment.things:
        return None
    others = [item.name for item in rng.sample(world.shown, len(world.shown))]
    wrong = [name for name in others if name.lower() not in segment.tags and name != anchor[0].words]
    draft: Draft = {
        "text": f"What did I see right after {anchor[0].the}?",
        "difficulty": anchor[0].difficulty,
        "spans": ((segment.t0, segment.t1),),
    }
    return _with_options(rng, segment.things[0].name, wrong, draft)


def _option_place(rng: random.Random, world: World) -> Draft | None:
    anchor = world.once(rng)
    here = [s for s in world.segments if anchor and s.background and s.t0 >= anchor[1][0] and s.t1 <= anchor[1][1]]
    if not anchor or not here or not here[0].background:
        return None
    places = [
        item.name for item in rng.sample(world.catalog, len(world.catalog)) if item.role == "background" and not item.tags & here[0].tags
    ]
    draft: Draft = {"text": f"What was behind {anchor[0].the}?", "difficulty": anchor[0].difficulty, "spans": (anchor[1],)}
    return _with_options(rng, here[0].background.name, places, draft)


def _option_sign(rng: random.Random, world: World) -> Draft | None:
    draft = _sign(rng, world)
    if not draft or len(accept := msgspec.convert(draft["accept"], tuple[str, ...])) != 1:
        return None
    # The wrong options are the answers to the same question about other signs with the same wording.
    stem = re.sub(r"[^a-z]+", " ", str(draft["text"]).lower()).split()[:3]
    wrong = [answer for _ in range(300) for text, answer in make_sign(rng, place=rng.random() < 0.5).asks
             if re.sub(r"[^a-z]+", " ", text.lower()).split()[:3] == stem]  # fmt: skip
    return _with_options(rng, accept[0], wrong, draft)


COLOURS = ["red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "grey"]


def _colour(rng: random.Random, world: World) -> Draft | None:
    items = [i for i in world.shown if i.colour and all(o.colour == i.colour for o in world.shown if i.name.lower() in o.tags)]
    items = [i for i in items if i.colour not in i.name.split() and i.name not in COLOURS]
    if not items:
        return None
    item = rng.choice(items)
    spans = world.spans(item.name)
    text = rng.choice(
        [f"What colour was the {item.name}?", f"What color is the {item.name} I saw?", f"Which colour did the {item.name} have?"]
    )
    accept = (item.colour, *({"grey": ("gray",), "purple": ("violet",)}.get(item.colour, ())))
    draft: Draft = {"text": text, "kind": "colour", "check": "text", "accept": accept, "spans": spans}
    if rng.random() < 0.4:
        return _with_options(rng, item.colour, rng.sample(COLOURS, 6), draft)
    return draft


def _count(rng: random.Random, world: World) -> Draft | None:
    repeated = [item for item in world.shown if len(world.spans(item.name)) > 1]
    p = world.phrase(rng, rng.choice(repeated), plain=True) if repeated and rng.random() < 0.7 else world.thing(rng, plain=True)
    spans = world.spans(p.words)
    text = rng.choice([f"How many times did I see {p.the}?", f"How often did {p.the} appear?", f"how many times was there {p.a}"])
    return {"text": text, "difficulty": p.difficulty, "check": "count", "count": len(spans), "spans": spans}


def _first_last(rng: random.Random, world: World) -> Draft | None:
    p, last = world.thing(rng), rng.random() < 0.5
    which, spans = ("last" if last else "first"), world.spans(p.words)
    text = rng.choice([
        f"When did I {which} see {p.a}?", f"When was the {which} time I saw {p.a}?",
        f"At what time did I see {p.the} for the {which} time?",
    ])  # fmt: skip
    return {"text": text, "kind": which, "difficulty": p.difficulty, "check": "time", "spans": (spans[-1 if last else 0],)}


def _order(rng: random.Random, world: World) -> Draft | None:
    a, b = world.once(rng), world.once(rng)
    if a is None or b is None or (a[1][1] > b[1][0] and b[1][1] > a[1][0]):
        return None
    before = rng.random() < 0.5
    text = f"Did I see {a[0].the} {'before' if before else 'after'} {b[0].the}?"
    return {"text": text, "check": "yesno", "yes": (a[1][0] < b[1][0]) == before, "spans": (a[1], b[1])}


def _yesno(rng: random.Random, world: World) -> Draft | None:
    yes = rng.random() < 0.5
    p = world.thing(rng) if yes else world.never(rng)
    today = "" if world.midnight_s < world.end else " today"
    text = rng.choice([
        f"Did I ever see {p.a}?", f"Have I seen {p.a}{today}?", f"Was there {p.a}?", f"did i see {p.a}", f"Have I come across {p.a}?",
    ])  # fmt: skip
    spans = world.spans(p.words) if yes else ()
    return {"text": text, "difficulty": p.difficulty, "check": "yesno", "yes": yes, "spans": spans}


def _day(rng: random.Random, world: World) -> Draft | None:
    """Yesterday and today: over midnight inside the stream, or asked a day later."""
    p = world.thing(rng, plain=True)
    spans = world.spans(p.words)
    if world.midnight_s < world.end:
        today = rng.random() < 0.5
        inside = tuple(s for s in spans if (s[0] >= world.midnight_s if today else s[1] <= world.midnight_s))
        if any(s[0] < world.midnight_s < s[1] for s in spans):
            return None
        text = f"Did I see {p.a} {'today' if today else 'yesterday'}?"
        return {"text": text, "difficulty": p.difficulty, "check": "yesno", "yes": bool(inside), "spans": inside}
    later = {"as_of": world.iso(world.end + 86400)}
    if rng.random() < 0.5:
        return {**later, "text": f"When did I see {p.the} yesterday?", "difficulty": p.difficulty, "check": "time", "spans": spans}
    return {**later, "text": f"Did I see {p.a} today?", "difficulty": p.difficulty, "check": "yesno", "yes": False, "spans": ()}


def _never(rng: random.Random, world: World) -> Draft | None:
    p = world.never(rng)
    text, kind = rng.choice([
        (f"When did I see {p.the}?", "when"), (f"What time was it when {p.the} came up?", "when"), (f"Where did I leave {p.the}?", "where"),
        (f"Where was {p.the}?", "where"), (f"What did I see right after {p.the}?", "after"), (f"What colour was {p.the}?", "colour"),
        (f"When did I last see {p.a}?", "last"), (f"What was next to {p.the}?", "what"),
    ])  # fmt: skip
    return {"text": text, "kind": kind, "check": "text"}


def _never_text(rng: random.Random, world: World) -> Draft | None:
    known = {answer for s in world.signs if s.sign for _, answer in s.sign.asks} | {s.sign.kind for s in world.signs if s.sign}
    for _ in range(50):
        sign = make_sign(rng, place=rng.random() < 0.3)
        text, _answer = rng.choice(sign.asks)
        if sign.kind not in known and sign.kind != "notice":
            return {"text": text, "kind": "who" if text.startswith("Who") else "what", "check": "text"}
    return None


def _never_yet(rng: random.Random, world: World) -> Draft | None:
    """Asked before the thing was shown: an answer would use data from the future."""
    once = world.once(rng)
    if once is None or once[1][0] < 60:
        return None
    as_of = world.iso(rng.uniform(45, once[1][0] - 5))
    return {"text": f"When did I see {once[0].the}?", "kind": "when", "check": "text", "as_of": as_of}


def _after_end(rng: random.Random, world: World) -> Draft | None:
    clock = world.clock(world.end + rng.uniform(400, 3000))
    return {"text": f"What was I looking at at {clock}?", "kind": "what_at", "check": "text", "as_of": world.iso(world.end + 3600)}


MAKERS: list[tuple[str, Maker, int]] = [
    ("when", _when, 10), ("where", _where, 8), ("what_at", _what_at, 5), ("what", _sign, 12), ("around", _around, 5),
    ("between", _between, 3), ("option", _option_seen, 3), ("option", _option_order, 3), ("option", _option_next, 2),
    ("option", _option_place, 2), ("option", _option_sign, 2), ("colour", _colour, 3), ("count", _count, 5),
    ("first_last", _first_last, 5), ("order", _order, 3), ("yesno", _yesno, 8), ("day", _day, 3),
]  # fmt: skip
UNANSWERABLE: list[tuple[str, Maker, int]] = [
    ("never", _never, 6), ("what", _never_text, 2), ("when", _never_yet, 1), ("what_at", _after_end, 1),
]  # fmt: skip


def make_questions(rng: random.Random, segments: list[Segment], start: datetime, catalog: list[Item], count: int) -> list[Question]:
    """`count` different questions, `SHARE_UNANSWERABLE` of them without an answer in the stream."""
    world, asked = World(segments, start, catalog), dict[tuple[object, ...], Question]()
    silent = round(count * SHARE_UNANSWERABLE)
    for makers, wanted, answerable in ((MAKERS, count - silent, True), (UNANSWERABLE, count, False)):
        for _ in range(50 * count):
            if len(asked) >= wanted:
                break
            kind, maker, _weight = rng.choices(makers, [weight for *_, weight in makers])[0]
            draft = maker(rng, world)
            if draft is None or (key := (draft["text"], draft.get("options"))) in asked:
                continue
            filled = {"kind": kind, "difficulty": "", "as_of": world.iso(world.end + AS_OF_AFTER_S), **draft}
            asked[key] = msgspec.convert({"id": f"q{len(asked):03}", "answerable": answerable, **filled}, Question)
    return list(asked.values())
