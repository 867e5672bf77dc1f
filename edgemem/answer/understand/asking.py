"""What of a text asks, and what is only said around it: greetings, why it is asked, what goes on meanwhile.

People say more than their question: "my son needs it tomorrow, so where did I see the tape measure". What tells why is set apart, so that
the rest is read alone. It stays where the question points at it ("I need the saw, where is it"), and where it tells what was there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from edgemem.answer.understand.clause import read_clause
from edgemem.answer.understand.lexicon import (
    AMBIGUOUS,
    ASKING_VERBS,
    FACTS,
    FILLER,
    FIRST_NAMES,
    GERUNDS,
    KNOWN,
    MENTAL,
    NOW,
    PASTS,
    PERSONS,
    PRESENTS,
    SIGHTINGS,
    STOP,
    is_seeable,
)
from edgemem.answer.understand.parts import tokens_of
from edgemem.answer.understand.phrases import content, noun_phrase
from edgemem.answer.understand.timeref import take_time
from edgemem.answer.understand.wordings import pattern
from edgemem.infer.labels import nouns
from edgemem.words import word_classes


def without_greeting(body: str) -> str:
    while (match := pattern("LEAD").match(body)) and match.end() < len(body):
        body = body[match.end() :].strip()
    before, comma, asked = body.partition(", ")
    return asked if comma and _is_sound(before) and not pattern("POINTS").search(asked) else body  # not "ziploc, where is it"


def _is_sound(part: str) -> bool:
    """An unknown word that only calls for attention: "uff", "okay baba"."""
    unknown = [word for word in part.split() if word not in FILLER]
    known = (word in KNOWN | STOP | FIRST_NAMES or word_classes(word) or nouns().senses(word) or not word.isalpha() for word in unknown)
    return 0 < len(unknown) <= 2 and not any(known)


def without_lead(body: str) -> str:
    """Without greetings and "do you know": the question itself."""
    body = without_greeting(body)
    asked = pattern("EMBEDDED").search(body)
    before = set(tokens_of(body[: asked.start()])) if asked else set()
    bare = before & MENTAL and before <= STOP | MENTAL | {","} and "when" not in before
    requested = asked and pattern("REQUEST").fullmatch(body[: asked.start()].strip()) and _named(body[asked.end() :])
    if asked and (bare or requested):
        body = body[asked.start() :]
    return body or "what did i see"


def main_clause(body: str) -> tuple[str, str]:
    """What stands before the question itself ("the mug, where is it"), and the question, both without why it is asked."""
    said = [part.strip() for part in pattern("APART").split(_without_cut(body)) if re.search(r"\w", part)] or [body]
    parts = _without_reasons([part.strip(" ?!.;") for part in said])
    cried = {part.strip(" ?!.;") for part in said if part.endswith("!")}
    cried = cried if any(part not in cried and pattern("ASKING").match(part.strip(" '")) for part in parts) else set[str]()
    asks = [part not in cried and pattern("ASKING").match(part.strip(" '")) is not None for part in parts]
    if len(parts) > 1 and pattern("WHEN_CLAUSE").match(parts[0]):
        later = asks.index(True, 1) if True in asks[1:] else 0
        return "", f"{pattern('SECOND').split(', '.join(parts[later:]))[0]} {parts[0]}" if later else ", ".join(parts)
    bare = [part.strip(" '") if asks[0] else without_lead(pattern("JOINT").sub("", part.strip(" '"))) for part in parts]
    wh = [pattern("WH").match(one) is not None and part not in cried for one, part in zip(bare, parts, strict=True)]
    joined = [part not in cried and pattern("ASKING").match(pattern("JOINT").sub("", part.strip(" '"))) is not None for part in parts]
    told_to = [pattern("TOLD_TO").match(part) is not None for part in bare]
    first = next((found.index(True) for found in (wh, joined, told_to) if True in found), 0)
    asked = pattern("SECOND").split(pattern("JOINT").sub("", ", ".join(parts[first:])))[0]
    topic = " , ".join(parts[:first])
    told = content(topic) or take_time(topic)[0] or pattern("VAGUE").fullmatch(topic)
    return (topic, asked) if first and told else ("", asked)


def second_question(text: str, core: str) -> str:
    """Another question behind the first: "what film is on, and where is the car". When it was is told anyway."""
    joints = pattern("SECOND").finditer(text) if core else ()
    others = (text[joint.end() :] for joint in joints if "or" not in joint[0].split())  # not "did I see it, or was it a dream"
    left = (one for one in others if set(content(one)) - set(content(core)) and not pattern("ASKS_WHEN").search(one))
    return next(left, "").strip(" ?.!")


def two_questions(text: str) -> tuple[str, str]:
    """A question and another sentence that asks for more than when or how often: "where is the car? Was it red?"; the text and ""."""
    first, mark, rest = text.partition("? ")
    rest = re.sub(r"^(?:and|also|but|oh|plus|if (?:so|not))\b,? ", "", rest).strip(" ?.!")
    asks = mark and all(pattern("ASKING").match(without_lead(part)) for part in (first, rest))
    tail = re.match(
        r"any (?:\w+ ?){1,2}$|(?:have|has|do|did|can|could|would|will|are) you\b|is (?:that|this|it) (?:true|right|correct|so|recorded)\b",
        rest,
    )
    bare = tail or pattern("BARE_TOO").fullmatch(rest) or pattern("ASKS_WHEN").search(rest) or pattern("BARE_ASK").match(rest)
    apart = (
        asks and not bare and not re.match(r"how (?:often|many)\b", rest) and set(content(rest)) - set(content(first)) and content(first)
    )
    return (f"{first}?", rest) if apart else (text, "")


def _without_reasons(parts: list[str]) -> list[str]:
    """Without why it is asked and what goes on meanwhile: "I'm cooking", "he needs it tomorrow".

    It stays where it names what the rest calls "it": "I need the saw, where is it".
    """
    if len(parts) == 1:
        return parts
    asking = [part for part in parts if not pattern("BARE_ASK").match(part.strip(" '"))]
    kept = [part for i, part in enumerate(asking) if not (_is_reason(part.strip(" '")) or (i in {0, len(asking) - 1} and _is_begun(part)))]
    points = any(pattern("POINTS").search(part) for part in kept)
    bare = points or any(pattern("OF_SEEN").search(part) for part in kept)
    said = (not any(map(asks_of_it, kept)) and any(map(_names_thing, kept))) or (
        not bare and any(set(content(part)) - MENTAL - ASKING_VERBS for part in kept)
    )
    first = 0 if said else asking.index(kept[0]) if kept else 0
    begun = next((i for i, part in enumerate(kept) if pattern("WH").match(part.strip(" '"))), len(kept))
    kept = [part for i, part in enumerate(kept) if i <= begun or _asks(part) or not _says_nothing(part)]
    return [*asking[:first], *kept] or asking or parts


def _says_nothing(part: str) -> bool:
    """What somebody adds that names neither a thing nor a place: "I was half asleep"."""
    phrases = read_clause(tokens_of(take_time(part)[1])).phrases
    return pattern("TOLD").match(part) is not None and not any(phrase.prep or is_seeable(phrase.text) for phrase in phrases)


def _names_thing(part: str) -> bool:
    """Names what can be seen, but for where it was: "where is it in the newspaper" names none."""
    found = read_clause(tokens_of(pattern("MEDIUM").sub(" ", take_time(part)[1]))).phrases
    named = [phrase.text for phrase in found if not phrase.prep]
    return any(is_seeable(one) and not _is_vague(one) for one in named)


def _is_reason(part: str) -> bool:
    """Why it is asked, or what somebody does now or will do: "in case he asks", "my son needs it"."""
    doing = pattern("MEANWHILE_OF").match(part)
    verb, *after = (doing[2] or "is", *tokens_of(part[doing.end() :])[:1]) if doing else ("",)
    if _asks(part):
        return part.startswith("before ") and _is_now(verb)  # "before I ask what kind it was"
    if doing and doing["thing"] and verb in {"is", "are"}:  # "my heel is bleeding", not "our car is beside the pillar"
        return any(word.endswith("ing") for word in after)
    return pattern("REASON").match(part) is not None or (verb not in FACTS and any(map(_is_now, (verb, *after))))


def _is_begun(part: str) -> bool:
    """What somebody does, in front of a question or behind it: "heading home now"."""
    begun = part.strip(" '").split()[:2]
    return begun[0] in _BEGUN and not nouns().senses(" ".join(begun)) and not _asks(part)  # not "frying pan"


_BEGUN = GERUNDS - {"boarding", "going", "looking", "measuring", "meeting", "shopping"}


def mentioned(text: str) -> tuple[str, ...]:
    """Everything in a text that can be seen, whatever is asked about it."""
    clauses = [read_clause(tokens_of(part.rstrip(".?! "))) for part in pattern("APART").split(text) if part and content(part)]
    phrases = [phrase.inner if _is_vague(phrase.words[0]) else phrase.words for one in clauses for phrase in one.phrases]
    named = [" ".join(_trimmed(words)) for words in phrases]
    return tuple(dict.fromkeys(one for one in named if one and one.split()[-1] not in PERSONS and is_seeable(one)))


def _trimmed(words: Sequence[str]) -> Sequence[str]:
    """Without stop words in front of it and vague words at its end: "the toucan tally"."""
    while words and words[0] in STOP:
        words = words[1:]
    while words and _is_vague(words[-1]) and not (len(words) > 1 and nouns().senses(" ".join(words[-2:]))):  # not "drill bit"
        words = words[:-1]
    return words


def without_vague(thing: str) -> str:
    """What was seen of it: "dolphin clip" is a dolphin."""
    words = thing.split()
    seen = _trimmed(words) if words and words[-1] in SIGHTINGS else words
    return " ".join(seen) or thing


def _named(part: str) -> str:
    """The thing that a part names, "" where its name tells nothing: "the last one"."""
    phrase = noun_phrase(part)
    return "" if _is_vague(phrase) else phrase


def _is_vague(phrase: str) -> bool:
    """A word for when or how it was seen: "moment"."""
    return pattern("VAGUE_THING").fullmatch(phrase) is not None


def _is_now(verb: str) -> bool:
    return verb in NOW | (PRESENTS - AMBIGUOUS) or (verb.endswith("s") and verb not in PASTS and "VERB" in word_classes(verb))


def _asks(part: str) -> bool:
    """Somewhere it asks, or names what is wanted: "I need the time of it"."""
    return any(pattern(name).search(part.removeprefix("if ")) is not None for name in ("EMBEDDED", "WANTED"))


def _without_cut(body: str) -> str:
    """The same for a clause that hangs on the question: "when did I see the pear, since I'm keeping a diary"."""
    shorter = pattern("CUT").sub(lambda match: match[0] if _asks(match[0]) else "", body)
    return shorter if content(shorter) else body


def asks_of_it(part: str) -> bool:
    """Asks in which place something is that was named before: "which drawer is it in"."""
    return pattern("PLACE_OF_IT").search(part) is not None


def story_of(topic: str) -> str:
    """Of what is told before a question the last that names something: "I cut my hand, there was a plaster here, where is it?"."""
    parts = topic.split(" , ")
    told = [part for part in reversed(parts) if pattern("TOLD").match(part) or pattern("MET_WITH").search(part)]
    timeless = [take_time(part)[1] for part in (*told, *parts) if told]
    named = list(filter(_named, timeless))
    met = [(part, pattern("MET_WITH").search(part)) for part in named]
    named = [of_meeting(part) for part, found in met if found] + [part for part, found in met if not found]
    return next((part for part in named if noun_phrase(part).rpartition(" ")[2] not in PERSONS), (*named, *told, "")[0])


def of_meeting(part: str) -> str:
    """From where it tells what was there: "nobody believes that I saw an ape"."""
    found = pattern("MET_WITH").search(part)
    return part[found.start() :] if found and noun_phrase(part[found.start() :]) else part


def asks_itself(part: str) -> bool:
    """Another question or search behind what looks like a command: "cut my thumb. Find the plaster"."""
    plain = re.sub(r"^(\w+)n't\b", r"\1", part)  # "didn't I"
    return not pattern("BARE_ASK").match(part) and any(pattern(name).match(plain) for name in ("ASKING", "SEARCH"))
