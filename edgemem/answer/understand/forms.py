"""The form of an answer: what a question asks for ("a number"), and whether words have that form."""

from __future__ import annotations

import re

from edgemem.answer.understand.record import Form, Kind
from edgemem.infer.phrase import COLOUR_WORDS

_ASKED: tuple[tuple[Form, str], ...] = (
    ("colour", r"\bcolou?rs?\b"),
    ("price", r"\b(?:price|cost|costs|fare|fee)\b|\bhow much (?:is|was|did|does|were|are|do|for)\b(?!.*\b(?:knock|off|discount|reduc))"),
    ("code", (r"\b(?:pin|code|password|passcode|combination|passphrase|login|wifi|wi-fi|plate|licen[cs]e|flight|reference|booking"
        r"|serial)\b")),
    ("number", (r"\b(?:number|digits?|gate|platform|floor|track|level|line|bus|tram|room|size|percent\w*|how (?:big|old|far|tall|high"
        r"|many)|phone|telephone"
               r"|discount|temperature|how much|dosage|page|seat|year|age)\b")),
    ("address", r"\b(?:address|street|road|website|url|e-?mail)\b"),
    ("topic", r"\babout\s*$|\bwhat .* about\b"),
    ("time", r"\b(?:opening|hours|what time|which hour|opens?|closes?|depart\w*|take off|takes? off)\b"),
    ("name", r"\b(?:names?|called|named|titled?|surname|who|whose|whom|film|movie|doctor|brand|shop)\b"),
    ("place", r"^(?:where|in (?:which|what)|which (?:drawer|shelf|room|pocket|cupboard|box))|\bdestination\b"),
    ("duration", r"^(?:for )?how long\b|\bhow much (?:longer|time)\b"),
    ("date", r"\b(?:date|day|when|birthday|appointment|deadline|due)\b"),
)  # fmt: skip
_ASKS = tuple((form, re.compile(pattern)) for form, pattern in _ASKED)
_NUMBER = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen"
    r"|nineteen|twenty|thirty"
    r"|forty|fifty|sixty|seventy|eighty|ninety|hundred|half)\b"
)
_WEEKDAY = r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
_MONTH = r"\b(?:january|february|march|april|june|july|august|september|october|november|december)\b|\b(?:in|of) may\b|\d ?may\b|\bmay \d"
_DAY = rf"{_WEEKDAY}|{_MONTH}|\b(?:today|tonight|tomorrow|weekend|next week|this week|\d{{1,2}}(?:st|nd|rd|th))\b|\d{{4}}-\d\d"
_CLOCK = (
    r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm|a\.m|p\.m|o'?clock)|\b(?:noon|midday|midnight)\b|\b(?:half|quarter) (?:past|to)\b"
    rf"|\b(?:at|by|from|until|till|around|about|before|after|past|to) (?:{_NUMBER}|\d)(?!\w* (?:percent|euro|dollar|pound|street|road))"
)
_EVERY = r"|\b(?:every|hourly|daily|in) (?:\w+ )?(?:minutes?|hours?|day|half)\b"
_NAMED = r"\b(?:called|named|name is|names? are|name's|dr\.?|doctor|mr\.?|mrs\.?|ms\.?|prof\.?|signed|by|entitled)\b"
_FITS: dict[Form, str] = {
    "colour": rf"\b(?:{'|'.join(sorted(COLOUR_WORDS))})\b",
    "price": rf"\d+[.,]\d\d\b|[$€£] ?\d|\d ?(?:eur|usd|gbp|euros?|dollars?|pounds?|cents?|pence|bucks|%)|(?:{_NUMBER})\w* (?:euros?"
    rf"|dollars?|pounds?|cents?)|\b\d+\b",
    "code": r"\b(?=\w*\d)(?=\w*[a-z])\w{3,}\b|\d{3,}|\b[a-z]+-\d+|\d[\d -]{3,}\d|\b(?:code|pin|password|passcode"
    r"|combination)\b.*\b(?:is|was)\b"
            r"|\bpassword\b[: ]+\S+|(?:\b(?:zero|one|two|three|four|five|six|seven|eight|nine)\b[ ,-]*){3,}",
    "number": _NUMBER,
    "address": r"\b(?:street|st\.|road|rd|lane|avenue|ave|square|park|way|drive|hill|court|place)\b|@|www|\.com|https?",
    "topic": r"\b(?:about|regarding|concerning|because|to discuss)\b",
    "time": _CLOCK + _EVERY,
    "name": _NAMED,
    "place": r"\b(?:in|on|at|under|behind|beside|near|inside|above|below|by|between|next to|opposite|outside|upstairs|downstairs|to"
    r"|top)\b|\b(?:level|floor|room|gate)\b",
    "duration": rf"(?:{_NUMBER}).*?\b(?:hours?|minutes?|days?|weeks?|months?|years?|seconds?)\b|\b(?:until|till|for)\b|\ball (?:day"
    rf"|week|night)\b",
    "date": f"{_DAY}|{_CLOCK}",
}  # fmt: skip
_FIT = {form: re.compile(pattern, re.IGNORECASE) for form, pattern in _FITS.items()}
STRICT = frozenset(("time", "date", "number", "price", "duration", "topic", "code"))
"""Forms without which words are no answer."""
_CAPITAL = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z][a-z]{2,}")
_PERSON_LINE = re.compile(r"^(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? ?)?[A-Z][a-z]+(?: [A-Z][a-z]+)+$|\b(?:Dr|Mr|Mrs|Ms|Prof)\.? ?[A-Z]", re.MULTILINE)


