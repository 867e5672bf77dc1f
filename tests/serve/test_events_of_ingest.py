"""A subscriber of a memory gets utterances and segments during ingest, after they are stored."""

from __future__ import annotations

import threading
from pathlib import Path

import cv2

from edgemem import Memory
from edgemem.events import Event, SegmentStored, UtteranceHeard
from edgemem.extend.testing import SyntheticCamera
from edgemem.remember.view import View

RECIPE = 'rate_fps = 1.0\nembed_text = false\n[segment]\nuse = "fixed_window"\nseconds = 3.0\n'
SUBTITLES = "1\n00:00:01,000 --> 00:00:02,000\nAnna: my keys are here\n\n2\n00:00:05,000 --> 00:00:06,500\nlet us go\n"


def test_utterances_and_segments_come_while_it_is_taken_in(tmp_path: Path, home: Path) -> None:
    assert home.parent == tmp_path
    (tmp_path / "walk").mkdir()
    for frame in SyntheticCamera(9.0).frames():
        cv2.imwrite(str(tmp_path / f"walk/{frame.seq}.png"), frame.image)
    (tmp_path / "walk.srt").write_text(SUBTITLES)
    (tmp_path / "plain.toml").write_text(RECIPE)
    got: list[tuple[Event, bool]] = []
    with Memory.open(tmp_path / "memory", overrides=[f"recipe={tmp_path / 'plain.toml'}"]) as memory:
        subscription = memory.subscribe(UtteranceHeard, SegmentStored)

        def take() -> None:
            got.extend((event, _is_stored(memory.directory, event)) for event in subscription)

        taking = threading.Thread(target=take)
        taking.start()
        report = memory.ingest(tmp_path / "walk", start="2026-05-04T08:00:00Z", subtitles=str(tmp_path / "walk.srt"))
    taking.join(10.0)
    heard = [event.utterance for event, _ in got if isinstance(event, UtteranceHeard)]
    assert [(one.text, one.speaker, one.stream) for one in heard] == [("my keys are here", "Anna", "walk"), ("let us go", "", "walk")]
    assert sum(isinstance(event, SegmentStored) for event, _ in got) == report.segments == 3
    assert all(stored for _, stored in got)


def _is_stored(directory: Path, event: Event) -> bool:
    with View.open(directory) as view:
        if isinstance(event, UtteranceHeard):
            return any(spoken.document.text == event.utterance.text for spoken in view.utterances())
        return isinstance(event, SegmentStored) and event.segment.id in {segment.id for segment in view.segments()}
