"""A small real memory as the recipe would make it, with the tools over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from edgemem_eventmem.react import ReactPlanner
from edgemem_eventmem.settings import ReactSettings
from edgemem_eventmem.short_term import role
from edgemem_eventmem.tools import DetectTool, OcrTool, RecallTool, SearchTool

from edgemem.answer.planner import AnswerKit, ask
from edgemem.clock import from_iso
from edgemem.config import ModelSettings
from edgemem.extend.scripted import ScriptedChat
from edgemem.llm.models import Models
from edgemem.records import US, Box, Observation, Question
from edgemem.remember.entries import NewDocument, NewMoment, NewSegment
from edgemem.remember.store import Store
from edgemem.remember.view import View

START_US = from_iso("2026-05-04T10:00:00Z")


def label(name: str, score: float = 0.8) -> Observation:
    return Observation(kind="label", name=name, score=score)


def thing(name: str, score: float = 0.8, x0: float = 0.1) -> Observation:
    return Observation(kind="object", name=name, score=score, box=Box(x0=x0, y0=0.2, x1=x0 + 0.3, y1=0.6))


def line(words: str) -> Observation:
    return Observation(kind="text", name=words, score=0.95, box=Box(x0=0, y0=0, x1=1, y1=0.2))


def jpeg(level: int) -> bytes:
    return bytes(cv2.imencode(".jpg", np.full((120, 160, 3), level % 250, np.uint8))[1])


EVENTS: tuple[tuple[int, int, str, str, tuple[Observation, ...]], ...] = (
    (1, 0, "In view: kitchen, kettle.", "", (label("kitchen"), thing("kettle"))),
    (2, 20, "In view: street, bus.", "new: street, bus; gone: kitchen, kettle.", (label("street"), thing("bus"))),
    (
        3, 50, 'In view: office. Text: "ROOM 214".', 'new: office; gone: street, bus; new text: "ROOM 214".',
        (label("office"), line("ROOM 214")),
    ),
)  # fmt: skip
"""Events that left: number, second, caption, change from the one before, what the first frame shows. Each lasts until the next."""
RECENT: tuple[tuple[int, int, tuple[Observation, ...]], ...] = (
    (4, 90, (label("garden"), thing("dog"))),
    (4, 92, (label("garden"), thing("dog"), thing("dog", 0.7, 0.6))),
    (5, 95, (label("desk"), thing("cup"))),
    (5, 97, (label("desk"), thing("cup", 0.9), line("EXIT"))),
)
"""Frames of short-term memory: event, second, what they show."""


def remember(store: Store) -> None:
    store.ensure_stream("walk", START_US)
    numbers = iter(range(100))

    def moment(tx: Any, event: int, second: int, seen: tuple[Observation, ...], *, first: bool) -> int:
        return tx.add_moment(
            NewMoment(
                stream="walk", seq=next(numbers), t_us=START_US + second * US, offset_us=second * US, width_px=160, height_px=120,
                sharpness=50.0, jpeg=jpeg(second), vectors={}, observations=seen, role=role(event, first=first),
            )
        )  # fmt: skip

    ends = [*(second for _, second, *_ in EVENTS[1:]), 90]
    for (number, second, caption, change, seen), end in zip(EVENTS, ends, strict=True):
        with store.transaction() as tx:
            moment_id = moment(tx, number, second, seen, first=True)
            span = {"stream": "walk", "t0_us": START_US + second * US, "t1_us": START_US + end * US - 1, "offset_us": second * US}
            segment_id = tx.add_segment(NewSegment(**span, segmenter="events", moment_ids=(moment_id,), representative_id=moment_id))
            for kind, text in (("tuple", caption), ("change", change)):
                if text:
                    about = {"known_us": span["t1_us"], "origin": "caption", "segment_id": segment_id, "moment_id": moment_id}
                    tx.add_document(NewDocument(**span, kind=kind, text=text, **about))
    seen_events: set[int] = set()
    for number, second, seen in RECENT:
        with store.transaction() as tx:
            moment(tx, number, second, seen, first=number not in seen_events)
        seen_events.add(number)


@pytest.fixture(scope="session")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("walk") / "memory"
    with Store.open(directory) as store:
        remember(store)
    return directory


@pytest.fixture
def view(walk: Path) -> Iterator[View]:
    with View.open(walk) as opened:
        yield opened


def make_kit(chat: Any = None, settings: ReactSettings | None = None, **limits: Any) -> AnswerKit:
    models = Models(chat, ModelSettings(**limits)) if chat is not None else Models()
    tools = (RecallTool(), SearchTool(), OcrTool(), DetectTool())
    return AnswerKit(planner=ReactPlanner(settings, models, tools), retrievers=(), tools=tools, models=models)


def put(view: View, question: str, kit: AnswerKit, options: tuple[str, ...] = ()) -> Any:
    """(answer, session) of a question asked right after the walk."""
    asked_us = START_US + 100 * US
    return ask(view, Question(text=question, asked_us=asked_us, as_of_us=asked_us, options=options), kit)


@pytest.fixture(scope="session")
def evm() -> SimpleNamespace:
    """What tests work with; test files cannot import one another."""
    return SimpleNamespace(Chat=ScriptedChat, kit=make_kit, put=put, start_us=START_US, label=label, thing=thing, line=line, jpeg=jpeg)
