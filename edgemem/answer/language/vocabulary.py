"""The tables behind the question parser: question words, verbs, relations and filler, as patterns over lower-case English."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["where", "when", "what", "text", "which", "order", "how_many", "how_long", "who", "did_ever", "find", "describe"]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# fmt: off
SUBJECT = r"(?:i|we|you|me|us|anyone|anybody|someone|somebody|the camera|the device|the robot|my glasses|it)"
AUX = r"(?:did|do|does|have|has|had|was|were|is|are|am|can|could|will|would|should|may|might|'ve|'d)"
SEE = (
    r"(?:see|saw|seen|sees|seeing|notice[ds]?|spot(?:s|ted)?|meet|met|encounter(?:ed)?|observed?|watch(?:ed)?|view(?:ed)?|witness(?:ed)?"
    r"|record(?:ed)?|remember(?:ed)?|(?:look|looked|looking) at|c[ao]me across|r[ua]n into|bump(?:ed)? into|catch|caught(?: sight of)?"
    r"|get to see|got to see|have in (?:view|sight)|captured?|film(?:ed)?)"
)
PUT = (
    r"(?:leave|left|put|place[d]?|drop(?:ped)?|lose|lost|forget|forgot|park(?:ed)?|set(?: down)?|lay|laid|store[d]?|keep|kept|hide|hid"
    r"|stash(?:ed)?|misplaced?)"
)
APPEAR = (
    r"(?:appear(?:s|ed)?|show(?:s|ed|n|ing)?(?: up)?|turn(?:ed)? up|pop(?:ped)? up|c[oa]me(?:s)?(?: up| into view| by| along| on| in)?"
    r"|arrived?|visible|on (?:the )?screen|on camera|seen|there|present|around|enter(?:ed)?|pass(?:ed)?(?: by)?|happen(?:ed|ing)?"
    r"|in (?:the )?(?:view|sight|frame|picture|shot|image|video|recording|stream|clip|footage|memory|film|scene|front of me)"
    r"|(?:dr[io]ve|walk(?:ed)?|r[ua]n|fl[ye]w?|ride|rode) (?:past|by)|occur(?:red)?"
    r"|take place|took place|be|been|being|exist(?:ed)?|left|gone|go|went|end(?:ed)?|start(?:ed)?|begin|began|visited"
    r"|found|spotted|noticed"
    r"|recorded|captured|stay(?:s|ed)?|clos(?:e|es|ed)|opens?|departs?|leaves?|works?|lives?)"
)

ALIASES = (
    (re.compile(r"^(?:what|which) (?:time|day|date) (?:was|is) it (?:that|when)\b"), "when"),
    (re.compile(r"^(?:until|till|since) when\b(?= (?:should|do|does|must|can|will|is|are))"), "how long"),
    (re.compile(r"^(?:the )?(?:exact )?time (?:that |when )?(?=i )"), "when did "),
    (re.compile(r"^what (?:is|was) the order of (.+) and (.+)$"), r"which came first \1 or \2"),
    (re.compile(r"\bt ?= ?(?=\d)"), ""),
    (re.compile(r"\bwhat (?:thing |object )?(?:followed|came next after|comes after|came after)\b"), "what after"),
    (re.compile(r"\bwhat (?:thing |object )?(?:preceded|led up to|came before|comes before)\b"), "what before"),
    (re.compile(r"^(?:was|is|were|are) there (.+?),? and what (?:did|does|do|was|were) (?:it|they) say$"), r"what did \1 say"),
)
"""Wordings that are another wording."""

HEADS: list[tuple[re.Pattern[str], Kind, str]] = []
"""Question word -> kind and detail; the first that matches the beginning of the question wins."""


def _head(kind: Kind, pattern: str, detail: str = "") -> None:
    HEADS.append((re.compile(pattern), kind, detail))


_head("where", r"where(?:abouts)?(?:'s|s\b(?= (?:my|the)))?|(?:in|at) (?:which|what) (?:place|room|location|spot|part|scene|surroundings)")
_head("where", r"(?:what|which) (?:place|location|spot)\b")
_head("how_many", r"how (?:many times|often|frequently)|(?:what (?:is|was) )?the number of times|count (?:how often|the times)", "times")
_head("how_many", r"on how many occasions", "times")
_head("how_many", r"how many|count(?: up)?(?= )|(?:what (?:is|was|were) )?(?:the )?(?:total |maximum )?number of|what number of", "at_once")
_head("how_long", r"(?:for )?how long(?! ago)|how much time|(?:what (?:is|was) )?(?:the|for what) duration(?: of)?|for what length of time")
_head("text", r"how much (?:is|was|did|does|were|are|do)|what(?:'s| (?:is|was|did|does)) (?:the )?(?:price|cost) of", "price")
_head("when", r"how long ago|since when|when(?:'s)?\b")
_head("when", r"(?:at |on |in |around |by |from )?(?:what|which) (?:exact |point in )?"
              r"(?:time|moment|point|hour|minute|second|day|date|timestamp|offset)s?\b(?!s? (?:on|shown|written))")
_head("who", r"(?:to |by |for |from |with )?(?:whose|who(?:m|'s)?)\b")
_head("what", r"(?:what|which)(?:'s| is| was)? (?:the )?colou?rs?(?: of)?\b|(?:of|in) (?:what|which) colou?r", "colour")
_head("which", r"which\b|what (?:one|kind|sort|type)s?(?: of)?\b")
_head("what", r"what(?:'s|s\b)?")
_head("describe", r"describe|summari[sz]e|list|recap|recount|tell me (?:about|everything)|name (?=all|every|the)")
_head("describe", r"give me (?:a |an )?(?:summary|overview|list|description)(?: of)?")
_head("find", r"(?:(?:show|find|locate|fetch|retrieve|get|give|bring|display|play|open)(?: me)?|look for|search(?: for)?)\b")
_head("find", r"(?:jump|go|skip|take me) to\b")
_head("did_ever", rf"{AUX}(?:n't)?\b|(?:ever |never )?(?:see|saw|seen|any)\b|is(?:n't)? there|i(?:'ve)? (?:have )?(?:ever )?(?:saw|seen)\b")
QUESTION_WORDS = 13
"""That many heads are question words, which may stand in the middle: "the mug, where is it"."""

LEAD = re.compile(
    r"^(?:(?:hey|hi|hello|ok(?:ay)?|please|so|well|um+|uh+|now|and|but|also|then|edgemem|kindly|just|quickly)[,.! ]+"
    r"|(?:can|could|would|will) you (?:please )?(?:tell|show|remind|help|say)(?: me)?(?: (?:find|remember|if|whether))? ?"
    r"|(?:can|could|would|will) you (?:please )?(?=read|list|describe)|is it true (?:that )?|in (?:total|all),? "
    r"|(?:please )?(?:tell|remind) me[,:]? (?!about|everything)(?:if |whether )?"
    r"|(?:do|can|could|would) you (?:happen to )?(?:know|remember|recall|see|say|find)(?: out)?,? (?:if |whether )?"
    r"|i (?:want|would like|'d like|need|wish|am trying|'m trying|wonder|was wondering|forgot|forget|don't (?:know|remember)"
    r"|can't remember|cannot remember)(?: (?:to (?:know|find out|see|remember|find)))?,? (?:if |whether )?"
    r"|(?:any idea|question|quick question|remember)[,:]? )"
)
TEXT_VERB = (
    r"(?:sa(?:y|id|ys|ying)|reads?|wr[io]tten|wrote|writing|printed|spell(?:s|ed|t)?|engraved|painted|inscribed|inscription|typed"
    r"|advertis\w+|announced?|displayed|displaying|showing|addressed|called|named)"
)
_TEXT_NOUN = (
    r"(?:text|words?|wording|letters?|digits?|letterings?|message|headline|slogan|caption|notice|title|signs?|signboard|nameplate|placard"
    r"|label|inscription|writing|posters?|banner|\w+ number|number(?!s? of)(?: plate)?|licen[cs]e plate"
    r"|(?:pass|zip|post|area|bar|access|door|wifi )?code|password|passcode|pin|price|url|website|web address|e-?mail(?: address)?|address"
    r"|gate|platform|floor|exit|bus|line|train|tram|route|track|flight|street|name|brand|logo|shop"
    r"|(?:opening )?hours|expiry date|phone|telephone)"
)
_CARRIER = (
    r"(?:sign|board|poster|badge|screen|label|note|page|menu|ticket|banner|plate|plaque|card|receipt|display|door|whiteboard|blackboard"
    r"|billboard|package|packet|box|bottle|book|cover|paper|sticker|shirt|tag|wall|monitor|notice)"
)
_WHAT = r"^(?:at |on |in |to )?(?:what|which)"
TEXTUAL = re.compile(
    rf"\b{TEXT_VERB}\b|{_WHAT}(?:'s|s)? (?:(?:is|was|were|are|did|does) )?(?:the |my |on the |that |this )?"
    rf"(?:[\w-]+ ){{0,2}}?{_TEXT_NOUN}\b"
    rf"|{_WHAT}(?:'s| is| was| were| are| stood| stands) (?:there )?on (?:the |that |my |a )(?:[\w-]+ ){{0,2}}?{_CARRIER}\b"
    r"|\bread (?:me )?the\b|\bwhat (?:text|words?|letters)\b|\bcosts?$|\bwhat (?:did|does|do|was|were) (?:it|they) say"
)
"""Asks for something that was read."""
ATTRIBUTES = {
    "number": r"\b(?:number|digits?|code|pin|gate|platform|floor|track|route|flight|line|bus|phone|telephone|plate|room|year)\b",
    "price": r"\b(?:price|cost)\b",
    "name": r"\b(?:name|called|named|badge)\b",
    "address": r"\b(?:url|website|e-?mail|address)\b",
    "time": r"\b(?:hours|opens?|closes?|depart\w*|leaves?)\b",
}
_MARKS = r"\"\u201c\u201d\u00ab\u00bb"
QUOTED = re.compile(rf"[{_MARKS}]([^{_MARKS}]{{2,80}})[{_MARKS}]|(?<=\s)'([^']{{2,80}})'(?=\W|$)")
NAMED_TEXT = re.compile(r"\b(?:the )?(?:words?|text|letters|inscription) ([a-z0-9][\w' -]{0,60})$")

ORDINALS = {
    "first": 1, "1st": 1, "earliest": 1, "initial": 1, "initially": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4,
    "fifth": 5, "5th": 5, "last": -1, "latest": -1, "final": -1, "finally": -1, "most recent": -1, "most recently": -1,
    "lastly": -1, "newest": -1,
}
ORDINAL = re.compile(
    rf"\b(?:for )?(?:the |my )?(?:very )?({'|'.join(sorted(ORDINALS, key=len, reverse=True))})\b"
    r"(?! (?:aid|name|class|hand|floor|page|row|class|grade|language|person))(?: ever)?"
    r"(?: (?:time|occasion|appearance|sighting|occurrence|moment|instance|thing|one|object|item)\b)?(?: (?:that|of|when)\b)?"
)
ORDER = re.compile(
    r"\b(?:c[ao]me(?:s)?|appear(?:ed|s)?|was|were|did i see|saw|seen|show(?:ed|s)? up|happen(?:ed)?|is|see)\b.*"
    r"\b(?:first|last|earlier|later|sooner|before)\b|\bfirst\b.* or "
)
RELATION = re.compile(
    r"\b(?:(?:right|just|directly|immediately|shortly|soon|straight|some ?time|at some point|next|long|anything|something) )*"
    r"(after|before|following|prior to|as soon as|until)\b(?: that\b)?,? (?=\w)"
)
WHILE = re.compile(
    r"(?<=\w) (?:at the (?:same )?(?:time|moment)(?: as| when| that| of)?|while|whilst|during|when|together with|along with|as long as"
    r"|simultaneously with)\b (?=\w)"
)
SIDE = re.compile(
    r"\b(?:(?:right|just|directly|immediately) )?(?:next to|beside|besides|alongside|close to|near(?:by| to)?|in front of|behind"
    r"|around|above|below"
    r"|to the (?:left|right) of|on top of"
    r"|by|with"
    r"|on|under|inside|in) (?=the |a |an |my |that )"
)
PLACE = re.compile(
    r"(?<=\w) (?:in(?:side)?|at|on(?: top of)?|under|near|next to|beside|behind|in front of|by|outside|within|along)"
    r" (?:the|a|an|my|our|that)"
    r" ([\w' -]+)$"
)
MEDIUM = re.compile(
    r"\b(?:in|on|of|during|from|throughout|within|inside) (?:the |this |my |your |our |that |any )?(?:whole |entire )?"
    r"(?:video|stream|recording|clip|film|footage|memory|memories|tape|movie|scene|camera|view|sight|life|frames?|pictures?|images?)\b"
)
"""The recording itself is never the place asked about."""

STOP = _set(
    "a an the this that these those my our your his her their its me i we us it you he she they there here any some anything something ever"
    " never again"
    " also already actually exactly just really perhaps maybe please now then than too did do does done have has had was were is are am be"
    " been being"
    " can could will would should got get of to for as so such both either whether if ' 's at in on from with by all every each visible"
    " time times about"
    " following different along up out happen happened happening moment moments thing things object objects item items one what"
)
TRAIL_ONLY = _set(
    "today yesterday before after seen see saw appear appeared come came around located kept placed right exactly like look"
    " shortly immediately"
    " directly just next anywhere mentioned total"
)
TRAIL = (STOP | TRAIL_ONLY) - {"can", "will", "one"}
TYPO_WORDS = (
    "where", "when", "what", "which", "many", "before", "after", "between", "first", "last", "today", "yesterday", "written",
    "often", "there", "seen", "have", "during", "happened",
)
NOT_TYPOS = _set(
    "fist man men were there these three then than that mane lasts list lost least haven shave hat chat cat watch witch wheat while whale"
    " lather seem seed mary"
)
# fmt: on

_ARTICLE = r"(?:the|an?|my|our|your|any|some|that|this|his|her|their)\b"
_TAIL_AUX = r"(?:did|do|does|have|has|had|was|were|is|are)"  # not "can": trash can
_PEELED = (
    # "did I drive" in "did I drive the car": any verb that stands between a subject and an article
    (
        rf"^(?:'s |{AUX} )?{SUBJECT} (?:(?:ever|last|first|just|really|actually|also|already|then|next|have|had|been) )*"
        r"(?!the\b|a\b|an\b|my\b)"
        rf"[a-z]+(?: (?:up|down|at|on|off|to|out|past|by|through|across|into|with|for|of|in))*(?= {_ARTICLE}|$)"
    ),
    # "I saw", "left"
    rf"^(?:(?:{AUX} )?(?:not )?{SUBJECT} )?(?:{AUX} )?(?:ever |last |first |just )?(?:{SEE}|{PUT})\b(?: (?:of|to|down|at))?",
    # "showed up" before an article, "is there", "kind of", "a picture of"
    (
        rf"^(?:{APPEAR}|came|go) (?=(?:the|an?|my|of|in|on|at)\b)|^(?:that|when|where|if) (?=(?:i|we|the|a|an)\b)"
        r"|^(?:is|was|are|were) (?:there|it)\b"
    ),
    r"^(?:kind|sort|type|picture|photo|photograph|image|frame|shot|view|clip|video)s? of\b",
    # "... was seen", "... did I leave" at the end
    rf" (?:(?:{_TAIL_AUX}|{SUBJECT}) )*(?:{APPEAR}|{SEE}|{PUT}|{_TAIL_AUX})$",
)
PEELED = tuple(re.compile(pattern) for pattern in _PEELED)
"""Peeled off a noun phrase, again and again, until nothing changes."""
CLAUSE = re.compile(r",? (?:that|which|who) (?:(?:i|we|you) |was |were |is |are |had |has |have ).*$")
