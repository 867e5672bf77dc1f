"""A day in a flat: what was seen and said, written window by window by the plugin's own writers; and a language model that is scripted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from edgemem_egagent.writers import FusedCaption, Triples, TriplesSettings

from edgemem.answer.planner import AnswerKit
from edgemem.answer.retrieve import Hits, Query, as_evidence
from edgemem.clock import from_iso
from edgemem.infer.chat import Completion, Prompt
from edgemem.llm.models import Models
from edgemem.records import US, Box, Document, Entity, Observation
from edgemem.remember.entries import NewDocument, NewEntity, NewMoment, NewSegment
from edgemem.remember.results import Spoken
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.carry_out import steps
from edgemem.see.operations import SegmentClosed

T0_US = from_iso("2026-05-04T09:00:00Z")
Seen = Mapping[float, Sequence[Observation]]
Said = Sequence[tuple[float, float, str, str]]


def thing(name: str, box: tuple[float, float, float, float], score: float = 0.8) -> Observation:
    return Observation(kind="object", name=name, score=score, box=Box(*box))


def label(name: str, score: float = 0.95) -> Observation:
    return Observation(kind="label", name=name, score=score)


HAND = (0.3, 0.6, 0.6, 0.95)
SEEN: Seen = {
    1: (label("kitchen"), thing("cup", HAND)),
    4: (label("kitchen"), thing("cup", HAND), Observation(kind="text", name="MILK", score=0.9)),
    8: (label("kitchen"),),
    70: (label("workshop"), thing("person", (0.2, 0.1, 0.5, 0.9)), thing("bicycle", (0.15, 0.5, 0.55, 1.0))),
    74: (label("workshop"), thing("person", (0.2, 0.1, 0.5, 0.9)), thing("bicycle", (0.15, 0.5, 0.55, 1.0))),
    130: (label("office"),),
    3700: (label("office"), thing("laptop", HAND)),
    3704: (label("office"), thing("laptop", HAND)),
}
SAID: Said = [
    (2, 4, "me", "Anna, could you pass me the salt?"),
    (5, 6, "Anna", "Sure, here you go."),
    (71, 74, "Ben", "I'm fixing the bike with the wrench."),
    (76, 78, "me", "Good. Tomas Novak needs it tomorrow."),
    (131, 135, "Clara", "The wifi password is under the printer."),
    (137, 139, "me", "Thanks, Clara."),
    (3701, 3704, "me", "I'm using the printer now."),
    (3706, 3708, "Tomas", "Hello, it works again?"),
]


def window_writers(models: Models | None = None) -> tuple[Any, ...]:
    return FusedCaption(None, models), Triples(TriplesSettings(), models)


def remember(store: Store, seen: Seen, said: Said, writers: Sequence[Any] = (), *, kind: str = "person") -> None:
    """Windows of 30 s, each written when it closes, as a pipeline would."""
    store.ensure_stream("day", T0_US)
    ends = sorted({int(second // 30) for second in seen} | {int(t0 // 30) for t0, *_ in said})
    for number in ends:
        inside = {s: o for s, o in sorted(seen.items()) if int(s // 30) == number}
        lines = [line for line in said if int(line[0] // 30) == number]
        with store.transaction() as tx:
            ids = [tx.add_moment(_moment(s, observations)) for s, observations in inside.items()]
            times = [*inside, *(line[0] for line in lines)]
            t0_us, t1_us = T0_US + round(min(times) * US), T0_US + round(max([*inside, *(line[1] for line in lines)]) * US)
            span = {"stream": "day", "t0_us": t0_us, "t1_us": t1_us, "offset_us": t0_us - T0_US}
            spoken = tuple(_spoken(tx, line, kind) for line in lines)
            representative = ids[len(ids) // 2] if ids else None
            segment_id = tx.add_segment(
                NewSegment(segmenter="fixed_window", moment_ids=tuple(ids), representative_id=representative, **span)
            )
        with store.view() as view:
            segment, moments = view.segment(segment_id), tuple(view.segment_moments(segment_id))
            assert segment is not None
            observations = view.observations(ids)
        for writer in writers or window_writers():
            closed = SegmentClosed(segment=segment, moments=moments, observations=observations, utterances=spoken, open_view=store.view)
            made = list(writer.write(closed))
            with store.transaction() as tx:
                for step in steps(writer.name, closed, made):
                    step(tx)


def _moment(second: float, observations: Sequence[Observation]) -> NewMoment:
    import cv2

    picture = np.full((24, 32, 3), int(second) % 250, np.uint8)
    return NewMoment(
        stream="day", seq=int(second * 10), t_us=T0_US + round(second * US), offset_us=round(second * US), width_px=32, height_px=24,
        sharpness=50.0, jpeg=bytes(cv2.imencode(".jpg", picture)[1]), vectors={}, observations=tuple(observations),
    )  # fmt: skip


def _spoken(tx: Any, line: tuple[float, float, str, str], kind: str) -> Spoken:
    t0_us, t1_us = T0_US + round(line[0] * US), T0_US + round(line[1] * US)
    speaker = None
    if line[2]:
        id_ = tx.add_entity(NewEntity(kind=kind, name=line[2], known_us=t1_us))
        speaker = Entity(id=id_, kind=kind, name=line[2])
    new = NewDocument(
        kind="utterance", text=line[3], stream="day", t0_us=t0_us, t1_us=t1_us, offset_us=t0_us - T0_US, known_us=t1_us, origin="asr",
        speaker_id=speaker.id if speaker else None, confidence=0.95,
    )  # fmt: skip
    document = Document(
        id=tx.add_document(new), kind=new.kind, text=new.text, stream="day", t0_us=t0_us, t1_us=t1_us, offset_us=new.offset_us,
        known_us=t1_us, origin="asr",
    )  # fmt: skip
    return Spoken(document=document, speaker=speaker, confidence=0.95)


@pytest.fixture(scope="session")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("day") / "memory"
    with Store.open(directory) as store:
        remember(store, SEEN, SAID)
    return directory


@pytest.fixture
def view(day: Path) -> Iterator[View]:
    with View.open(day) as opened:
        yield opened


class LabelRetriever:
    """The channel `frame` by exact names of labels and objects."""

    name = "frame"

    def retrieve(self, query: Query, view: View, k: int) -> Hits:
        wanted = {query.text, *query.text.lower().split()}
        postings = view.postings(sorted(wanted), kinds=("label", "object"), from_us=query.from_us, to_us=query.to_us)
        best = {p.moment_id: p for p in sorted(postings, key=lambda p: p.score)}
        ranked = sorted(best.values(), key=lambda p: (-p.score, p.moment_id))[:k]
        moments = [(view.moment(p.moment_id), p) for p in ranked]
        return Hits(evidence=tuple(as_evidence(m, "frame", p.score, p.name) for m, p in moments if m), confidence=0.7 if ranked else 0.0)


class ScriptedChat:
    """A language model that answers by its task: a value, a text, or a function of the prompt."""

    name = "scripted"

    def __init__(self, *, vision: bool = False, **answers: object) -> None:
        self.vision = vision
        self.answers = answers
        self.prompts: list[Prompt] = []
        self.picture_tokens = 0

    def sees(self, _task: str) -> bool:
        return self.vision

    def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        answer = self.answers[prompt.task.removeprefix("egagent_")]
        if isinstance(answer, list):
            answer = answer[min(len(self.asked(prompt.task)) - 1, len(answer) - 1)]
        said: Any = answer(prompt) if callable(answer) else answer
        text = said if isinstance(said, str) else msgspec.json.encode(said).decode()
        pictures = sum(len(message.images) for message in prompt.messages)
        return Completion(text=text, model="scripted", tokens_in=10 + self.picture_tokens * pictures, tokens_out=5)

    def asked(self, task: str) -> list[Prompt]:
        return [prompt for prompt in self.prompts if prompt.task.removeprefix("egagent_") == task.removeprefix("egagent_")]


@pytest.fixture
def kit_of() -> Callable[..., AnswerKit]:
    """A kit with the planner `egagent`, around a scripted model or none."""
    from edgemem_egagent.analyzer import Analyzer
    from edgemem_egagent.days import DaysTool
    from edgemem_egagent.planner import EgagentPlanner
    from edgemem_egagent.relations import GraphTool
    from edgemem_egagent.settings import PlannerSettings
    from edgemem_egagent.transcript import TranscriptTool
    from edgemem_egagent.visual import VisualTool

    from edgemem.answer.retrieve import EventRetriever
    from edgemem.answer.retrievers.readings import TextRetriever

    def make(chat: ScriptedChat | None = None, **settings: Any) -> AnswerKit:
        models = Models(chat)
        tools = (DaysTool(), VisualTool(LabelRetriever()), TranscriptTool(), GraphTool(), Analyzer(models))
        planner = EgagentPlanner(PlannerSettings(**settings), models)
        return AnswerKit(planner=planner, retrievers=(LabelRetriever(), TextRetriever(), EventRetriever()), tools=tools, models=models)

    return make
