"""The analyzer: relevance, evidence and repetitions of what one search brought (Algorithm 1, step 2b)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from edgemem.answer.retrieve import held
from edgemem.answer.tool_base import BaseTool
from edgemem.answer.understand.words import content_words, similar_texts
from edgemem.errors import ChatError, EdgememError
from edgemem.llm.models import IMAGE_TOKENS
from edgemem.records import US, Evidence
from edgemem_egagent.actions import Analyse, Analysed
from edgemem_egagent.ask import Completes, ask_typed
from edgemem_egagent.memory import on_clock

if TYPE_CHECKING:
    from edgemem.remember.view import View

MAX_IMAGES = 50
"""Frames with timestamps that the analyzer is shown (EGAgent, section 3.3)."""
CHUNK_CHARS = 24_000
"""Text of the items of one call, about 8,000 tokens: long transcripts are read in several calls and what each chose is joined."""
CHARS_PER_TOKEN = 3
_ITEM_CHARS = 90
"""Of an item beside its text: number, time, punctuation."""
_CALL_TOKENS = 1500
"""Of one call beside its items: instructions, question, what is known, reply."""
AT_ONCE = 4
"""Calls at a time (the released code reads days in four threads)."""
_SAME = 0.92
"""Texts more alike than this say the same."""
_SAME_TIME_US = 2 * US
_CHOSEN_BY_WORDS = 12
"""Pictures that are kept without a model."""
_LEAST_HELD, _NEAR_BEST = 0.34, 0.8
"""Without a model: an utterance must hold this share of the sub-task's words, and this share of what the best one holds."""
_SURE = 0.9
"""A model read it. Models give no probability that means anything here; where it chose no proof, `Analyzer.run` says 0."""


class Judgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the analyzer replies."""

    finding: Annotated[str, msgspec.Meta(max_length=2000)]
    items: tuple[int, ...] = ()


class AnalyzerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one analysis is shown."""

    images: Annotated[int, msgspec.Meta(ge=0, le=MAX_IMAGES)] = MAX_IMAGES
    """Pictures with their times; each costs about 1,000 tokens of `models.tokens_per_question`."""


class Analyzer(BaseTool):
    """Chooses what helps with a sub-task and says what it shows."""

    name = "analyzer"
    action = Analyse

    def __init__(self, models: Completes | None = None, settings: AnalyzerSettings | None = None) -> None:
        self._models = models if models is not None and models.there else None
        self._images = (settings or AnalyzerSettings()).images

    def run(self, action: Analyse, view: View) -> Analysed:
        """By the language model where there is one, else by words. Raises ChatError when the model fails."""
        items = distinct(action.items)
        if not items:
            return Analysed(finding="Nothing was found.")
        found = _ByModel(self._models, action, view, self._images).judged(items) if self._models is not None else by_words(action, items)
        hints = {hint.id for hint in action.hints}
        proofs = [one for one in found.evidence if one.id not in hints]
        return found if proofs else msgspec.structs.replace(found, sure=0.0)


