"""What a sentence names: people, places and things, each with where it stands in the sentence. Rules and word lists, no model."""

from __future__ import annotations

import re
from collections.abc import Collection

from edgemem.records import Record
from edgemem_egagent.graph import Node, person, place, thing
from edgemem_egagent.lexicon import FIRST_NAMES, MODIFIERS, NOT_NAMES, STOP, is_food, is_place, is_thing, one_of, word_set

_TOKEN = re.compile(r"[^\W\d_][\w'’-]*|\d+")
_DETERMINERS = word_set("the a an my your our his her their its this that these those some any another")
_ABOUT_A_THING = word_set("number numbers call calls company shop store office driver")
"""After a thing these name something else."""
_SUBJECTS = word_set("i you we they he she to can could will would should please don't not let's i'll we'll you'll")
_WHERE = frozenset(("in", "near", "into", "around", "outside"))
_MOTION = re.compile(
    r"\b(?:go|going|goes|went|gone|come|came|coming|drive|drove|driving|travel\w*|fl[ye]w?|flying|move[ds]?|moving|back)\W+$", re.IGNORECASE
)
_PERSON_CUE = word_set("""
with and ask asked tell told call called calling meet met meeting see saw seen for from by about thank thanks hi hello hey helping help
helped visit visited than says said like dear to
""")
_SAYS = word_set("said says told asked thinks thought wants wanted went came has had is was will would called")
_GREETING = re.compile(
    r"(?:^|[,.;!]\s*)(?:hi|hello|hey|thanks|thank you|bye|goodbye|sorry|please|good (?:morning|evening|night)|yes|no|okay|ok|sure)[, ]+$",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"^,|^ (?:can|could|would|will|do|did|are|have) you\b|^ (?:please|look|come|wait|pass|hand|give)\b", re.IGNORECASE)


class Phrase(Record, frozen=True):
    """A named thing at `start` to `end` of its sentence. `vocative`: it is who is spoken to."""

    node: Node
    start: int
    end: int
    vocative: bool = False

    @property
    def is_food(self) -> bool:
        """It is eaten or drunk."""
        return self.node.kind == "object" and is_food(self.node.name.split()[-1])


def sentences(text: str) -> list[str]:
    """Pieces that end in a full stop, a question or an exclamation mark; the mark stays."""
    return [piece.strip() for piece in re.findall(r"[^.!?]+[.!?]*", text) if re.search(r"\w", piece)]


def phrases(sentence: str, known: Collection[str] = ()) -> list[Phrase]:
    """Everything named in the sentence, in order. `known` are names of people met before: they need no other sign."""
    tokens = list(_TOKEN.finditer(sentence))
    found: list[Phrase] = []
    i = 0
    while tokens[i:]:
        phrase: Phrase | None
        if named := _proper(sentence, tokens, i, known):
            phrase, used = named
        else:
            after_person = bool(found) and found[-1].node.kind == "person" and found[-1].end == tokens[i - 1].end()
            acts = after_person and not tokens[i - 1][0].endswith(("'s", "’s"))
            phrase, used = _common(tokens, i, after_person=acts)
        if phrase is not None:
            found.append(phrase)
        i += used
    return found


def _bare(token: re.Match[str]) -> str:
    return re.sub(r"['’]s?$", "", token[0])


def _proper(sentence: str, tokens: list[re.Match[str]], i: int, known: Collection[str]) -> tuple[Phrase, int] | None:
    """A run of capitalised words (up to three) that names a person or a place, and how many they are."""
    lowered = {name.casefold() for name in known}
    run: list[str] = []
    while i + len(run) < len(tokens) and len(run) < 3:
        word = _bare(tokens[i + len(run)])
        adjacent = not run or sentence[tokens[i + len(run) - 1].end() : tokens[i + len(run)].start()] == " "
        if not word[:1].isupper() or word.lower() in NOT_NAMES or not adjacent:
            break
        run.append(word)
        if word != tokens[i + len(run) - 1][0]:  # a genitive ends the name
            break
    if not run:
        return None
    start, end, name = tokens[i].start(), tokens[i + len(run) - 1].end(), " ".join(run)
    before, after = sentence[:start], sentence[end:]
    previous = tokens[i - 1][0].lower() if i else ""
    following = tokens[i + len(run)][0].lower() if i + len(run) < len(tokens) else ""
    if previous in _DETERMINERS - {"that"}:
        return None  # "the Nikon", "my Toyota": a make, which the common nouns may know
    is_name = run[0].lower() in FIRST_NAMES or name.casefold() in lowered or run[0].casefold() in lowered
    vocative = (
        (bool(_ADDRESSED.match(after)) and not before.strip())
        or bool(_GREETING.search(before))
        or bool(re.search(r",\s*$", before) and re.fullmatch(r"[\s.!?]*", after))
    )
    if (
        is_name
        or (vocative and i == 0 and after.startswith(","))
        or (i and (previous in _PERSON_CUE or following in _SAYS) and not _is_where(before, previous))
    ):
        return Phrase(node=person(name), start=start, end=end, vocative=vocative), len(run)
    if i and _is_where(before, previous):
        return Phrase(node=place(name), start=start, end=end), len(run)
    return None


def _is_where(before: str, previous: str) -> bool:
    return previous in _WHERE or (previous in {"to", "at", "from"} and bool(_MOTION.search(before[: before.rfind(previous)] + " ")))


def _common(tokens: list[re.Match[str]], i: int, *, after_person: bool) -> tuple[Phrase | None, int]:
    """A noun, or a run of nouns ("coffee machine"), that names a thing or a place, and how many words are done with."""
    run: list[str] = []
    while i + len(run) < len(tokens) and len(run) < 3:
        word = _bare(tokens[i + len(run)]).lower()
        gap_free = not run or tokens[i + len(run)].start() - tokens[i + len(run) - 1].end() == 1
        if word in STOP or not gap_free or not (is_thing(word) or is_place(word) or word in MODIFIERS):
            break
        run.append(word)
    if not run or run[-1] in MODIFIERS:
        return None, 1
    previous = tokens[i - 1][0].lower() if i else ""
    following = tokens[i + len(run)][0].lower() if i + len(run) < len(tokens) else ""
    if following in _ABOUT_A_THING:
        return None, len(run) + 1  # "phone number"
    determined = previous in _DETERMINERS or (i >= 2 and tokens[i - 2][0].lower() in _DETERMINERS)
    if not determined and (
        following in _DETERMINERS | {"me", "him", "them", "it", "us"} or previous in _SUBJECTS - {"to"} or after_person or i == 0
    ):
        return None, 1  # "can you water the plants", "Tom watches TV": a verb
    if not determined and previous == "to" and not is_place(run[-1]):
        return None, 1
    name = " ".join([*run[:-1], one_of(run[-1])])
    node = place(name) if is_place(run[-1]) else thing(name)
    return Phrase(node=node, start=tokens[i].start(), end=tokens[i + len(run) - 1].end()), len(run)
