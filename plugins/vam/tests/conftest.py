"""A small real memory, and a language model that plays a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import msgspec
import numpy as np
import pytest
from edgemem_vam.look import AdjudicateTool, InspectTool
from edgemem_vam.planner import VamPlanner
from edgemem_vam.roles import PlannerSettings
from edgemem_vam.search import HybridSearchTool
from edgemem_vam.summaries import SummaryTool, SurveyTool

from edgemem.answer.planner import AnswerKit, ask
from edgemem.answer.retrieve import EventRetriever, Hits, Query, pictures
from edgemem.answer.retrievers.frames import FrameRetriever
from edgemem.answer.retrievers.readings import TextRetriever
from edgemem.answer.session import Session
from edgemem.answer.understand.words import content_words
from edgemem.cli.app import CommandContext as CliSession
from edgemem.clock import from_iso
from edgemem.config import ModelSettings
from edgemem.errors import ChatError
from edgemem.infer.chat import Completion, Prompt
from edgemem.infer.engines import Engines
from edgemem.llm.models import Models
from edgemem.records import US, Answer, Box, Observation, Question
from edgemem.remember.entries import NewDocument, NewMoment, NewSegment
from edgemem.remember.store import Store
from edgemem.remember.view import View

START_US = from_iso("2026-05-04T10:00:00Z")

Said = str | dict[str, Any] | Exception | Callable[[Prompt], Any]


class ScriptedChat:
    """Plays its lines in order, per task where the script is a dict; keeps what it was asked. The last line is said for ever."""

    name = "scripted"

    def __init__(self, lines: list[Said] | dict[str, list[Said]], *, vision: bool = True) -> None:
        self._lines = {task: list(said) for task, said in lines.items()} if isinstance(lines, dict) else {"": list(lines)}
        self.vision = vision
        self.asked: list[Prompt] = []

    def sees(self, _task: str) -> bool:
        return self.vision

    def complete(self, prompt: Prompt) -> Completion:
        self.asked.append(prompt)
        lines = self._lines.get(prompt.task, self._lines.get("", []))
        if not lines:
            raise ChatError(f"the script has no line for {prompt.task}")
        said = lines[0] if len(lines) == 1 else lines.pop(0)
        if callable(said):
            said = said(prompt)
        if isinstance(said, Exception):
            raise said
        text = said if isinstance(said, str) else msgspec.json.encode(said).decode()
        return Completion(text=text, model="scripted", tokens_in=sum(len(m.text) for m in prompt.messages) // 4, tokens_out=len(text) // 4)

    def tasks(self) -> list[str]:
        """What it was asked for, in order."""
        return [prompt.task for prompt in self.asked]

    def body(self, index: int = -1, task: str = "planner") -> dict[str, Any]:
        """The request of one prompt of a task, as the model read it."""
        prompts = [prompt for prompt in self.asked if prompt.task == task]
        body: dict[str, Any] = msgspec.json.decode(prompts[index].messages[1].text)
        return body


def label(name: str, score: float = 0.8, colour: str = "") -> Observation:
    return Observation(kind="label", name=name, score=score, colour=colour)


def text(line: str) -> Observation:
    return Observation(kind="text", name=line, score=0.95, box=Box(x0=0, y0=0, x1=1, y1=0.2))


WALK: dict[int, tuple[Observation, ...]] = {
    5: (label("street"), label("traffic light", 0.4)),
    20: (label("coffee mug", colour="red"), label("desk", 0.5)),
    40: (label("tabby cat"), label("sofa", 0.5)),
    60: (text("ROOM 214"), text("Elena Fischer"), label("corridor", 0.5)),
    80: (label("front door"), label("park", 0.6)),
    100: (label("motorbike"), label("street", 0.5)),
    120: (label("space rocket"), label("museum", 0.5)),
    140: (label("front door"), label("garden", 0.5)),
    160: (text("MARLOW BAKERY"), label("shop", 0.5)),
    180: (label("coffee mug", colour="blue"), label("kitchen", 0.7)),
}
"""Seconds into the stream -> what was seen. The front door comes twice."""


class WordMatcher:
    """Scores a picture by the share of the query's words that its labels hold; honest about being exact."""

    def match(self, query: Query, view: View, k: int) -> Hits:
        wanted = set(content_words(query.text))
        best: dict[int, tuple[int, float, str]] = {}
        for posting in view.postings([*view.names("label")], kinds=("label",), from_us=query.from_us, to_us=query.to_us):
            have = set(content_words(f"{posting.colour} {posting.name}"))
            score = posting.score * len(wanted & have) / max(1, len(wanted))
            if score > 0.02 and (posting.moment_id not in best or score > best[posting.moment_id][1]):
                best[posting.moment_id] = (posting.moment_id, score, posting.name)
        ranked = sorted(best.values(), key=lambda one: (-one[1], one[0]))[:k]
        return Hits(evidence=pictures(view, ranked), confidence=ranked[0][1] if ranked else 0.0)


