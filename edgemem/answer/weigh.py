"""How likely it is that a piece of evidence answers a question: a logistic model for words, the confidence of the matcher for pictures.

The model has few features, each of them with a sign that it must have; the weights are fitted by `tools/eval/fit.py` and stand in
`weights.json` with what they were fitted on. What the matcher makes its confidence of (`retrievers.match.Features`), the firing of labels
and agreement with events told no more than the confidence does: area under the curve .86 to .88 against .88 on the generator that nothing
was fitted on. The probabilities of both can be compared: the best one says which channel answers, and whether any does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec

from edgemem.answer.gather import Candidate, Lead
from edgemem.answer.understand import Parsed, forms
from edgemem.answer.understand.lexicon import APPEARING, ATTRIBUTES, HAVING, MOVING, PLACING, SAYING, SEEING, VERBS
from edgemem.answer.understand.wordings import pattern
from edgemem.answer.understand.words import numbered, singular, words
from edgemem.records import Record


class Model(Record, frozen=True):
    """Weights by feature, and the constant."""

    constant: float
    weights: dict[str, float]
    least: float
    """Probability from which on an answer is given."""

    def probability(self, features: Mapping[str, float]) -> float:
        """1 / (1 + exp(-(constant + sum of weight x feature)))."""
        total = self.constant + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-total))


class Weights(Record, frozen=True):
    """What `tools/eval/fit.py` found."""

    words: Model
    letters: Model
    granted: float
    ordinal: float
    surely: float
    """Confidence from which on it is said when a thing was there, when first or last, and that it was there at all."""
    source: str


@cache
def weights() -> Weights:
    """The weights that edgemem ships."""
    return msgspec.json.decode(files("edgemem.answer").joinpath("weights.json").read_bytes(), type=Weights)


_TO_COME = re.compile(
    r"\b(?:when|where|what (?:time|hour|day|date)|which (?:day|date))(?: (?:on|in|at|this|next) [\w ]+?)?"
    r"(?:'s| (?:does|do|is|are|will|can|should|must|am))\b"
    r"|^(?:is|are|will|does|do|can|should|must)\b(?! (?:i|we|you|there)\b)"
    r"|\b(?:when|what time|which (?:day|hour))\b(?! (?:did|was|were|had|i|we)\b)[\w' ]* "  # "what time the film starts"
    r"(?:opens|closes|starts|begins|ends|finishes|leaves|departs|arrives|lands|(?:takes|sets|kicks) off)\b"
)
_NOW = re.compile(r"\b(?:is|are|does|do|will|should|must|can|need|take|takes|'s)\b")
_OF_THAT = re.compile(r"\bwhen(?:'s| is| are) (?:it|that|this|they|those|these)(?: from)?\W*$")
"""May mean when that was: "a moth or a butterfly, when is that"."""
_AT_WHAT = re.compile(r"\b(?!was\b)(\w+s)(?: off| out| up)? (?:at |on )?(?:when|(?:what|which) (?:time|hour|day|date))\b(?: exactly)?\W*$")
_AWAY = re.compile(
    r"\bwhere(?: else)? (?:should|shall|must) (?:i|we|he|she|they|you|the|my|our)\b"
    r"|\bwhere(?:abouts)? (?:am|are|is) (?:i|we|he|she|they) (?:\w+ )?going\b"
    r"|\bwhere(?:abouts)? (?:is|are|was|were) [\w' ]+ off(?: to)?(?=\W*$|,)"
    r"|\bwhere(?:abouts)? (?:do|does|would) [\w' ]+ (?:go|end up|lead|run)(?=\W*$|,| (?:if|when|once)\b)"
    r"|\bwhere(?:abouts)?\b[^.?!]* \w+ing (?:off |out )?(?:to|for|towards)\W*$"
    r"|\bwhere(?:abouts)?\b[^.?!]*\b(?:head(?:ing|ed)?|bound|fly(?:ing)?|on (?:its|his|her|their) way)"
    r"(?: off| out)?(?: to| for)?(?=\W*$|,)"
)
"""Where to: no picture shows what lies ahead."""
_PAST = re.compile(r"\b(?:was|were|did|had|been)\b")
_STATED = frozenset(("price", "code", "number", "name", "address", "topic", "time", "duration"))
"""Forms of answers that are said or written rather than shown."""


def stated_prior(p: Parsed) -> float:
    """How much the wording points at words rather than pictures, 0..1. It only weighs."""
    at_what = _AT_WHAT.search(p.question)  # "it takes off at what time"
    comes = (
        _TO_COME.search(p.question)
        or pattern("SCHEDULED").search(p.question)
        or (at_what is not None and p.verb == VERBS.get(at_what[1]) != at_what[1])
    )
    to_come = comes and not (p.things and not p.person and pattern("TURNS_UP").search(p.question))
    seen = p.kind in {"when", "yes_no"} and p.verb in SEEING and not to_come
    if (p.hint in {"said", "read"} or p.quote) and not seen:
        return 1.0
    of_it = p.near is not None and p.near.channel == "frame" and not _NOW.search(p.text)  # "how long?", of a picture that was told
    if seen or (p.kind in {"order", "how_many", "how_long"} and (happened(p) or of_it)):
        return 0.0
    if p.kind == "when":
        return 0.0 if not to_come else 0.5 if p.things and _OF_THAT.search(p.question) else 0.8
    if p.kind == "who" or p.form in _STATED:
        return 0.9
    if p.kind in {"what", "which"} and p.form != "colour":
        now = p.verb not in SEEING and _NOW.search(p.question)  # "what's the last thing I saw" is over
        if now or p.person or p.verb not in SEEING | HAVING | {""}:
            return 0.7
    told = _AWAY.search(p.question) or pattern("OBLIGED").search(p.question) or pattern("FOR_LATER").search(p.question)
    read = p.kind != "yes_no" and any(singular(one) == one and any(map(str.isdigit, one)) for one in p.things)  # "number 82", not "3 mugs"
    return 0.8 if told or read else 0.5 if to_come else 0.2


def word_features(p: Parsed, one: Candidate) -> dict[str, float]:
    """Features of one candidate. All but "misfits" may only speak for it; "cosine" and "above" need an engine for the meaning of words."""
    right = p.hint == ("said" if one.channel == "speech" else "read")
    person = p.kind == "who" and forms.names(one.text, words(p.question), persons=True)  # "my brother" may be who it is
    return {
        "held": one.held, "cosine": max(0.0, one.cosine), "above": max(0.0, min(one.above, 8.0)) / 8,
        "misfits": float(not (person or forms.fits(p.form, one.text, asked_already(p)))), "told": stated_prior(p), "channel": float(right),
    }  # fmt: skip


def asked_already(p: Parsed) -> frozenset[str]:
    """Words of the question that are no answer to it: none of its choices, and not the one who is asked about ("who is Robert")."""
    if p.kind == "who" and p.person[:1].isupper() and not p.things and p.verb in {"", "be"}:
        return frozenset()
    said = {*numbered(p.question), *re.findall(r"[^\W_][\w'-]*", p.question)}
    return frozenset(said) - set(words(" ".join(p.choices)))


def _of_words(one: Candidate) -> Model:
    return weights().words if one.cosine else weights().letters


def stated(p: Parsed, one: Candidate) -> float:
    """Probability that these words answer the question."""
    return _of_words(one).probability(word_features(p, one))


def heard_right(one: Candidate) -> float:
    """Probability that what answers was heard right. What was read is taken as it is."""
    clarity = min(max(one.clarity, 0.01), 1.0)  # whoever recognises speech may give any number
    odds = math.log(clarity / (1.001 - clarity))
    return 1 / (1 + math.exp(-(HEARD[0] + HEARD[1] * odds))) if one.channel == "speech" else 1.0


HEARD = (-0.28, 1.55)
"""Constant and weight of the log odds of Whisper's confidence, fitted on 240 sentences word for word and 144 numbers
(`tools/eval/heard.py`). Of 80 utterances of life logs with a confidence of .6 to .75 39 % were right but for small words, of .75 to .85
87 %, above all 20."""


def shown(p: Parsed, lead: Lead) -> float:
    """Probability that the pictures answer it. What was read or written stands for a thing as surely as its words agree."""
    name_only = lead.basis == "text" and p.kind == "what" and not (p.things or p.quote or p.form)
    said = p.hint == "said" and (p.kind == "yes_no" or p.verb in SAYING)
    unsaid = said and lead.basis == "text" and lead.episodes[0].evidence[0].channel != "speech"  # "the gate" was read, not said
    if name_only or unsaid or not _names_seen(lead):  # that a name was read is no answer to "what is Dr Patel a specialist in"
        return 0.0
    read = lead.basis == "text" and forms.fits(p.form, lead.episodes[0].evidence[0].text, asked_already(p))
    return lead.confidence if read or fits_pictures(p) else 0.0


def _names_seen(lead: Lead) -> bool:
    """It came up, and its name is one of a thing: not what is asked of one or a word for where it is ("address", "place"), nor a word that
    means nothing, whatever the labels make of it.
    """
    vague = lead.phrase in ATTRIBUTES or pattern("VAGUE_THING").fullmatch(lead.phrase) is not None
    return bool(lead.episodes) and lead.named and not (lead.basis == "frame" and vague)


_PICTURED = frozenset(("", "time", "date", "place", "colour", "duration", "person"))


def happened(p: Parsed) -> bool:
    """The question is about what was, not about what is so in general or still to come."""
    return _PAST.search(p.text) is not None


_SURELY_WORDS = 0.7
"""From this prior on no picture answers the question."""


def fits_pictures(p: Parsed) -> bool:
    """A picture shows when, where, whether, how often and in which colour; it knows no names and no numbers, and nothing to come."""
    return p.form in _PICTURED and stated_prior(p) < _SURELY_WORDS


_BY = frozenset(("about", "along", "around", "at", "by", "past", "up"))
"""What goes with a deed that a picture shows."""


def is_seen(p: Parsed) -> bool:
    """Pictures can show what is claimed: that a thing was there, not that it was bought, locked or somebody's."""
    if p.kind in {"yes_no", "how_long"} and p.verb in PLACING and not (p.place or p.predicate):
        return False  # "did I lose it", "how long have I kept it"
    if not p.predicate or p.form == "colour" or pattern("MET").fullmatch(p.predicate):
        return True
    said = p.predicate.split()
    deeds = {VERBS[word] for word in said if word in VERBS}
    if p.kind == "yes_no":  # "did the dog come by", not "did it run away", "did I lose it"
        return bool(deeds) and deeds <= SEEING | (HAVING - MOVING) and all(word in VERBS or word in _BY for word in said)
    by_me = any(VERBS.get(done[1]) == p.verb for done in pattern("BY_ME").finditer(p.question))  # "when did I buy the mug" is not seeing it
    if p.kind in {"when", "where", "how_many"} and p.hint != "said" and not by_me:  # "when did the baby cry for the dog"
        return True
    return p.verb in SEEING | HAVING | PLACING or (bool(deeds) and deeds <= SEEING | HAVING | PLACING | APPEARING)


def is_likely(share: float, one: Candidate) -> bool:
    """So likely an answer, words are told."""
    return share >= _of_words(one).least


def is_shown(p: Parsed, lead: Lead) -> bool:
    """The pictures are likely enough an answer. "When did I see it" takes for granted that it was there, "did I see it" does not.

    Of a thing that was there the picture of its first or last time is right less often than the best one, so that more is asked.
    """
    in_row = p.ordinal and p.kind in {"when", "where"} and not p.anchors
    granted = weights().ordinal if in_row else weights().granted
    return shown(p, lead) >= (granted if takes_for_granted(p) else weights().surely)


def is_there(lead: Lead) -> bool:
    """What a question only refers to ("after the gate sign") was likely enough seen or read, whatever it asks."""
    return _names_seen(lead) and lead.confidence >= weights().granted


def takes_for_granted(p: Parsed) -> bool:
    """The question says that the thing was there. "Where is it" does not say that it was ever seen, "show me that" does."""
    if p.kind == "yes_no":  # "did I see it before the rocket" asks for the order only
        return p.relation in {"before", "after"} and bool(p.anchors)
    return p.kind != "where" or p.verb in SEEING or happened(p) or pattern("PLAY").match(p.question) is not None
