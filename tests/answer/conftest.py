"""A small real memory: a walk of four minutes with things, places, signs and people, written through the store."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from edgemem.answer.local import LocalPlanner
from edgemem.answer.planner import AnswerKit
from edgemem.answer.retrieve import EventRetriever, Hits, Query, pictures
from edgemem.answer.retrievers.frames import FrameRetriever
from edgemem.answer.retrievers.readings import TextRetriever
from edgemem.answer.understand.words import content_words
from edgemem.clock import from_iso
from edgemem.records import US, Box, Observation
from edgemem.remember.entries import NewDocument, NewMoment, NewSegment
from edgemem.remember.store import Store
from edgemem.remember.view import View

START_US = from_iso("2026-05-04T10:00:00Z")


def label(name: str, score: float = 0.8, colour: str = "") -> Observation:
    return Observation(kind="label", name=name, score=score, colour=colour)


def person(count: int) -> tuple[Observation, ...]:
    return tuple(
        Observation(kind="object", name="person", score=0.9, box=Box(x0=i / 10, y0=0, x1=i / 10 + 0.1, y1=1)) for i in range(count)
    )


def text(line: str, colour: str = "") -> Observation:
    return Observation(kind="text", name=line, score=0.95, colour=colour)


WALK: dict[int, tuple[Observation, ...]] = {
    5: (label("street"), label("traffic light", 0.4)),
    20: (label("coffee mug", colour="red"), label("desk", 0.5)),
    24: (label("coffee mug", colour="red"), label("desk", 0.5)),
    40: (label("tabby cat"), label("sofa", 0.5)),
    60: (text("ROOM 214", "blue"), text("Elena Fischer", "blue"), label("corridor", 0.5)),
    80: (*person(3), label("park", 0.6)),
    84: (*person(2), label("park", 0.6)),
    100: (label("motorbike"), label("street", 0.5)),
    120: (label("space rocket"), label("museum", 0.5)),
    140: (label("tabby cat"), label("garden", 0.6)),
    160: (text("MARLOW BAKERY", "red"), text("Open 7:00 - 19:30", "red"), label("shop", 0.5)),
    180: (label("coffee mug", colour="blue"), label("kitchen", 0.7)),
    200: (text("TODAY", "white"), text("Espresso 2.80", "white"), label("blackboard", 0.4)),
}
"""Seconds into the stream -> what was seen."""


class WordMatcher:
    """Scores a picture by the share of the query's words that one of its labels or objects holds; honest about being exact."""

    def match(self, query: Query, view: View, k: int) -> Hits:
        wanted = set(content_words(query.text))
        best: dict[int, tuple[int, float, str]] = {}
        names = [*view.names("label"), *view.names("object")]
        for posting in view.postings(names, kinds=("label", "object"), from_us=query.from_us, to_us=query.to_us):
            have = set(content_words(f"{posting.colour} {posting.name}")) | ({"people"} if posting.name == "person" else set())
            score = posting.score * len(wanted & have) / max(1, len(wanted))
            if score > 0.4 and (posting.moment_id not in best or score > best[posting.moment_id][1]):
                best[posting.moment_id] = (posting.moment_id, score, posting.name)
        ranked = sorted(best.values(), key=lambda one: (-one[1], one[0]))[:k]
        return Hits(evidence=pictures(view, ranked), confidence=ranked[0][1] if ranked else 0.0)


def jpeg(seed: int) -> bytes:
    picture = np.full((48, 64, 3), seed % 250, np.uint8)
    return bytes(cv2.imencode(".jpg", picture)[1])


def remember(store: Store, stream: str, start_us: int, seen: dict[int, tuple[Observation, ...]]) -> None:
    for seq, (second, observations) in enumerate(sorted(seen.items())):
        t_us = start_us + second * US
        with store.transaction() as tx:
            moment_id = tx.add_moment(
                NewMoment(
                    stream=stream,
                    seq=seq,
                    t_us=t_us,
                    offset_us=second * US,
                    width_px=64,
                    height_px=48,
                    sharpness=50.0,
                    jpeg=jpeg(int(hashlib.sha256(f"{stream}{second}".encode()).hexdigest()[:4], 16)),
                    vectors={},
                    observations=observations,
                )
            )
            segment_id = tx.add_segment(
                NewSegment(
                    stream=stream,
                    segmenter="test",
                    t0_us=t_us,
                    t1_us=t_us,
                    offset_us=second * US,
                    moment_ids=(moment_id,),
                    representative_id=moment_id,
                )
            )
            said = ", ".join(o.name for o in observations)
            origin = "ocr" if any(o.kind == "text" for o in observations) else "caption"
            tx.add_document(
                NewDocument(
                    kind="event",
                    text=f"[event] {said}",
                    stream=stream,
                    t0_us=t_us,
                    t1_us=t_us,
                    offset_us=second * US,
                    known_us=t_us,
                    origin=origin,
                    segment_id=segment_id,
                    moment_id=moment_id,
                )
            )


@pytest.fixture(scope="session")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("walk") / "memory"
    with Store.open(directory) as store:
        store.ensure_stream("walk", START_US)
        remember(store, "walk", START_US, WALK)
    return directory


@pytest.fixture
def view(walk: Path) -> Iterator[View]:
    with View.open(walk) as opened:
        yield opened


@pytest.fixture
def kit() -> AnswerKit:
    return AnswerKit(planner=LocalPlanner(), retrievers=(FrameRetriever(matcher=WordMatcher()), TextRetriever(), EventRetriever()))