def form_of(kind: Kind, detail: str, text: str) -> Form:
    """What the answer must look like; "" where the question does not say or what it asks for was seen."""
    if detail == "price" and re.search(r"\b(?:knock|off|discount|reduc)", text):
        return "number"
    if kind in _FORM_OF_KIND:
        return "topic" if kind == "how_why" and text.startswith("why") else _FORM_OF_KIND[kind]
    if kind == "when":
        return next((form for form, pattern in _OF_WHEN if pattern.search(text)), "date")
    head = _HEAD.match(text)
    asked = head[0] if head else text
    return next((form for form, pattern in _ASKS if pattern.search(text if form in _ANYWHERE else asked)), "")


_FORM_OF_KIND: dict[Kind, Form] = {
    **dict.fromkeys(("yes_no", "how_many", "order", "summary", "list", "command", "how_why"), ""), "who": "name", "how_long": "duration",
    "where": "place",
}  # fmt: skip
_OF_WHEN: tuple[tuple[Form, re.Pattern[str]], ...] = (
    ("", re.compile(r"\b(?:did|was|were)\b.*\b(?:say|said|tell|told|mention\w*|reckon\w*|talk\w*|ask\w*|hear|heard)\b")),
    ("time", re.compile(r"\b(?:what|which) (?:time|hour)\b|\b(?:opens?|closes?|depart\w*|take off|leave)\b")),
)
_ANYWHERE = frozenset(("colour", "topic", "time", "place", "price"))
_HEAD = re.compile(r"^(?:(?:at|on|in|by|to|from|of) )?(?:(?!\b(?:on|in|at|for|from|with|by|near|that|under|behind)\b)\S+\s*)+")
"""Up to the first preposition: what stands behind it is where, not what."""


_ADJECTIVE = re.compile(r"how ((?!many|much|long|often|come|did|do|does|was|is|are|were|about|else)\w+) (?:is|was|are|were)\b")
_ATTRIBUTE = re.compile(
    r"(?:what|which)(?:'s| is| was| are| were)? (?:the )?(?:\w+ )?(price|number|name|title|brand|size|weight|height|length|age|shape|date"
    r"|temperature|flavour|make|model|dosage|address) (?:of|on) (?:the|my|that|this|our|his|her)\b"
    r"|(?:what|which) (shape|material|size|condition|state|age|height|weight|length|make|flavour|temperature) (?:is|was|are|were)\b"
)


