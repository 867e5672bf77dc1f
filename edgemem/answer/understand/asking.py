"""What of a text asks, and what is only said around it: greetings, why it is asked, what goes on meanwhile.

People say more than their question: "my son needs it tomorrow, so where did I see the tape measure". What tells why is set apart, so that
the rest is read alone. It stays where the question points at it ("I need the saw, where is it"), and where it tells what was there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from edgemem.answer.understand import lexicon
from edgemem.answer.understand.clause import read_clause
from edgemem.answer.understand.lexicon import MENTAL, PERSONS, STOP, is_seeable
from edgemem.answer.understand.parts import tokens_of
from edgemem.answer.understand.phrases import content, noun_phrase
from edgemem.answer.understand.timeref import CALENDAR, take_time
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
    unknown = [word for word in part.split() if word not in lexicon.FILLER]
    words = lexicon.KNOWN | STOP | lexicon.FIRST_NAMES | CALENDAR
    known = (word in words or word_classes(word) or nouns().senses(word) or not word.isalpha() for word in unknown)
    return 0 < len(unknown) <= 2 and not any(known)


def without_lead(body: str) -> str:
    """Without greetings and "do you know": the question itself."""
    body = without_greeting(body)
    asked = pattern("EMBEDDED").search(body)
    before = set(tokens_of(body[: asked.start()])) if asked else set()
    bare = before & MENTAL and before <= STOP | MENTAL | {","}
    requested = asked and pattern("REQUEST").fullmatch(body[: asked.start()].strip()) and _named(body[asked.end() :])
    if asked and (bare or requested):
        body = body[asked.start() :]
    return body or "what did i see"


def main_clause(body: str) -> tuple[str, str]:
    """What stands before the question itself ("the mug, where is it"), and the question, both without why it is asked."""
    said = [part.strip() for part in pattern("APART").split(_without_cut(body)) if re.search(r"\w", part)] or [body]
    parts = _without_reasons([part.strip(" ?!.;'") for part in said])
    cried = {part.strip(" ?!.;'") for part in said if part.endswith("!")}
    begins = [pattern("JOINT").sub("", part) for part in parts]

    def found(name: str, texts: list[str]) -> list[int]:
        fit = [i for i, one in enumerate(texts) if pattern(name).match(one)]
        return [i for i in fit if parts[i] not in cried] or fit  # what is cried asks only where nothing else does

    asks = found("ASKING", parts)
    later = next((i for i in asks if i), 0)
    clause = later - 1 if later and _stands_alone(parts, later, asks) else 0
    if len(parts) > 1 and pattern("WHEN_CLAUSE").match(parts[clause]) and (later or not pattern("WH").match(parts[0])):
        return "", f"{pattern('SECOND').split(', '.join(parts[later:]))[0]} {parts[clause]}" if later else ", ".join(parts)
    bare = parts if 0 in asks else list(map(without_lead, begins))
    first = next((fit[0] for fit in (found("WH", bare), found("ASKING", begins), found("TOLD_TO", bare)) if fit), 0)
    asked = pattern("SECOND").split(pattern("JOINT").sub("", ", ".join(parts[first:])))[0]
    topic = " , ".join(parts[:first])
    told = content(topic) or take_time(topic)[0] or pattern("VAGUE").fullmatch(topic)
    return (topic if told else "", asked)


def _stands_alone(parts: Sequence[str], later: int, asks: Sequence[int]) -> bool:
    """The clause in front of the question is all that it needs: "let me think. Before the mug, what was there?"."""
    told = pattern("WHEN_CLAUSE").match(parts[0]) or 0 in asks or any(take_time(part)[0] for part in parts[: later - 1])
    return not (told or pattern("POINTS").search(" ".join(parts[later - 1 :])))


def second_question(text: str, core: str) -> str:
    """Another question behind the first: "what film is on, and where is the car"."""
    joints = pattern("SECOND").finditer(text) if core else ()
    others = (text[joint.end() :] for joint in joints if "or" not in joint[0].split())  # not "did I see it, or was it a dream"
    return next((one for one in others if _asks_more(one, core)), "").strip(" ?.!")


def two_questions(text: str) -> tuple[str, str]:
    """A question and another sentence that asks for more: "where is the car? Was it red?"; the text and "" where there is none."""
    first, _, rest = text.partition("? ")
    rest = re.sub(r"^(?:and|also|but|oh|plus|if (?:so|not))\b,? ", "", rest).strip(" ?.!")
    both = not pattern("TAG").match(rest) and all(pattern("ASKING").match(without_lead(part)) for part in (first, rest))
    seen_too = pattern("WH").match(first) and pattern("WHILE").search(rest) and not pattern("SEEN").search(first)
    return (f"{first}?", rest) if both and (seen_too or _asks_more(rest, first)) else (text, "")


def _asks_more(other: str, first: str) -> bool:
    """It names what the first question does not. When it was is told anyway, but not when first of what was last."""
    if _rank(other) not in {"", _rank(first)}:
        return True
    return bool(set(content(other)) - {*content(first), "one", "ones"}) and not pattern("ASKS_WHEN").search(other)


def _rank(part: str) -> str:
    """The place in a row that it names: "last"."""
    return next(iter(pattern("ORDINAL").findall(part)), "")


def _without_reasons(parts: list[str]) -> list[str]:
    """Without why it is asked and what goes on meanwhile: "I'm cooking", "he needs it tomorrow".

    It stays where it names what the rest calls "it": "I need the saw, where is it".
    """
    if len(parts) == 1:
        return parts
    asking = [part for part in parts if not pattern("BARE_ASK").match(part)]
    kept = [part for i, part in enumerate(asking) if not (_is_reason(part) or (i in {0, len(asking) - 1} and _is_begun(part)))]
    attribute = bool(kept) and all(pattern("ATTRIBUTE_ALONE").fullmatch(part) for part in kept)  # "I fly to Rome. Which gate?"
    bare = attribute or any(pattern(name).search(part) for name in ("POINTS", "OF_SEEN") for part in kept)
    said = (not attribute and any(map(_names_thing, kept)) and not any(pattern("PLACE_OF_IT").search(part) for part in kept)) or (
        not bare and any(set(content(part)) - MENTAL - lexicon.ASKING_VERBS for part in kept)
    )
    first = 0 if said else asking.index(kept[0]) if kept else 0
    begun = next((i for i, part in enumerate(kept) if pattern("WH").match(part)), len(kept))
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
    doing = None if _asks(part) else pattern("MEANWHILE_OF").match(part)
    verb, *after = (doing[2] or "is", *tokens_of(part[doing.end() :])[:1]) if doing else ("",)
    if doing and doing[0].endswith("'s") and after and _is_owned(after[0]):  # "my sister's feet", not "my sister's tired"
        return False
    if doing and doing["thing"] and verb in {"is", "are"}:  # "my heel is bleeding", not "our car is beside the pillar"
        return any(word.endswith("ing") for word in after)
    return (pattern("REASON").match(part) is not None and not _asks(part)) or (
        verb not in lexicon.FACTS and any(map(_is_now, (verb, *after)))
    )


def _is_owned(word: str) -> bool:
    return word_classes(word).keys() == {"NOUN"} and word not in STOP and not word.endswith("ing")


def _is_begun(part: str) -> bool:
    """What somebody does, in front of a question or behind it: "heading home now"."""
    begun = part.split()[:2]
    return begun[0] in _BEGUN and not nouns().senses(" ".join(begun)) and not _asks(part)  # not "frying pan"


_BEGUN = lexicon.GERUNDS - {"boarding", "going", "looking", "measuring", "meeting", "shopping"}


def mentioned(text: str) -> tuple[str, ...]:
    """Everything in a text that can be seen, whatever is asked about it."""
    clauses = [read_clause(tokens_of(part.rstrip(".?! "))) for part in pattern("APART").split(text) if part and content(part)]
    phrases = [phrase.inner if _is_vague(phrase.words[0]) else phrase.words for one in clauses for phrase in one.phrases]
    named = (" ".join(_trimmed(words)) for words in phrases)
    return tuple(dict.fromkeys(one for one in named if one and one.split()[-1] not in PERSONS and is_seeable(one)))


def _trimmed(words: Sequence[str]) -> Sequence[str]:
    """Without stop words in front of it, and vague and stop words at its end: "the toucan tally", "sign with a [number]"."""
    while words and words[0] in STOP:
        words = words[1:]
    while words and _is_vague(words[-1]) and not (len(words) > 1 and nouns().senses(" ".join(words[-2:]))):  # not "drill bit"
        words = words[:-1]
    while words and words[-1] in STOP:
        words = words[:-1]
    return words


def _named(part: str) -> bool:
    """It names a thing, and by a name that tells something: not "the last one"."""
    phrase = noun_phrase(part)
    return phrase != "" and not _is_vague(phrase)


def _is_vague(phrase: str) -> bool:
    """A word for when or how it was seen: "moment"."""
    return pattern("VAGUE_THING").fullmatch(phrase) is not None


def _is_now(verb: str) -> bool:
    return verb in lexicon.NOW | (lexicon.PRESENTS - lexicon.AMBIGUOUS) or (
        verb.endswith("s") and verb not in lexicon.PASTS and "VERB" in word_classes(verb)
    )


def _asks(part: str) -> bool:
    """Somewhere it asks, or names what is wanted: "I need the time of it"."""
    return any(pattern(name).search(part.removeprefix("if ")) is not None for name in ("EMBEDDED", "WANTED"))


def _without_cut(body: str) -> str:
    """The same for a clause that hangs on the question: "when did I see the pear, since I'm keeping a diary"."""
    shorter = pattern("CUT").sub(lambda match: match[0] if _asks(match[0]) else "", body)
    return shorter if content(shorter) else body


def story_of(topic: str) -> str:
    """Of what is told before a question the last that names something: "I cut my hand, there was a plaster here, where is it?"."""
    parts = topic.split(" , ")
    told = [part for part in reversed(parts) if pattern("TOLD").match(part) or pattern("MET_WITH").search(part)]
    timeless = (take_time(part)[1] for part in (*told, *parts) if told)
    named = list(map(of_meeting, sorted(filter(_named, timeless), key=lambda part: pattern("MET_WITH").search(part) is None)))
    return next((part for part in named if noun_phrase(part).rpartition(" ")[2] not in PERSONS), (*named, *told, "")[0])


def of_meeting(part: str) -> str:
    """From where it tells what was there: "nobody believes that I saw an ape"."""
    found = pattern("MET_WITH").search(part)
    return part[found.start() :] if found and noun_phrase(part[found.start() :]) else part
