"""Questions about people, what they did with what, and what they said: from words to a typed `Asked`.

"I", "me" and "we" mean the one who carries the camera: the person node called "me" (`ME`). Wordings that are not here stay what
`question.parse` makes of them.
"""

from __future__ import annotations

import re
from typing import Literal

from edgemem.answer.understand.words import CARRIERS, words
from edgemem.records import Record

ME = "me"
"""Name of the person node of the wearer. A voice becomes it by name: `edgemem name speaker:3 me`."""
TALKS_TO, INTERACTS_WITH, MENTIONS, USES = "TALKS_TO", "INTERACTS_WITH", "MENTIONS", "USES"

Wanted = Literal["who", "what", "when", "how_often", "did", "with", "said"]


class Asked(Record, frozen=True):
    """A question about relations. What is "" is either asked for or does not matter."""

    wanted: Wanted
    types: tuple[str, ...] = ()
    """Relation types that answer it, the most fitting first; empty for what was said and who was there."""
    source: str = ""
    """Who does it: `ME` or a name."""
    target: str = ""
    """To whom or to what it is done."""
    verb: str = ""
    """The verb's stem where it says more than the type: "drink", "open"."""
    about: str = ""
    """What was spoken of, or what went on while somebody was there."""
    ordinal: int = 0
    """1 = the first time, -1 = the last, 0 = not said."""


