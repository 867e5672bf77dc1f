"""The interface for programs: everything that the command line does, typed, in one object."""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import cv2
import pytest

import edgemem
from edgemem import Memory
from edgemem.errors import MemoryDirError, SourceError, UsageError
from edgemem.events import EntityNamed, QuestionAnswered, SegmentStored
from edgemem.extend.testing import T0_US, SyntheticCamera
from edgemem.records import US, Document, Moment, Observation, Segment
from edgemem.remember.entries import NewDocument, NewEntity, NewMoment
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.serve.messages import MAX_QUESTION_CHARS

RECIPE = "rate_fps = 1.0\n[segment]\nuse = 'fixed_window'\nseconds = 3.0\n"
START = "2026-05-04T08:00:00Z"


def folder_of_pictures(folder: Path, seed: int = 0) -> Path:
    folder.mkdir()
    for frame in SyntheticCamera(8.0, seed=seed).frames():
        cv2.imwrite(str(folder / f"{frame.seq}.png"), frame.image)
    return folder


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    return folder_of_pictures(tmp_path / "walk")


@pytest.fixture
def memory(tmp_path: Path, home: Path) -> Iterator[Memory]:
    assert home.parent == tmp_path
    (tmp_path / "plain.toml").write_text(RECIPE)
    with Memory.open(tmp_path / "memory", overrides=[f"recipe={tmp_path / 'plain.toml'}", "timezone=Europe/Berlin"]) as opened:
        yield opened


def remember_signs(memory: Memory) -> None:
    with Store.open(memory.directory) as store, store.transaction() as tx:
        for i, sign in enumerate(("EXIT", "BAKERY")):
            t_us = T0_US + 60 * i * US
            moment = NewMoment(
                stream="signs", seq=i, t_us=t_us, offset_us=60 * i * US, width_px=1, height_px=1, sharpness=1.0, jpeg=b"jpeg", vectors={},
                observations=(Observation(kind="text", name=sign, score=0.9),),
            )  # fmt: skip
            span = {"t0_us": t_us, "t1_us": t_us, "offset_us": 60 * i * US, "known_us": t_us}
            tx.add_document(NewDocument(kind="text", text=sign, stream="signs", origin="ocr", moment_id=tx.add_moment(moment), **span))


def test_what_is_taken_in_is_on_the_timeline_and_can_be_shown(memory: Memory, walk: Path) -> None:
    offsets: list[int] = []
    report = memory.ingest(walk, start=START, progress=lambda done_us, _total: offsets.append(done_us))
    assert (report.stream, report.frames_seen, report.moments_kept) == ("walk", 8, 8)
    assert offsets == [frame * US for frame in range(8)]
    entries = memory.timeline()
    assert len(entries) == report.segments == 3
    assert sum(entry.moments for entry in entries) == 8
    assert entries[0].segment.t0_us == T0_US
    assert memory.timeline(from_=T0_US + 7 * US) == entries[-1:]
    assert memory.timeline(stream="other") == ()
    shown = memory.show(f"s{entries[0].segment.id}")
    assert isinstance(shown.item, Segment)
    assert isinstance(shown.moment, Moment)
    assert shown.picture is not None
    assert shown.picture.startswith(b"\xff\xd8")
    stats = memory.stats()
    assert (stats.moments, stats.oldest_us, stats.budget_bytes) == (8, T0_US, 4 << 30)
    with pytest.raises(UsageError, match="no m99"):
        memory.show("m99")


def test_a_question_is_answered_with_evidence_and_logged(memory: Memory) -> None:
    remember_signs(memory)
    answer = memory.ask("What did the sign say?")
    assert (answer.status, len(answer.evidence)) == ("answered", 2)
    early = memory.ask("What did the sign say?", as_of="2026-05-04T10:00:30")  # in Berlin
    assert [one.text for one in early.evidence] == ["EXIT"]
    assert memory.ask("What did the sign say?", as_of=datetime(2026, 5, 4, 8, 0, 30, tzinfo=timezone.utc)).evidence == early.evidence
    chosen = memory.ask("What did the sign say?", options=["HOTEL", "BAKERY"])
    assert chosen.option == 1
    asked = memory.ask_traced("What did the sign say?")
    assert "1. gather" in asked.trace
    with View.open(memory.directory) as view:
        assert len(view.sessions(10)) == 4, "a traced question is logged when the caller says so"
    assert asked.log() == ""
    with View.open(memory.directory) as view:
        assert len(view.sessions(10)) == 5
    assert memory.ask("Where is my unicorn?").status == "abstained"


def test_search_and_forget_are_typed_and_say_what_is_wrong(memory: Memory) -> None:
    remember_signs(memory)
    hits = memory.search("bakery")
    assert [hit.text for hit in hits] == ["BAKERY"]
    assert memory.search("bakery", to="2026-05-04T08:00:30Z") == ()
    assert isinstance(memory.show("d1").item, Document)
    would = memory.forget(evidence=[hits[0].id], dry_run=True)
    did = memory.forget(evidence=[hits[0].id])
    assert (would.id, would.moments, len(did.id), did.moments) == ("", 1, 12, 1)
    assert memory.search("bakery") == ()
    for wrong, says in (
        ({}, "in one way"),
        ({"stream": "signs", "entity": "Anna"}, "in one way"),
        ({"from_": 0}, "give both from_ and to"),
        ({"from_": 2, "to": 1}, "swap"),
        ({"stream": "singns"}, 'did you mean "signs"'),
    ):
        with pytest.raises(UsageError, match=says):
            memory.forget(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="swap"):
        memory.search("x", from_=2, to=1)
    with pytest.raises(UsageError, match="1 to 200"):
        memory.search("x", top_k=0)
    for ask in (memory.ask, memory.search):
        with pytest.raises(UsageError, match="empty"):
            ask(" ")


