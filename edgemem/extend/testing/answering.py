"""Conformance checks for retrievers, tools, planners and checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import msgspec

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.retrieve import Query
from edgemem.extend.testing.fakes import T0_US
from edgemem.extend.testing.remembering import small_memory
from edgemem.records import US, Answer, Question, Status


def check_retriever(make: Callable[[], Any], who: str) -> None:
    """A retriever returns at most as many hits as requested, best first, all within the time range and known at the cut-off."""
    retriever = make()
    from_us, to_us = T0_US + 20 * US, T0_US + 40 * US
    with small_memory() as store:
        for as_of_us in (None, T0_US + 30 * US):
            with store.view(as_of_us) as view:
                hits = retriever.retrieve(Query(text="coffee mug", from_us=from_us, to_us=to_us), view, 3)
            assert len(hits.evidence) <= 3, f"{who}: returned {len(hits.evidence)} hits, 3 were requested"
            scores = [evidence.score for evidence in hits.evidence]
            assert scores == sorted(scores, reverse=True), f"{who}: hits must be best first: {scores}"
            assert 0 <= hits.confidence <= 1, f"{who}: confidence must be 0..1"
            for evidence in hits.evidence:
                inside = evidence.t0_us <= to_us and evidence.t1_us >= from_us
                assert inside, f"{who}: {evidence.id} is outside the time range"
                assert as_of_us is None or evidence.t0_us <= as_of_us, f"{who}: {evidence.id} is later than the cut-off"


def check_tool(make: Callable[[], Any], who: str) -> None:
    """A tool has a name and a type of action that refuses unknown keys."""
    tool = make()
    assert tool.name.strip(), f"{who}: needs a name"
    action = tool.action
    assert isinstance(action, type) and issubclass(action, msgspec.Struct), f"{who}: action must be a msgspec.Struct type"  # noqa: PT018
    assert action.__struct_config__.frozen, f"{who}: {action.__name__} must be frozen"


def check_planner(make: Callable[[], Any], who: str) -> None:
    """A planner ends every question within the step limit: answered with evidence, abstained or deferred."""
    with small_memory() as store, store.view() as view:
        for text in ("when did I last see the coffee mug?", "what is the airspeed of a swallow?"):
            _check_answer(_asked(view, AnswerKit(planner=make(), retrievers=()), text), who)


def check_check(make: Callable[[], Any], who: str) -> None:
    """A check ends no question with an error, and accepts an answer that the memory supports."""
    from edgemem.answer.local import LocalPlanner
    from edgemem.answer.retrieve import EventRetriever

    with small_memory() as store, store.view() as view:
        kit = AnswerKit(planner=LocalPlanner(), retrievers=(EventRetriever(),), checks=(make(),))
        _check_answer(_asked(view, kit, "when did I last see the coffee mug?"), who)


def _asked(view: Any, kit: AnswerKit, text: str) -> Answer:
    asked_us = T0_US + 3600 * US
    return ask(view, Question(text=text, asked_us=asked_us, as_of_us=asked_us), kit)[0]


def _check_answer(answer: Answer, who: str) -> None:
    assert answer.status in get_args(Status), f"{who}: ended with the status {answer.status!r}"
    assert answer.status != "answered" or answer.evidence, f"{who}: answered without evidence"
    assert 0 <= answer.confidence <= 1, f"{who}: confidence must be 0..1"