def jpeg(level: int) -> bytes:
    return bytes(cv2.imencode(".jpg", np.full((48, 64, 3), level % 250, np.uint8))[1])


def remember(store: Store, seen: dict[int, tuple[Observation, ...]], stream: str = "walk", start_us: int = START_US) -> None:
    """A moment, a segment and an event document for each."""
    store.ensure_stream(stream, start_us)
    for seq, (second, observations) in enumerate(sorted(seen.items())):
        at = {"stream": stream, "offset_us": second * US}
        t_us = start_us + second * US
        with store.transaction() as tx:
            moment_id = tx.add_moment(
                NewMoment(
                    **at, seq=seq, t_us=t_us, width_px=64, height_px=48, sharpness=50.0, jpeg=jpeg(second), vectors={},
                    observations=observations,
                )
            )  # fmt: skip
            segment_id = tx.add_segment(
                NewSegment(
                    **at, segmenter="test", t0_us=t_us, t1_us=t_us + 2 * US, moment_ids=(moment_id,), representative_id=moment_id
                )
            )  # fmt: skip
            said = ", ".join(o.name for o in observations)
            origin = "ocr" if any(o.kind == "text" for o in observations) else "caption"
            tx.add_document(
                NewDocument(
                    **at, kind="event", text=f"[event] {said}", t0_us=t_us, t1_us=t_us + 2 * US, known_us=t_us + 2 * US,
                    origin=origin, segment_id=segment_id, moment_id=moment_id,
                )
            )  # fmt: skip


@pytest.fixture(scope="session")
def engines() -> Engines:
    """Every model that can be had here, fetched when first run on a machine."""
    from edgemem.cli.engines import fetch_all

    session = CliSession(None, ("engines.threads=2",))
    fetch_all(session)
    return session.engines


@pytest.fixture(scope="session")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three minutes with things, places and signs, written through the store."""
    directory = tmp_path_factory.mktemp("walk") / "memory"
    with Store.open(directory) as store:
        remember(store, WALK)
    return directory


@pytest.fixture
def view(walk: Path) -> Iterator[View]:
    with View.open(walk) as opened:
        yield opened


def search_tool() -> HybridSearchTool:
    """The search tool over a matcher that needs no engine."""
    tool = HybridSearchTool()
    tool._frames = FrameRetriever(matcher=WordMatcher())
    return tool


def make_kit(chat: ScriptedChat | None, settings: PlannerSettings | None = None, **limits: Any) -> AnswerKit:
    """The planner `vam` with its tools, as the recipe makes it."""
    models = Models(chat, ModelSettings(**limits)) if chat else Models()
    planner = VamPlanner(settings, models)
    tools = (SurveyTool(models), search_tool(), InspectTool(None, models), AdjudicateTool(None, models), SummaryTool(None, models))
    retrievers = (FrameRetriever(matcher=WordMatcher()), TextRetriever(), EventRetriever())
    return AnswerKit(planner=planner, retrievers=retrievers, tools=tools, models=models)


def put(view: View, question: str, kit: AnswerKit, options: tuple[str, ...] = ()) -> tuple[Answer, Session]:
    """Ask an hour after the walk."""
    asked_us = min(view.as_of_us, START_US + 3600 * US)
    return ask(view, Question(text=question, asked_us=asked_us, as_of_us=asked_us, options=options), kit)


def retrieve(question: str) -> dict[str, Any]:
    """A router that hands on."""
    return {"type": "tool", "name": "retrieve", "args": {"question": question}}


@pytest.fixture(scope="session")
def vam() -> SimpleNamespace:
    """What the tests of the loop work with; test files cannot import one another."""
    return SimpleNamespace(
        Chat=ScriptedChat, kit=make_kit, put=put, retrieve=retrieve, remember=remember, label=label, text=text, walk=WALK,
        start_us=START_US, search_tool=search_tool,
    )  # fmt: skip