def test_one_source_of_several_that_fails_does_not_stop_the_others(memory: Memory, walk: Path, tmp_path: Path) -> None:
    other = folder_of_pictures(tmp_path / "other", seed=5)
    results = list(memory.ingest_all([walk, tmp_path / "absent.mp4", other]))
    assert [result.source for result in results] == [str(walk), str(tmp_path / "absent.mp4"), str(other)]
    assert [result.report.moments_kept if result.report else None for result in results] == [8, None, 8]
    assert "no such file" in results[1].error
    with pytest.raises(SourceError, match="no such file"):
        memory.ingest(tmp_path / "absent.mp4")
    with pytest.raises(UsageError, match="no recipe"):
        next(memory.ingest_all([walk], recipe="defalt"))


def test_a_recording_is_taken_in_once_unless_asked(memory: Memory, walk: Path) -> None:
    assert memory.ingest(walk, start=START).moments_kept == 8
    again = memory.ingest(walk, start=START)
    assert (again.stream, again.moments_kept) == ("walk", 0)
    assert "in this memory already" in again.notes[0]
    assert [one.report and one.report.moments_kept for one in memory.ingest_all([walk])] == [0]
    assert memory.ingest(walk, start=START, again=True).stream == "walk-2"
    assert [one.report and one.report.stream for one in memory.ingest_all([walk], again=True)] == ["walk-3"]


@pytest.mark.parametrize(("length", "fits"), [(200, True), (201, False)])
def test_the_name_of_a_stream_has_a_length(memory: Memory, walk: Path, length: int, fits: bool) -> None:
    if fits:
        assert memory.ingest(walk, stream="x" * length).stream == "x" * length
    else:
        with pytest.raises(UsageError, match="1 to 200 characters"):
            memory.ingest(walk, stream="x" * length)


def test_a_question_that_just_fits_is_not_cut(memory: Memory) -> None:
    remember_signs(memory)
    for length, cut in ((MAX_QUESTION_CHARS, False), (MAX_QUESTION_CHARS + 1, True)):
        assert any("were read" in note for note in memory.ask("x" * length).notes) is cut


def test_what_was_written_under_another_cap_is_told_with_that_cap(memory: Memory) -> None:
    Store.open(memory.directory, budget_bytes=256 << 20).close()
    assert memory.stats().budget_bytes == 256 << 20


def test_a_memory_that_cannot_be_written_stops_the_sources_that_follow(memory: Memory, walk: Path, tmp_path: Path) -> None:
    memory.directory.mkdir()
    (memory.directory / "letter.txt").write_text("dear diary")
    tried: list[str] = []
    results = list(memory.ingest_all([walk, tmp_path / "absent.mp4"], progress=lambda source, *_: tried.append(source)))
    assert "not ingested: the memory cannot be written" in results[1].error
    assert not tried


def test_what_it_does_is_on_its_feed(memory: Memory, walk: Path) -> None:
    everything, answers = memory.subscribe(), memory.subscribe(QuestionAnswered, size=1)
    memory.ingest(walk, start=START)
    for text in ("What did the sign say?", "Where is my cup?"):
        memory.ask(text)
    with Store.open(memory.directory) as store, store.transaction() as tx:
        tx.add_entity(NewEntity(kind="voice", name="speaker 1", known_us=T0_US))
    assert memory.name_voice(1, "Tomas") == 0
    memory.name_voice(1, "")
    memory.close()
    events = list(everything)
    assert [type(event) for event in events] == [SegmentStored] * 3 + [QuestionAnswered] * 2 + [EntityNamed] * 2
    assert [event.segment.id for event in events[:3]] == [entry.segment.id for entry in memory.timeline()]
    assert [(event.before, event.entity.name) for event in events[5:]] == [("speaker 1", "Tomas"), ("Tomas", "speaker 1")]
    assert [(event.question.text, answers.lost) for event in answers] == [("Where is my cup?", 1)]


def test_a_memory_that_is_not_there_is_said(memory: Memory) -> None:
    for read in (memory.stats, memory.timeline, lambda: memory.ask("where?"), lambda: memory.search("x"), lambda: memory.show("m1")):
        with pytest.raises(MemoryDirError, match="does not exist"):
            read()
    with pytest.raises(UsageError, match="budget"):
        Memory.open("m", overrides=["bugdet.disk=1GiB"])


def test_the_example_of_its_docstring_runs(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import av

    assert not home.exists()
    monkeypatch.chdir(tmp_path)
    with av.open("walk.mp4", "w") as container:
        stream = container.add_stream("libx264", rate=5, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        for frame in SyntheticCamera(6.0, 5.0, scene_s=2.0, side_px=320).frames():
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame.image, format="bgr24")))
        container.mux(stream.encode(None))
    (example,) = [found for found in doctest.DocTestFinder(recurse=False).find(Memory, "Memory", globs={}) if found.examples]
    said: list[str] = []
    outcome = doctest.DocTestRunner().run(example, out=said.append, clear_globs=False)
    assert (outcome.failed, outcome.attempted, said) == (0, 2, [])
    assert example.globs["report"].moments_kept > 0
    assert example.globs["answer"].question == "Where did I see a cup of coffee?"


def test_importing_edgemem_imports_nothing_but_itself() -> None:
    script = "import sys, edgemem; print(edgemem.__version__, *(name for name in sys.modules if name.startswith('edgemem.')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [edgemem.__version__]
    with pytest.raises(AttributeError, match="no attribute 'Memroy'"):
        _ = edgemem.Memroy
