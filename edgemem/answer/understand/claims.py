"""What is claimed of a thing or asked about it: the deed, a comparison, a state."""

from __future__ import annotations

import re
from itertools import pairwise

from edgemem.answer.understand import lexicon
from edgemem.answer.understand.lexicon import STATES, VERBS
from edgemem.answer.understand.parts import Clause, Phrase, VerbPhrase, tokens_of
from edgemem.answer.understand.record import Kind
from edgemem.infer.phrase import COLOUR_WORDS
from edgemem.words import word_classes

_HAD = {"drunk": lexicon.DRINKS, "eaten": lexicon.FOODS, "worn": lexicon.CLOTHES}
"""What it means to have things of a class."""


def claim(kind: Kind, clause: Clause, text: str, placed: bool) -> str:
    """What is claimed of a thing or asked about it: the deed, a comparison, a state."""
    deeds = sorted(clause.deeds, key=lambda deed: deed.relative)
    linked = linked_state(clause, deeds[0] if deeds else None)
    if said := either_state(text) or (linked.text if linked else ""):
        return said
    left = bool(clause.state) or len(deeds) > 1 or text.rpartition(" ")[2] in STATES
    if [deed.base for deed in deeds] == ["have"] and not text.startswith(("do ", "does ")):  # "do we have any coffee"
        first = {word for phrase in clause.phrases if not phrase.prep for word in (phrase.words[0], phrase.words[-1])}
        if had := next((deed for deed, things in _HAD.items() if first & things), ""):
            return had
    if seen := re.search(r"\b(ha[sd]|have) (?!i |we |you |y'all )(?:\w+ )*?seen\b", text):
        return f"{seen[1]} seen" if kind in {"yes_no", "who"} else ""
    deed = next((deed for deed in deeds if _says_more(deed, kind, placed, left)), None)
    done = _named(deed) if deed and not (deed.relative and clause.state) else ""
    compared = clause.state if clause.state.startswith(("more ", "less ")) else _compared(text, kind, bool(done))
    if compared == "same" and done:
        return f"same as {done}"
    said = " ".join(dict.fromkeys(filter(None, (done, compared or ("" if done else _state(clause, text, kind))))))
    if not said and "been to" in text:
        return "been"
    return said or (_still_or_other(clause, text, placed) if kind == "yes_no" else "")


def _still_or_other(clause: Clause, text: str, placed: bool) -> str:
    """That a thing is still where it was, or what it is said to be: "a bird" of "was the beaver a bird"."""
    if placed and "still" in text.split():
        return "still there"
    is_ = text.partition(" ")[0] in lexicon.BE and text.split()[1:2] != ["there"] and not any(not deed.relative for deed in clause.deeds)
    two = clause.phrases[:2] if is_ and len(clause.phrases) > 1 else ()
    return two[1].text if two and not (two[0].prep or two[1].prep or two[1].chained) else ""


def linked_state(clause: Clause, deed: VerbPhrase | None) -> Phrase | None:
    """The state that a thing has or gets: "sour" of "the milk turned sour"."""
    if deed is None or deed.base not in lexicon.LINKING or deed.particle:
        return None
    after = next((phrase for phrase in clause.phrases if phrase.at > deed.at), None)
    if after is None or after.prep or after.named or after.text in {"left", "right"}:  # "turned left"
        return None
    return after if "ADJ" in word_classes(after.words[-1]) else None


