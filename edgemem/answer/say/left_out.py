"""Answers that leave something out: "which animals did I see apart from the dog". Every result of the plan comes without it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from edgemem.answer.compose import listed, the, without_own
from edgemem.answer.gather import Lead, Pool
from edgemem.answer.retrieve import episode_of
from edgemem.answer.say.base import Plan, best_score
from edgemem.answer.session import Session
from edgemem.answer.sights import SeenName
from edgemem.answer.tools import Reply, Result, Scene
from edgemem.answer.tools_graph import Related
from edgemem.answer.understand.lexicon import CARRIERS
from edgemem.answer.understand.words import singular, words
from edgemem.infer.labels import is_kind_of


def leave_out(s: Session, plan: Plan) -> Plan:
    """The same plan; what the question leaves out is in nothing that it is sent, and its reply says so."""
    if not s.parsed.without:
        return (yield from plan)
    left = _LeftOut(s.parsed.without, s.question.text, whole=s.parsed.kind == "who" or s.parsed.hint not in {"said", "read"})
    try:
        action = next(plan)
        while True:
            result = yield action
            action = plan.send(left.of(result))
    except StopIteration as ended:
        told: Reply = ended.value
    return told if told.option is not None else msgspec.structs.replace(told, text=left.reply_text(told.text))


class _LeftOut:
    """Takes out of results what is called by one of these phrases."""

    def __init__(self, phrases: Sequence[str], asked: str, *, whole: bool) -> None:
        """`whole`: words that name it may tell more, as "Robert and Anna come" does; they are no part of the answer themselves."""
        self._phrases, self._asked, self._whole = phrases, asked, whole
        self._words = {phrase: set(map(singular, words(phrase))) for phrase in phrases}
        self._met: set[str] = set()

    def reply_text(self, text: str) -> str:
        """The answer, and what was left out; of what was met nowhere, nothing can be left out."""
        met = [self._as_asked(one) for one in self._phrases if one in self._met]
        unmet = [f"no {one}" for one in self._phrases if one not in self._met]
        text = f"Apart from {listed(met)}: {text}" if met else text
        return f"{text} I know of {' and '.join(unmet)} to leave out." if unmet else text

    def _as_asked(self, phrase: str) -> str:
        """As it stands in the question: "Robert", "the dogs"; "the" is whose it is as well."""
        asked = re.search(rf"\b(?:(?:the|an?|all|any|those|these) )?{re.escape(phrase)}\b", self._asked, re.IGNORECASE)
        mine = asked is not None and re.search(r"\b(?:my|our) $", self._asked[: asked.start()]) is not None
        return the(phrase) if asked is None or mine else asked[0]

    def of(self, result: Result) -> Result:
        """What is left of a result."""
        if isinstance(result, Scene):
            readings = tuple(one for one in result.readings if not self._is_named(one.text))
            return msgspec.structs.replace(result, sights=tuple(without_own(result.sights, self._is_seen)), readings=readings)
        if isinstance(result, Related):
            rows = tuple(row for row in result.rows if not any(map(self._is_named, (row.source, row.target, row.quote))))
            return msgspec.structs.replace(result, rows=rows)
        if isinstance(result, Pool):
            apart = [one for one in result.candidates if not self._is_named(one.text)]
            candidates = result.candidates if self._whole else tuple(apart)
            return msgspec.structs.replace(result, candidates=candidates, leads=tuple(map(self._of_lead, result.leads)))
        return result

    def _of_lead(self, lead: Lead) -> Lead:
        """Its other appearances; as much less sure that there was one as the best of them is less sure than the best of all."""
        others = ([one for one in track.evidence if not self._is_named(one.text)] for track in lead.episodes)
        left = msgspec.structs.replace(lead, episodes=tuple(map(episode_of, filter(None, others))))
        share = best_score(left) / best if (best := best_score(lead)) else 0.0
        return msgspec.structs.replace(left, confidence=share * lead.confidence)

    def _is_seen(self, sight: SeenName) -> bool:
        return self._is_named(sight.name)

    def _is_named(self, text: str) -> bool:
        """It holds all words of a phrase, of a "bus sign" those of what it says, or is a label for a kind of it: "Pekinese" of "dog"."""
        own = set(map(singular, words(text)))
        met = {one for one, named in self._words.items() if own >= (named - CARRIERS or named) or is_kind_of(text, one)}
        self._met |= met
        return bool(met)