_P = r"(?:i|me|we|us|speaker \d{1,4}|(?:the |my |our )?(?!(?:the|an?|my|our|there|any)\b)[^\W\d_][\w'-]*(?: [^\W\d_][\w'-]*){0,2}?)"
_AUX = r"(?:did|do|does|have|has|had|was|were|is|are|am|'ve)"
_MORE = r"(?:(?:ever|already|actually|really|usually|also|been|all|just|even|recently|most often|often) )*"
_TALK = r"(?:talk(?:ed|ing|s)?|sp(?:eak|oke|oken|eaking|eaks)|chat(?:ted|ting|s)?|conversed?|(?:ha[dv]e? )?(?:a )?conversations?)"
_SAID = r"(?:sa(?:y|id|ying|ys)|tell|told|mention(?:ed|s|ing)?|explain(?:ed|s)?|answer(?:ed)?|ask(?:ed)?|suggest(?:ed)?|promise[ds]?)"
_SPOKE_OF = (
    rf"(?:(?:{_SAID}|{_TALK})(?: (?:to )?(?:me|us|anything|something))? about|mention(?:ed|s|ing)?|sp(?:eak|oke) of|bring up|brought up)"
)
_SPOKEN_OF = r"(?:ever |already )?(?:mentioned|discussed|brought up|(?:talked|spoken) (?:about|of))"
_FORMS: dict[str, tuple[str, str]] = {
    "use": (USES, r"us(?:e|es|ed|ing)"),
    "drive": (USES, r"dr(?:i?ve|ives|ove|iven|iving)"),
    "ride": (USES, r"r(?:ide|ides|ode|idden|iding)"),
    "wear": (USES, r"w(?:ear|ears|ore|orn|earing)"),
    "drink": (USES, r"dr(?:ink|inks|ank|unk|inking)(?: from)?"),
    "eat": (USES, r"(?:eat|eats|ate|eaten|eating)"),
    "play": (USES, r"play(?:s|ed|ing)?(?: on)?(?! with)"),
    "turn on": (USES, r"(?:turn|switch)(?:ed|ing)? (?:on|off)"),
    "charge": (USES, r"charg(?:e|ed|ing)"),
    "hold": (INTERACTS_WITH, r"h[eo]ld(?:s|ing)?"),
    "carry": (INTERACTS_WITH, r"carr(?:y|ied|ying|ies)"),
    "pick up": (INTERACTS_WITH, r"pick(?:ed|ing)? up"),
    "open": (INTERACTS_WITH, r"open(?:ed|ing)?"),
    "close": (INTERACTS_WITH, r"clos(?:ed?|ing)"),
    "clean": (INTERACTS_WITH, r"clean(?:ed|ing)?"),
    "wash": (INTERACTS_WITH, r"wash(?:ed|ing)?"),
    "cook": (INTERACTS_WITH, r"cook(?:ed|ing)?"),
    "make": (INTERACTS_WITH, r"ma(?:k|d)(?:e|ing)"),
    "fix": (INTERACTS_WITH, r"(?:fix(?:ed|ing)?|repair(?:ed|ing)?)"),
    "cut": (INTERACTS_WITH, r"cut(?:ting)?"),
    "touch": (INTERACTS_WITH, r"(?:touch(?:ed|ing)?|handl(?:e|ed|ing)|interact(?:ed|ing)? with)"),
    "water": (INTERACTS_WITH, r"water(?:ed|ing)?"),
    "feed": (INTERACTS_WITH, r"fe(?:ed|d|eding)"),
    "buy": (INTERACTS_WITH, r"b(?:uy|ought|uying)"),
    "meet": (INTERACTS_WITH, r"m(?:eet|et|eeting)(?: with)?"),
    "help": (INTERACTS_WITH, r"help(?:ed|ing)?"),
    "visit": (INTERACTS_WITH, r"visit(?:ed|ing)?"),
}
_DOES = "|".join(pattern for _, pattern in _FORMS.values())
_NO_STEM = frozenset(("use", "touch"))
"""Verbs that say no more than the type of the relation does."""
_LAST = re.compile(r"\b(?:the )?(first|last|most recent|latest)(?: time| one)?(?: that| when)?\b")
_OF = r"(?P<of>.+)"
_OF_WHAT = r"(?: (?:about|of|regarding|concerning) (?P<about>.+))?"
_THERE = r"(?:there |around |here |standing |sitting )?"
_WHILE = r"(?: (?:when|while|as) (?P<about>.+))?"
_WORDINGS: tuple[tuple[str, Wanted, str], ...] = (
    # talking to somebody
    (rf"(?:to |with )?who(?:m)? (?:all |else )?{_AUX} (?P<p>{_P}) {_MORE}{_TALK}(?: (?:to|with))?", "who", "talk_target"),
    (rf"who(?:m)? (?:all |else )?{_AUX} (?P<p>{_P}) {_MORE}meet", "who", "talk_or_meet"),
    (rf"who (?:all |else )?(?:{_AUX} )?{_MORE}{_TALK} (?:to|with) (?P<q>{_P})", "who", "talk_source"),
    (rf"(?:when(?: was it)?(?: that)?|at what time) (?:{_AUX} )?(?P<p>{_P}) {_MORE}{_TALK} (?:to|with) (?P<q>.+)", "when", "talk"),
    (rf"(?:how often|how many times|on how many occasions) {_AUX} (?P<p>{_P}) {_MORE}{_TALK} (?:to|with) (?P<q>.+)", "how_often", "talk"),
    (rf"{_AUX} (?P<p>{_P}) {_MORE}{_TALK} (?:to|with) (?P<q>.+)", "did", "talk"),
    # being there
    (rf"who (?:all |else )?(?:was|were|is|are) {_THERE}(?:with|near|next to|beside|around) (?P<p>{_P}){_WHILE}", "with", ""),
    (r"who (?:all |else )?(?:was|were) (?:there|around|present|here) (?:when|while|as) (?P<about>.+)", "with", ""),
    (rf"(?:with whom|who) (?:{_AUX}) (?P<p>i|we) (?P<about>(?!{_TALK}\b|see\b|meet\b).+?) with", "with", ""),
    (rf"with whom (?:{_AUX}) (?P<p>i|we) (?P<about>.+)", "with", ""),
    # saying something
    (rf"what (?:else )?{_AUX} (?P<p>{_P}) {_MORE}(?:{_SAID}|{_TALK})(?: (?:to )?(?P<q>me|us))?{_OF_WHAT}", "said", ""),
    (rf"what {_AUX} (?P<p>{_P}) {_MORE}(?:tell|told|sa(?:y|id) to) (?P<q>(?!(?:me|us|about)\b){_P})(?: about (?P<about>.+))?", "said", ""),
    (rf"what (?:else )?(?:was|has been|is) (?:being )?said{_OF_WHAT}", "said", ""),
    (rf"what (?:else )?{_AUX} (?:i|we) {_MORE}hear(?:d)?(?: from (?P<p>(?!the ){_P}))?{_OF_WHAT}", "said", ""),
    (rf"who (?:{_AUX} )?{_MORE}{_SPOKE_OF} (?P<about>.+)", "who", "spoke"),
    (rf"when {_AUX} (?P<p>{_P}) {_MORE}{_SPOKE_OF} (?P<about>.+)", "when", "spoke"),
    (rf"(?:how often|how many times) {_AUX} (?P<p>{_P}) {_MORE}{_SPOKE_OF} (?P<about>.+)", "how_often", "spoke"),
    (rf"{_AUX} (?P<p>{_P}) {_MORE}{_SPOKE_OF} (?P<about>.+)", "did", "spoke"),
    (rf"{_AUX} (?:i|we) {_MORE}hear(?:d)? (?:(?:anything|something) )?(?:about|of) (?P<about>.+)", "did", "spoke"),
    (rf"when (?:was|were) (?P<about>.+?) {_SPOKEN_OF}", "when", "spoke"),
    (rf"(?:how often|how many times) (?:was|were) (?P<about>.+?) {_SPOKEN_OF}", "how_often", "spoke"),
    (rf"(?:was|were) (?P<about>.+?) {_SPOKEN_OF}", "did", "spoke"),
    # doing something with something
    (rf"when {_AUX} (?P<p>{_P}) {_MORE}(?P<v>{_DOES}) {_OF}", "when", "do"),
    (rf"when (?P<p>i|we) (?P<v>{_DOES}) {_OF}", "when", "do"),
    (rf"(?:how often|how many times|on how many occasions) {_AUX} (?P<p>{_P}) {_MORE}(?P<v>{_DOES}) {_OF}", "how_often", "do"),
    (rf"{_AUX} (?P<p>{_P}) {_MORE}(?P<v>{_DOES}) {_OF}", "did", "do"),
    (rf"(?:what|which \w+|what \w+) {_AUX} (?P<p>{_P}) {_MORE}(?P<v>{_DOES})", "what", "do"),
    (rf"who (?:else )?(?:{_AUX} )?{_MORE}(?P<v>{_DOES}) {_OF}", "who", "do"),
)  # fmt: skip
"""Compiled by `re` when they are first tried: all at once took a twentieth of a cold `ask`."""
_BEGINS: dict[Wanted, frozenset[str]] = {
    **dict.fromkeys(("who", "with"), frozenset(("who", "whom", "to", "with"))),
    **dict.fromkeys(("what", "said"), frozenset(("what", "which"))),
    "when": frozenset(("when", "at")),
    "how_often": frozenset(("how", "on")),
    "did": frozenset(("did", "do", "does", "have", "has", "had", "was", "were", "is", "are", "am")),
}
"""The first word of every wording for what is wanted."""
_STATEMENT = rf"(?P<p>{_P}) (?:{_AUX} )?{_MORE}(?P<v>{_DOES}) {_OF}"
_TALKING = rf"(?P<p>{_P}) (?:{_AUX} )?{_MORE}{_TALK} (?:to|with) (?P<q>.+)"
_ANYONE = frozenset(("anyone", "anybody", "someone", "somebody", "they", "people", "everyone", "everybody", "you", "it", "he", "she"))
_ARTICLE = re.compile(r"^(?:the|a|an|my|our|your|his|her|their|some|any|this|that) ")