def asked_of(body: str, kind: Kind) -> str:
    """The attribute that is asked for: "how full" is "full", "what was the number of the house" is "number"; of persons "named"."""
    if kind == "who" and re.search(r"\bname of\b|\bcalled$", body):
        return "named"
    found = (_ADJECTIVE.match(body) or _ATTRIBUTE.match(body)) if kind in {"what", "which"} else None
    return next(filter(None, found.groups()), "") if found else ""


def fits(form: Form, text: str) -> bool:
    """Whether words have the form that is asked for."""
    if form in {"name", "person"}:
        return bool(_FIT["name"].search(text) or _CAPITAL.search(text) or _PERSON_LINE.search(text))
    pattern = _FIT.get(form)
    return pattern is None or pattern.search(text) is not None


_SHORT: dict[Form, str] = {
    "colour": _FITS["colour"],
    "price": r"[$€£] ?\d+(?:[.,]\d\d)?|\d+(?:[.,]\d\d)? ?(?:EUR|USD|GBP|euros?|dollars?|pounds?|%)|\b\d+[.,]\d\d\b|\b\d+\b",
    "code": r"\b(?=[\w-]*\d)[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\b(?: \d+)*|(?:\b(?:zero|one|two|three|four|five|six|seven|eight|nine)\b["
    r" ,-]*){3,}",
    "number": r"\b[A-Z]*\d+(?:[.,]\d+)?[A-Z]?\b ?%?",
    "time": r"\b\d{1,2}[:.]\d\d(?: ?[-\u2013] ?\d{1,2}[:.]\d\d)?(?: ?[ap]\.?m\b)?|\b\d{1,2} ?(?:am|pm)\b|\b(?:at|by|until) \d{1,2}\b",
    "date": rf"(?:{_WEEKDAY})(?: at \w+)?|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:January|February|March|April|May|June|July|August"
    rf"|September|October|November"
            r"|December)\b|\b(?:January|February|March|April|June|July|August|September|October|November|December)(?: the)? \w+"
            r"|\btomorrow\b|\btonight\b",
    "place": r"\b(?:in|on|under|behind|beside|near|inside|above|below|next to|opposite|at|to|between) (?:the |my |our |your )?(?:top of"
    r" (?:the )?)?[\w' -]+?(?=[.,;!?]|$)",
    "name": r"(?:called|named|name is|name's) ([A-Z][\w'-]+(?: [A-Z][\w'-]+)*)|\b(?:Dr|Mr|Mrs|Ms|Prof)\.? ?[A-Z][\w'-]+(?: [A-Z][\w'-]+)?"
            r"|(?m:^[A-Z][a-z]+(?: [A-Z][a-z]+)+$)|\b[A-Z]{2,}(?: [A-Z]{2,})+\b",
    "duration": r"\b(?:for )?\w+ (?:hours?|minutes?|days?|weeks?|months?|years?)\b|\buntil [\w ]+",
    "address": r"\b\d+ [A-Z][\w ]+|\b[A-Z]\w+ (?:Street|Road|Lane|Avenue|Park|Square|Way|Drive|Hill)\b|\S+@\S+|www\.\S+",
}  # fmt: skip
_SHORTS = {form: re.compile(pattern) for form, pattern in _SHORT.items()}


def short_answer(form: Form, text: str, asked: tuple[str, ...] = ()) -> str:
    """The part of the words that has the form asked for; "" where none stands out. What the question itself says is no answer."""
    pattern = _SHORTS.get(form)
    if pattern is None:
        return ""
    plain = text if form in {"place", "name", "address"} else _in_figures(text)
    found = [(match[match.lastindex] if match.lastindex else match[0]).strip(" ,") or "" for match in pattern.finditer(plain)]
    new = [one for one in found if one and one.lower() not in asked]
    return ", ".join(dict.fromkeys(new[:2])) if form == "place" else (new[0] if new else "")


def _in_figures(text: str) -> str:
    """Number words as figures: "level four" is level 4; other words as they are."""
    from edgemem.answer.understand.words import figures

    return figures(text)