class _ByModel:
    """One analysis by a language model."""

    def __init__(self, models: Completes, action: Analyse, view: View, images: int) -> None:
        self._models, self._action, self._view = models, action, view
        self._fails = {hint.id: hint.fails for hint in action.hints}
        sees = any(item.id.startswith("m") for item in action.items) and models.sees("egagent_analyse")
        self._most_images = min(images, models.remaining.tokens // (2 * IMAGE_TOKENS)) if sees else 0
        """Pictures for at most half of what the question may still spend: others follow, and the answer."""

    def judged(self, items: Sequence[Evidence]) -> Analysed:
        """One call, or one for each chunk of a long transcript. What may not be spent is left unread, and that is said."""
        if self._action.tool == "visual":
            return self._chunk(items[:MAX_IMAGES])
        chunks = list(chunked(items))
        if len(chunks) == 1:
            return self._chunk(items)
        most = self._affordable(chunks)
        read = chunks[:most]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            waiting = [pool.submit(copy_context().run, self._attempted, chunk) for chunk in read]
            told = [future.result() for future in waiting]
        return self._joined(told, unread=sum(map(len, chunks[most:])))

    def _affordable(self, chunks: Sequence[Sequence[Evidence]]) -> int:
        """Chunks that half of the question's tokens pay for, at least one."""
        left = self._models.remaining.tokens // 2
        for number, chunk in enumerate(chunks):
            left -= _CALL_TOKENS + sum(map(_chars, chunk)) // CHARS_PER_TOKEN
            if left < 0:
                return max(1, number)
        return len(chunks)

    def _attempted(self, chunk: Sequence[Evidence]) -> Analysed | ChatError:
        try:
            return self._chunk(chunk)
        except ChatError as error:
            return error

    def _joined(self, told: Sequence[Analysed | ChatError], unread: int) -> Analysed:
        """What the chunks say that chose anything. Raises ChatError when not one could be read."""
        read = [one for one in told if isinstance(one, Analysed)]
        failed = [one for one in told if isinstance(one, ChatError)]
        if not read:
            raise failed[0]
        said = [one.finding for one in read if one.evidence] or ["Nothing of what was said helps."]
        said += [f"({len(failed)} of {len(told)} parts could not be read: {failed[0]})"] if failed else []
        said += [f"({unread} more utterances were not read: models.tokens_per_question)"] if unread else []
        chosen = tuple(item for one in read for item in one.evidence)
        return Analysed(finding=" ".join(said), evidence=chosen, sure=_SURE)

    def _chunk(self, items: Sequence[Evidence]) -> Analysed:
        images, ids, shown = list[bytes](), list[str](), list[dict[str, Any]]()
        for number, item in enumerate(items):
            picture = self._picture(item) if len(images) < self._most_images else None
            images += [picture] if picture else []
            ids += [item.id] if picture else []
            shown.append(self._shown(number, item) | ({"picture": len(images)} if picture else {}))
        judged = ask_typed(
            self._models, "analyse", {"items": shown, "known": self._action.known}, Judgement, request=self._request(),
            images=tuple(images), image_ids=tuple(ids),
        )  # fmt: skip
        chosen = tuple(items[i] for i in dict.fromkeys(judged.items) if 0 <= i < len(items))
        return Analysed(finding=judged.finding, evidence=chosen, sure=_SURE)

    def _request(self) -> dict[str, Any]:
        action = self._action
        options = [{"number": number, "text": text} for number, text in enumerate(action.options)]
        return {
            "question": action.question, "options": options, "asked_at": on_clock(action.asked_us, action.tz), "sub_task": action.task,
            "tool": action.tool,
        }  # fmt: skip

    def _shown(self, number: int, item: Evidence) -> dict[str, Any]:
        told = {"item": number, "time": on_clock(item.t0_us, self._action.tz), "text": item.text}
        return {**told, "fails": self._fails[item.id]} if item.id in self._fails else told

    def _picture(self, item: Evidence) -> bytes | None:
        if not item.id.startswith("m"):
            return None
        try:
            return self._view.picture(int(item.id[1:]))
        except EdgememError:
            return None  # it has faded; its text is left


def chunked(items: Sequence[Evidence]) -> Iterator[list[Evidence]]:
    """Items in runs of at most `CHUNK_CHARS`; a longer item is a run of its own."""
    run, size = list[Evidence](), 0
    for item in items:
        if run and size + _chars(item) > CHUNK_CHARS:
            yield run
            run, size = [], 0
        run.append(item)
        size += _chars(item)
    if run:
        yield run


def _chars(item: Evidence) -> int:
    return len(item.text) + _ITEM_CHARS


def distinct(items: Sequence[Evidence]) -> list[Evidence]:
    """Without what another item of about the same time says already; what stands first stays."""
    kept: list[Evidence] = []
    at: dict[int, list[Evidence]] = {}
    ids: set[str] = set()
    for item in items:
        slot = item.t0_us // _SAME_TIME_US
        near = (other for key in (slot - 1, slot, slot + 1) for other in at.get(key, ()))
        if item.id in ids or any(_repeats(item, other) for other in near):
            continue
        ids.add(item.id)
        kept.append(item)
        at.setdefault(slot, []).append(item)
    return kept


def _repeats(item: Evidence, other: Evidence) -> bool:
    close = abs(item.t0_us - other.t0_us) <= _SAME_TIME_US
    return close and bool(item.text) and similar_texts(item.text, other.text) >= _SAME


def by_words(action: Analyse, items: Sequence[Evidence]) -> Analysed:
    """Without a model: pictures and graph rows as they were ranked; utterances that hold most of the sub-task's words."""
    wanted = content_words(action.task)
    if action.tool == "transcript":
        scored = [(held(wanted, item.text), item) for item in items]
        sure = max(score for score, _ in scored)
        chosen = [item for score, item in scored if score >= max(_LEAST_HELD, _NEAR_BEST * sure)]
    else:
        chosen = list(items[:_CHOSEN_BY_WORDS] if action.tool == "visual" else items)
        sure = max(item.score for item in chosen)
    finding = "; ".join(f"{on_clock(item.t0_us, action.tz)} {item.text}" for item in chosen[:6])
    return Analysed(finding=finding or "Nothing fits.", evidence=tuple(chosen), sure=min(1.0, sure))
