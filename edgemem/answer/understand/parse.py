"""From a question in words to `Parsed`: a dozen kinds by their question words, phrases split at stop words, time by `timeref`.

English. Any text ends in a `Parsed`, except one without a single letter or figure, which raises UsageError. In a probe of simple rules
against spaCy the dependency parser was worth no more than the rules.
"""

from __future__ import annotations

import re

import msgspec

from edgemem.answer.understand.followup import followed, goes_on
from edgemem.answer.understand.forms import asked_of, form_of
from edgemem.answer.understand.languages import language_of
from edgemem.answer.understand.lexicon import PERSONS, VERBS
from edgemem.answer.understand.normal import normalise, take_quote, take_vague
from edgemem.answer.understand.people import read_asked
from edgemem.answer.understand.phrases import content, noun_phrase, predicate, slots, wanted_words
from edgemem.answer.understand.record import Hint, Kind, Parsed, Relation
from edgemem.answer.understand.timeref import DURATION, take_time
from edgemem.answer.understand.words import CARRIERS, spelt

# fmt: off
_LEAD = re.compile(
    r"^(?:(?:yo|oi|hey|hi|hello|ok(?:ay)?|please|so|well|um+|uh+|now|and|but|also|then|cheers|thanks|right|sorry|edgemem|kindly|quickly"
    r"|quick question|just|in (?:total|all|short))\b[,.!: ]+"
    r"|(?:can|could|would|will) you (?:please )?(?:tell|remind|help|say)(?: me)?,?:?(?: (?:if|whether|about))? "
    r"|(?:can|could|would|will) you (?:please )?(?=show|find|read|list|describe|count|summari)|is it true (?:that )?"
    r"|(?:please )?(?:tell|remind) me,?:?(?: again)?,? (?!about|everything|what happened|to |at |in |on )(?:if |whether )?"
    r"|(?:do|can|could|would|d') ?(?:you|ya) (?:happen to )?(?:know|remember|recall|say)(?: out)?,? (?:if |whether )?"
    r"|i(?:'d| would)? (?:want|like|need|wish|am trying|love|wonder|was wondering|forgot|forget|don't (?:know|remember)|can't remember"
    r"|cannot remember)(?: (?:to (?:know|find out|see|remember|find|hear)))?,? (?:if |whether )?"
    r"|(?:got )?any (?:idea|clue),? |(?:no (?:idea|clue)|not sure|wondering|(?:i'm )?trying to (?:remember|recall)|want to know"
    r"|let me know),? (?:if |whether )?|remember[,:]? (?!that |my |this )|i (?:know|think) (?=w|h)|did i happen to (?=see)"
    r"|(?:can|could) you (?=see|find))"
)
_COMMAND = re.compile(
    r"^(?:(?:please|ok|hey|and|now|can you|could you|would you|i want you to|edgemem),? )*"
    r"(delete|erase|forget|remove|wipe|clear|call|phone(?= \w)|text(?= \w)|message|e-?mail(?= \w)|send|share|export|save|back ?up|blur"
    r"|redact"
    r"|turn (?:off|on|up|down)|switch (?:off|on)|stop|start|pause|resume|record|set|add|book|buy|order(?! did| of)|remind me (?:to"
    r"|about|at|in|on)"
    r"|rename|mute|unmute|lock|unlock|upload|post|print|schedule|cancel|translate|don't (?:record|remember|save)|never (?:record|save)"
    r"|remember (?:that|this|my)|note (?:that|down)|keep this|merge|label this|hide|play|take a)\b"
)
_WH = r"(?:where|when|what|which|who|whose|whom|why|how)(?:abouts)?\b"
_ASKING = r"(?:where|when|what|which|who|whose|whom|why|how|did|do|does|is|are|was|were|has|have|had|am|any|can|could|will|should)\b"
_WHO = "|".join(sorted(PERSONS))
_HEADS: tuple[tuple[Kind, str, str], ...] = (
    ("other", "", r"(?:what|how) about\b(?! (?:the|a|my) .* (?:say|said|is|was)\b)"),
    ("order", "", (r"(?:which|what|who|did|was|were|kam)\b.*\b(?:came?|appear\w*|was|were|first seen|see|saw|met?|get to|turn\w* up"
        r"|arrive[ds]?)\b"
                  r".*\b(?:first|last|earlier|later|sooner)\b[,:]? .*\bor\b")),
    ("what", "", r"(?:was|is|were|are) there .+,? and what (?:did|does) (?:it|they) say|read (?:me |out )?(?=the|my|that|what)"),
    ("which", "", r"what (?:is|was|are|were) \w+er, .*\bor\b"),
    ("order", "", r"which (?:one |of ).*\b(?:came?|appeared) (?:first|last)$"),
    ("order", "", (r".*\bbefore or (?:was it )?after\b|.*\bafter or before\b|(?:in )?(?:what|which) order\b|.*\bwhich (?:one )?(?:was"
        r"|came) "
                  r"(?:first|last|earlier|later|sooner)\b|.* (?:earlier|later|sooner) (?:than|or)\b")),
    ("how_many", "times", (r"(?:on )?how many (?:\w+ )?(?:times|occasions)|how (?:often|frequently)|(?:what (?:is|was) )?(?:the"
        r" )?number of times"
                          r"|count (?:how often|the times)")),
    ("how_many", "at_once", (r"how many|(?:give me a |just )?(?:count|tally)(?: up)?\b|(?:what (?:is|was|were|'s) )?(?:the )?(?:total "
        r"|maximum )?number of(?! (?:the|my|that|this|our)\b)"
                            r"|what number of")),
    ("when", "", r"how long ago|since when|until when"),
    ("how_long", "", r"(?:for )?how long|how much (?:longer|time)|(?:what (?:is|was) )?(?:the|for what) duration|for what length of time"),
    ("what", "price", r"how much\b"),
    ("what", "", r"how (?:big|large|high|tall|far|full|fast|old|heavy|deep|wide|warm|hot|cold|expensive|strong|thick|clean|dirty)\b"),
    ("how_why", "", r"why|how come|how\b|what (?:for|made)\b|for what reason"),
    ("who", "", (r"(?:to |by |for |from |with )?(?:whose|who(?:m|'s|'d|'ll)?)\b|(?:what(?:'s| is| was)|which) (?:was )?(?:the )?(?:name"
        r"|surname) of"
                rf" (?:the |my |that |our )?(?:{_WHO})\b|what(?:'s| is| was)"
                rf" (?:he|she|(?:the |my |that |our )(?:{_WHO})\b.*) called\b|which of my (?:friends|colleagues|neighbours)")),
    ("when", "", (r"(?:at |on |in |around |by |from |till |until |about )?(?:what|which) (?:exact |point in |sort of |roughly )?"
                 r"(?:time|moment|point|hour|minute|second|day|date|month|year)s?\b(?! (?:on|shown|written|did it say))|when(?:'s|'d"
                 r"|abouts)?\b"
                 r"|(?:the )?time (?=i )|my (?:first|earliest|last|latest)\b")),
    ("where", "", (r"where(?:abouts)?(?:'s|'d|'ve|'re)?\b|(?:in|at|on|to) (?:which|what) (?:place|room|location|spot|part|scene)|which way"
                  r"|(?:what|which) (?:place|location|spot)\b|(?:have |has )?(?:you|y'all|anyone|anybody) seen (?:my|the)"
                   r"|(?:did )?(?:you )?(?:seen?|lost) my\b")),
    ("summary", "", (r"describe|summari[sz]e|recap|recount|sum up|(?:give me )?(?:a |an )?(?:summary|overview|recap|rundown)|tell me"
        r" (?:all )?about"
                    r"|what (?:happened|went on|has happened|did i miss|have i missed)\b|what(?:'s| has) been happening|walk me through"
                    r"|talk me through|(?:run|take) me through|(?:brief|update) me|wrap up|catch me up"
                    r"|(?:what (?:were|are) )?(?:the |my )?(?:high ?lights"
                    r"|key"
                    r" moments|gist)"
                    r"|how (?:was|did|has) (?:my|the|our) (?:day|morning|afternoon|evening|week|trip|walk|visit|party)\b"
                    r"|(?:what (?:were|are) |give me )?the (?:main|most important|key) (?:things|events|points|moments)|in (?:short"
                    r"|brief|a nutshell)"
                    r"|what (?:did|have) (?:i|we) (?:do|done|been (?:doing|up to)|get up to|got up to)$|what was (?:my|the) (?:day"
                    r"|morning|week) like")),
    ("list", "", (r"(?:make (?:me )?)?(?:a )?list\b|name (?=all|every|the)|(?:show me )?(?:all (?:of )?(?:the|my)|everything|every)\b"
                 r"|(?:give me|tell me) (?:all|everything|a list)|(?:what|which) (?:(?:are|were) )?all (?:the )?|enumerate"
                 r"|(?:the )?names of (?:all|every)|every(?:one|body)? (?=i )|(?:which|what) (?:\w+ )?(?:people|places|shops|rooms"
                 r"|animals|things|items)"
                 r" (?:did|have|has|was|were)\b|show (?:me )?(?:all|every)")),
    ("which", "", (r"(?:(?:at|on|in|to|from|by|with) )?which\b|what (?:one|kind|sort|type|brand|make)s?\b|(?:is|are|was|were) .+ (?:or)"
        r" \w+$"
                  r"|(?:was|were|did|do|is|are) .+\b(?:or)\b (?!not|if)")),
    ("what", "colour", r"(?:(?:of|in) )?(?:what|which)(?:'s| is| was)? (?:the )?colou?rs?\b"),
    ("what", "", r"(?:(?:at|on|in|to|from|by|with|about) )?what(?:'s|'d|'re|s)?\b"),
    ("where", "", (r"(?:(?:show|find|locate|fetch|retrieve|get|give|bring|dig out|pull up|display)(?: me)?|look for|search(?: for)?"
        r"|(?:jump|go|skip|take me) to)\b")),
    ("yes_no", "", (r"(?:did|do|does|has|have|had|was|were|is|are|am|can|could|will|would|should|might|may)(?:n't)?\b(?:n't)?|(?:ever "
        r"|never )?(?:see|saw|seen|any)\b"
                   r"|i (?:never |ever |have |did |saw |met )|(?:there )?(?:was|were|is) there|no \w+")),
)
# fmt: on
_COMPILED = tuple((kind, detail, re.compile(pattern)) for kind, detail, pattern in _HEADS)