def read_asked(body: str) -> Asked | None:
    """`body` is a question in lower case, without its time and without "please tell me"; None when it is about something else."""
    ordinal, plain = 0, body
    if match := _LAST.search(body):
        ordinal = 1 if match[1] == "first" else -1
        plain = " ".join(f"{body[: match.start()]} {body[match.end() :]}".split())
        plain = re.sub(rf"^when (?:was|is) (?=i |we |\w+ )(?!.* {_SPOKEN_OF}$)", "when did ", plain)
    first = plain.partition(" ")[0]
    for pattern, wanted, kind in _WORDINGS:
        if first in _BEGINS[wanted] and (match := re.fullmatch(pattern, plain)):
            return _asked(match, wanted, kind, ordinal)
    return None


def read_statement(clause: str) -> Asked | None:
    """Such as "i used the drill" behind "who was with me when": something that was done or talked about."""
    if match := re.fullmatch(_STATEMENT, clause):
        return _asked(match, "when", "do", 0)
    if match := re.fullmatch(_TALKING, clause):
        return _asked(match, "when", "talk", 0)
    return None


def _asked(match: re.Match[str], wanted: Wanted, kind: str, ordinal: int) -> Asked | None:
    groups = match.groupdict()
    first, second = _name(groups.get("p")), _name(groups.get("q"))
    if _carries_text(groups.get("p")):
        return None  # "what did the sign say"
    about = _bare(groups.get("about") or "")
    if kind.startswith("talk"):
        types = (TALKS_TO, INTERACTS_WITH) if kind == "talk_or_meet" else (TALKS_TO,)
        return Asked(wanted=wanted, types=types, source=first, target=second, ordinal=ordinal)
    if kind == "do":
        stem, type_ = _verb(groups["v"])
        types = (USES, INTERACTS_WITH) if type_ == USES else (INTERACTS_WITH, USES)
        target = "" if wanted == "what" else _name(groups.get("of"))
        return Asked(wanted=wanted, types=types, source=first, target=target, verb="" if stem in _NO_STEM else stem, ordinal=ordinal)
    return Asked(wanted=wanted, source=first, about=about, ordinal=ordinal)


def _verb(spoken: str) -> tuple[str, str]:
    return next((stem, type_) for stem, (type_, pattern) in _FORMS.items() if re.fullmatch(pattern, spoken))


def same_verb(stem: str, text: str) -> bool:
    """The verb stands in the text in any of its forms."""
    return stem in _FORMS and re.search(rf"\b{_FORMS[stem][1]}\b", text.lower()) is not None


def _name(phrase: str | None) -> str:
    plain = _bare(phrase or "")
    if plain in {"i", "me", "we", "us", "myself"}:
        return ME
    return "" if plain in _ANYONE else plain


def _bare(phrase: str) -> str:
    return _ARTICLE.sub("", phrase.strip(" ,.?!")).removesuffix("'s").strip()


def _carries_text(phrase: str | None) -> bool:
    return bool(phrase) and any(word in CARRIERS for word in words(phrase or "")[-1:])