def _says_more(deed: VerbPhrase, kind: Kind, placed: bool, state: bool) -> bool:
    """A deed that is more than seeing, saying, being there or putting somewhere."""
    sees = deed.base in {"start", "begin", "keep"} and VERBS.get(deed.then) in lexicon.SEEING  # "started seeing"
    verb = (deed.base, deed.particle)
    more = deed.then or (deed.particle and deed.base not in lexicon.SAYING and verb not in {("look", "at"), ("be", "away")})
    if more and not sees:
        return verb != ("end", "up") and not (deed.base in lexicon.PLACING and deed.particle == "down")
    if sees or (kind == "where" and deed.base in {"find", "disappear", "vanish"}):
        return False
    if deed.base in lexicon.PLACING:
        return not (kind in {"where", "which"} or placed or state or (deed.pronoun in {"i", "we"} and deed.base != "leave"))
    if deed.base in lexicon.WRITING and kind in {"what", "which"} and deed.pronoun not in {"i", "we"}:
        return False
    if deed.base == "look":
        return kind == "where"
    moved = deed.base in {"go", "come"} and kind in {"where", "what", "order"}
    return not moved and deed.base not in _SEEN_ONLY | (lexicon.SAYING - lexicon.TALKING) | {"be", "have", "get"}


_SEEN_ONLY = lexicon.SEEING - {"meet", "watch", "find", "record", "film", "catch"}


def _named(deed: VerbPhrase) -> str:
    if deed.base == "do":
        return "doing" if deed.said == "doing" else "done"
    came = "came" if deed.base == "come" and deed.particle else lexicon.participle(deed.base, deed.said)
    return " ".join(filter(None, (came, deed.then, deed.particle)))


_MORE = re.compile(
    r"\b(?:more|less) (?:than (?:one|once|twice|two|three|\d+)\b|often|\w+(?= than\b|,))|\b(?:more|fewer|less)\b(?=.*\b(?:or|than)\b)"
)
_RANK = re.compile(r"\b(first|last|earlier|later|sooner)\b")
_LIKE = re.compile(r"\b(\w{3,}er) (?:than\b|to the\b)|\b(?:is|was|are|were) (?!there)(?:\w+ )*?(\w{3,}er)\b(?=,|$)|\b(same|longer)\b")


def _compared(text: str, kind: Kind, done: bool) -> str:
    """What things are compared by: "more often", "taller" (than), "first"."""
    came = re.search(r"\b(?:came|come)\b", text)
    if kind == "order" and (done or came or text.startswith(("which", "what"))) and (ranked := _RANK.search(text)):
        return f"came {ranked[0]}" if came and not done else ranked[0]
    if kind in {"yes_no", "which", "who"} and (more := _MORE.search(text)):
        return more[0] if " than " in more[0] or more[0].endswith("often") else more[0].split()[0]
    found = _LIKE.search(text) if kind in {"yes_no", "which"} else None
    like = next(filter(None, found.groups())) if found else ""
    return like if like == "same" or lexicon.is_comparative(like) else ""


def either_state(text: str) -> str:
    """Two states or colours to choose from, as they stand: "open or shut"."""
    found = re.search(r"\b(\w+) or (?:just )?(\w+)$", text.strip())
    states = found is not None and all(
        word in STATES | COLOUR_WORDS.keys() | {"on", "shut"} or word.endswith(("ed", "ing")) for word in found.groups()
    )
    return found[0] if found and states else ""


def _state(clause: Clause, text: str, kind: Kind) -> str:
    """The state of a thing, as it was found in its place or as any word that is one: "on" of "the light on in the hall"."""
    if clause.state or kind not in {"yes_no", "which", "how_many", "how_why", "what", "how_long"}:
        return clause.state
    tail = tokens_of(text)
    switched = next((word for word, following in pairwise(tail) if word in {"on", "off"} and following in lexicon.PREPOSITIONS), "")
    told = STATES - {"same", "still", "own"}
    states = [word for before, word in pairwise(["", *tail]) if word in told and before not in {"the", "my", "our"}]
    particles = lexicon.PARTICLES if kind == "how_long" else {"on", "off"}
    alone = kind == "how_long" or (not clause.deeds and (kind == "yes_no" or len(clause.phrases) == 1))
    last = tail[-1] if tail and alone and tail[-1] in particles else ""
    return (switched if kind == "yes_no" else "") or next(reversed(states), "") or last