_NAMED_TEXT = re.compile(r"\b(?:the )?(?:words?|inscription) ([a-z0-9][\w' -]{0,60})$")
_ORDINAL_WORDS = {
    "first": 1, "1st": 1, "earliest": 1, "initial": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5,
    "5th": 5, "last": -1, "latest": -1, "final": -1, "finally": -1, "most recent": -1, "most recently": -1, "lastly": -1, "newest": -1,
    "earlier": 1, "sooner": 1, "later": -1,
}  # fmt: skip
_ORDINAL = re.compile(
    rf"\b({'|'.join(sorted(_ORDINAL_WORDS, key=len, reverse=True))})\b(?! (?:aid|name|class|hand|floor|page|row|grade|language|night"
    rf"|week|one))"
)
_SEEN = re.compile(
    r"\b(?:i|we|you|y'all)(?:'ve)? (?:\w+ ){0,2}?(?:see|saw|seen|spot\w*|notic\w+|look(?:ed|ing)? at|view\w*|watched|come across|came"
    r" across|view)\b"
    r"|\b(?:visible|in view|into view|in sight|on camera|catch sight|seen|look(?:s|ed)? like|in front of me|crossed my path)\b"
    r"|^(?:describe|show me)\b"
)
_READ = re.compile(
    r"\b(?:signs?|timetable|expir\w+|instructions|recipe|newspaper|invoice|registration|envelope|ticket"
    r"|(?:number|name|price|date|title) (?:of|on) (?:the|that|my)"
    r"|text|words? (?:was|were)|letters? (?:was|were)|poster|label|badge|screen|headline|written|printed|menu|signed|read"
    r"|price|page (?:was|am|were)|dosage|number plate|licen[cs]e plate"
    r"|notice|banner|board|receipt|title|caption|house number|display(?:ed)?|posted|slogan|stood on|say on|spelt|spelled)\b|^how much is\b"
)
_SAID = re.compile(
    r"\b(?:say|said|says|tell (?!me)|told|mention\w*|talk(?:ed|ing)? about|ask(?:ed)?|reckon\w*|heard?|promise[ds]?|suggest\w*"
    r"|announce[ds]?"
    r" that|out loud"
    r"|conversation|speak|spoke|explain\w*|call(?:ed)? me)\b"
)
_NOT = re.compile(
    r"\b(?:not|never|no one|nobody|nothing|none|without)\b|\b(?:has|have|had|did|do|does|was|were|is|are|could|can)n't\b|^no \w+"
)
_RELATION = re.compile(
    rf"\b(?:(?:right|just|directly|immediately|shortly|soon|straight|some ?time|next|long|once|only|{DURATION}) )*"
    r"(after|before|following|followed|preceded|prior to|as soon as|until|once|since)\b(?: that\b| when\b)?,? (?=\w)"
)
_WHILE = re.compile(
    r"(?:(?<=\w) |^)(?:at the (?:same )?(?:time|moment)(?: as| when| that| of)?|while|whilst|during|when|together with|along with) (?=\w)"
)
_SIDE = re.compile(
    r"\b(?:(?:right|just|directly) )?(?:next to|beside|alongside|close to|near(?:by)?|in front of|behind|around|above|below|underneath"
    r"|on top of|to the (?:left|right) of|under|inside)"
    r" (?=the |a |an |my |that )"
)
_MEDIUM = re.compile(
    r"\b(?:in|on|of|during|from|throughout|within|inside) (?:the |this |my |your |that |any )?(?:whole |entire )?(?:video|stream"
    r"|recording|clip|film|footage"
    r"|memory|memories|tape|scene|camera|view|sight|life|frames?|pictures?|images?)\b(?! (?:called|are|is|did|do))|\b(?:a|the)"
    r" (?:picture|photo|image|clip|video) of\b"
)


def understand(text: str, before: Parsed | None = None) -> Parsed:
    """The one way in. `before` is the question that this one may go on about. Raises UsageError when nothing is asked."""
    plain, notes = normalise(text)
    language = language_of(text)
    if language != "en":
        return Parsed(kind="other", text=plain, language=language, words=tuple(re.findall(r"\w+", plain)), notes=notes)
    plain, quote = take_quote(plain)
    body = _without_lead(plain.rstrip(" ?!."))
    if (command := _COMMAND.match(body) or _imperative(body)) is not None:
        time, rest = take_time(body[command.end() :])
        things, place, person, *_ = slots(rest, text, "command")
        bare = re.sub(r"^don't |^never | (?:this|that|my|me .*|a)$", "", command[1])
        doing = re.match(r"\s*(\w+ing)\b", rest)
        return Parsed(
            kind="command", text=plain, command=command[1], things=things, place=place, person=person, time=time,
            predicate=f"{bare} {doing[1]}" if doing and bare in {"stop", "start", "pause", "resume"} else bare,
            negated=command[1].startswith(("don't", "never")), hint=_hint(rest), words=tuple(content(rest)), notes=notes,
        )  # fmt: skip
    parsed = _parsed(text, plain, body, quote)
    parsed = followed(parsed, before) if before is not None and parsed.follows else parsed
    return msgspec.structs.replace(parsed, notes=notes)


_IMPERATIVE = re.compile(
    r"^(?:please |kindly )?([a-z]+)(?: (?:up|down|off|on|out))? (?:my|the|this|that|these|those|it|me|him|her|them"
    r"|everything|all|a|an)\b"
)
_ASKS_FOR = frozenset(
    spelt("show find tell list make describe count name remind look locate give get fetch bring read search recap see have do be")
)


def _imperative(body: str) -> re.Match[str] | None:
    """A verb that is told to do something: "hide the last clip". Verbs that ask for an answer are none."""
    match = _IMPERATIVE.match(body)
    return match if match and VERBS.get(match[1]) == match[1] and match[1] not in _ASKS_FOR else None


def _parsed(raw: str, plain: str, body: str, quote: str) -> Parsed:
    topic, body = _main_clause(body)
    body, vague = take_vague(body)
    time, timeless = take_time(body)
    if topic and time is None:
        time, topic = take_time(topic)
    if time is not None and re.search(r"\b(?:than|as)\b", timeless):
        other, timeless = take_time(timeless)
        time = msgspec.structs.replace(time, said=f"{time.said} {other.said}") if other else time
        topic = topic if content(topic) else ""
    timeless = re.sub(r"(?:^|\b)(?:at|on|in|of|around)$", "", timeless.strip(" ,;:-'")).strip()
    timeless = timeless or ("" if goes_on(plain) else "what did i see")
    kind, detail, rest = _head(timeless)
    choices = _choices(timeless, kind)
    order = kind == "order"
    rest, relation, anchors, clause = (timeless, "", (), "") if order else _take_relation(rest, kind)
    if not order and topic:
        rest = f"{topic} , {rest}"
    if order:
        rest, anchors, choices = _ordered(timeless, choices)
    ordinal = _ordinal(plain, kind)
    rest, named = _MEDIUM.sub(" ", rest), _NAMED_TEXT.search(rest)
    if kind == "what" and not anchors and (side := _SIDE.search(rest)) and not content(rest[: side.start()]):
        relation, anchors, clause, rest = "side", (noun_phrase(rest[side.end() :]),), rest[side.start() :], ""
    things, place, person, verb, particle = slots(rest, raw, kind)
    if kind == "what" and place and not things and not anchors and verb in {"", "be"}:
        relation, anchors, clause, place = "side", (noun_phrase(place.partition(" ")[2]),), place, ""
    things = (quote,) if quote or (named and (quote := named[1].strip())) else things
    things = tuple(thing for thing in things if thing not in anchors)
    if topic and kind != "order":
        *_, main, after = slots(rest.removeprefix(f"{topic} , "), raw, kind)
        verb, particle = (main, after) if main else (verb, particle)
    place = place or (deictic[1] if (deictic := _DEICTIC.search(rest)) else "")
    claim = predicate(kind, verb, particle, timeless if order else rest, detail)
    if (attribute := asked_of(timeless, kind)) and not quote:
        claim = claim or attribute
        things = tuple(thing.removeprefix(f"{attribute} of ") for thing in things if thing != attribute)
    things = tuple(
        thing.removesuffix(f" {claim}") for thing in things if thing not in claim.split() or (len(things) == 1 and kind != "yes_no")
    )
    form = form_of(kind, detail, timeless if not topic else f"{topic} {timeless}")
    return Parsed(
        kind=kind, text=plain, form=form, things=things, person=person, place=place, predicate=claim, verb=verb,
        negated=_negated(timeless), hint=_hint(f"{topic} {timeless}"), ordinal=ordinal, relation=relation, anchors=anchors, choices=choices,
        quote=quote, counts=detail if detail in {"times", "at_once"} else "",  # type: ignore[arg-type]
        time=time, clause=" ".join(filter(None, (clause, vague))),
        words=wanted_words(timeless if not topic else f"{topic} {timeless}", kind),
        follows=goes_on(plain), asked=None if quote else read_asked(_without_lead(timeless)),
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------------------- whole text


_DEICTIC = re.compile(r"(?<!\bis )(?<!was )(?<!\bare )(?<!were )(?<!n't )(?<!\bbe )(?<=\w )(here|there)(?: as well| too)?$")


def _without_lead(body: str) -> str:
    lead = None
    while lead != body:
        lead, body = body, _LEAD.sub("", body, count=1).strip()
    return body or "what did i see"


def _main_clause(body: str) -> tuple[str, str]:
    """What stands before the question itself ("the mug, where is it"), and the question."""
    parts = [part.strip() for part in re.split(r"(?<=[.?!;])\s+|,\s+|\s+-\s+|:\s+", body) if re.search(r"\w", part)] or [body]
    asking = (rf"(?:(?:and|but|so|then|or) )?{words}" for words in (_WH, _ASKING))
    starts = [next((i for i, part in enumerate(parts) if re.match(pattern, part.strip(" '"))), None) for pattern in asking]
    first = next((start for start in starts if start is not None), 0)
    if (
        re.match(
            r"(?:as soon as|since|when|while|after|before|once|if|what) (?!did|do|does|was|is|were|are|has|have|'s|colou?r|time)", parts[0]
        )
        and len(parts) > 1
    ):
        later = next((i for i, part in enumerate(parts) if i and re.match(_ASKING, part)), 0)
        return "", f"{', '.join(parts[later:])} {parts[0]}" if later else body
    asked = re.sub(r"^(?:and|but|so|then|or) ", "", ", ".join(part.strip(" ?!.;") for part in parts[first:]))
    topic = " , ".join(part.strip(" ?!.;") for part in parts[:first])
    return (topic, asked) if first and content(topic) else ("", asked)


def _head(body: str) -> tuple[Kind, str, str]:
    """Kind, detail and what follows the question word."""
    body = re.sub(r"^(?:and|but|so|then|or|in that case|after all) ", "", body.strip(" ,"))
    for kind, detail, pattern in _COMPILED:
        if match := pattern.match(body):
            keep = (
                kind in {"order", "yes_no"}
                or " of " in match[0]
                or (kind == "which" and "which" not in match[0].split())
                or match[0].startswith(("my ", "i ", "no "))
            )
            return kind, detail, body if keep else body[match.end() :].strip()
    inner = re.search(r"\b(?:where|when|who|what|which|how (?:many|long|much|often))\b", body)
    if inner and inner.start():
        kind, detail, rest = _head(body[inner.start() :])
        return kind, detail, f"{body[: inner.start()]} , {rest}"
    return ("when", "", body) if re.search(r"\b(?:sighting|time|first|last)\b", body) else ("where" if content(body) else "other", "", body)


# ------------------------------------------------------------------------------------------------------- order, relation, time


def _ordinal(text: str, kind: Kind) -> int:
    if re.search(r"\b(?:last|past|first) (?:\d+|few|couple|two|three|five|ten|twenty|half|hour|minute|day|week|month|year)", text):
        return 0
    match = _ORDINAL.search(text)
    if match is None or (match[1] == "second" and kind not in {"when", "where", "which"}):
        return 0
    if match[1] in {"earlier", "later", "sooner"} and kind != "order":
        return 0
    return _ORDINAL_WORDS[match[1]]


def take_ordinal(text: str) -> tuple[int, str]:
    """Cut "first", "the last" ... out of a phrase: 1, 2 ..., -1 = last, 0 = none, and the rest."""
    match = _ORDINAL.search(text)
    if match is None:
        return 0, text
    return _ORDINAL_WORDS[match[1]], f"{text[: match.start()]} {text[match.end() :]}".strip(" ,")


def _choices(body: str, kind: Kind) -> tuple[str, ...]:
    """Such as "the cat, the dog or the rocket" -> three names."""
    if " or " not in body or kind not in {"order", "which", "what", "where", "when", "yes_no", "who"}:
        return ()
    tail = re.split(
        r":\s+|\b(?:first|last|often|earlier|later|sooner|see|saw|get to),?:?\s+(?=the |a |an |my )|,\s+(?=the |a |an |my )",
        body,
        maxsplit=1,
    )[-1]
    named = [noun_phrase(part) for part in re.split(r",\s*(?:or\s+)?|\s+or\s+", tail)]
    kept = tuple(dict.fromkeys(part for part in named if part and part not in {"not", "after", "before"}))
    return kept if len(kept) > 1 else ()


def _ordered(body: str, choices: tuple[str, ...]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """For an order: what is left, the anchor of "before or after the rocket", the choices."""
    either = re.search(r"\b(?:before or (?:was it |is it )?after|after or before|(?:earlier|later|sooner) than)\b", body)
    if either is None:
        return "", (), choices
    target, anchor = noun_phrase(body[: either.start()]), noun_phrase(body[either.end() :])
    return target, (anchor,) if anchor else (), ()


def _take_relation(body: str, kind: Kind) -> tuple[str, Relation, tuple[str, ...], str]:
    """Split off "(right) after the coffee", "between A and B", "while ...": the rest, the relation, its anchors, and the clause as said."""
    body = re.split(r",? and (?=(?:who|did|what|how|was|where|when)\b)", body)[0]
    if match := re.search(r"\b(?:in )?between (.+?) and (.+)$", body):
        anchors = tuple(phrase for group in match.groups() if (phrase := _anchor(group)))
        if len(anchors) == 2 and "difference" not in body:
            return body[: match.start()], "between", anchors, match[0]
    if match := re.search(r"\bafter (.+?) (?:and|but) before (.+)$", body):
        return body[: match.start()], "between", (_anchor(match[1]), _anchor(match[2])), match[0]
    if match := _RELATION.search(body):
        word: Relation = "before" if match[1] in {"before", "prior to", "until", "preceded"} else "after"
        tail, *main = re.split(r" that (?=(?:i|we|he|she|they|my|the) )", body[match.end() :], maxsplit=1)
        head = " ".join((body[: match.start()].strip(" ,"), *main))
        if anchor := _anchor(tail):
            return head, word, (anchor,), f"{match[0]}{tail}"
        return head, "", (), body[match.start() :]
    if (match := _WHILE.search(body)) and (kind != "when" or "when" not in match[0]):
        return (
            body[: match.start()].strip(" ,"),
            "while",
            (phrase,) if (phrase := noun_phrase(body[match.end() :])) else (),
            body[match.start() :].strip(),
        )
    return body, "", (), ""


def _anchor(text: str) -> str:
    """What a relation refers to, with its ordinal: "the last mug" is "last mug"."""
    phrase, ordinal = noun_phrase(text), _ORDINAL.search(text)
    return f"{ordinal[1]} {phrase}" if ordinal and phrase else phrase


def _hint(body: str) -> Hint:
    """What "says" something without being somebody is read; "called" is no saying."""
    if _SAID.search(body) and not _SAYS_TEXT.search(body) and not re.search(r"\bthey (?:\w+ ){0,3}say\b|\bcalled\b", body):
        return "said"
    return "read" if _READ.search(body) or _SAYS_TEXT.search(body) else "seen" if _SEEN.search(body) else "none"


_SAYS_TEXT = re.compile(rf"\b(?:{'|'.join(sorted(CARRIERS - {'word', 'words'}))}|it|list|message|letter|e-?mail|sms|card|map|clock)s?"
                        r" (?:\w+ ){0,4}?(?:say|said|read|mention|show)\b")  # fmt: skip


def _negated(body: str) -> bool:
    """Whether it is denied: "didn't I ...?" asks whether I did; "have I not", "never" and "no milk" ask whether not."""
    begins = re.match(r"^\w+n't\b", body)
    rest = body[begins.end() :] if begins else body
    return _NOT.search(rest) is not None
