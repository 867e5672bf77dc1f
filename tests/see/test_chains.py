"""Segments combine speech and pictures: no word is lost, none is used twice, and slow writers delay nothing."""

from __future__ import annotations

import threading
import time

import msgspec
import numpy as np
import pytest

from edgemem.extend.testing import T0_US, SyntheticCamera
from edgemem.hear.listen import Heard
from edgemem.hear.utterances import by_recogniser
from edgemem.isolation import FaultIsolation
from edgemem.records import SOUND_RATE_HZ, US, Document, Moment, Quote, Segment, Sound
from edgemem.remember.entries import NewDocument, NewMoment
from edgemem.remember.results import Spoken
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.chains import Chain, Chains
from edgemem.see.operations import BaseWriter, Node, Postpone, Triple
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.segment import FixedWindow, FixedWindowSettings, Mark
from edgemem.see.select import KeepAll


class TalkingCamera(SyntheticCamera):
    """Its sound track is as long as its pictures, or longer."""

    has_sound = True

    sound_s = 0.0

    def sounds(self, after_us):
        for second in range(int(max(self.sound_s, (self.duration_us or 0) / US))):
            if (second + 1) * US > after_us:
                yield Sound(stream=self.name, t_us=T0_US + second * US, offset_us=second * US, samples=np.zeros(SOUND_RATE_HZ, np.float32))


class Counting:
    """A recogniser that hears a number at each of the given seconds."""

    name = "counting"

    def __init__(self, *seconds: int, delay_s: float = 0.0) -> None:
        self._seconds, self._delay_s, self.until_us = set(seconds), delay_s, -1
        self.notes = {}

    def hear(self, sound):
        time.sleep(self._delay_s)
        self.until_us = sound.end_us
        second = sound.offset_us // US
        if second not in self._seconds:
            return []
        return [
            Heard(t0_us=sound.t_us, t1_us=sound.t_us + US // 2, offset_us=sound.offset_us, text=f"number {second:02}", speaker="speaker 1")
        ]

    def flush(self):
        return []

    def state(self):
        return b"voices"

    def restore(self, state):
        assert state == b"voices"


class Minutes(BaseWriter):
    """Writes what was said in each segment, and to whom."""

    name = "minutes"

    def write(self, closing):
        segment = closing.segment
        said = [spoken.document.text for spoken in closing.utterances]
        yield NewDocument(
            kind="minutes", text=" ".join(["said:", *said]), stream=segment.stream, t0_us=segment.t0_us, t1_us=segment.t1_us,
            offset_us=segment.offset_us, known_us=segment.t1_us, origin="asr", segment_id=segment.id,
        )  # fmt: skip
        for spoken in closing.utterances:
            yield Triple(
                source=Node("voice", "speaker 1"), type="TALKS_TO", target=Node("person", "me"), t0_us=spoken.document.t0_us,
                t1_us=spoken.document.t1_us, quotes=(Quote(text=spoken.document.text, origin="asr"),),
            )  # fmt: skip


class SlowMinutes(Minutes):
    name, slow = "slow_minutes", True

    def __init__(self):
        self.threads = set()

    def write(self, closing):
        self.threads.add(threading.current_thread().name)
        time.sleep(0.05)
        yield from super().write(closing)


def windows(seconds=10.0):
    return FixedWindow(FixedWindowSettings(seconds=seconds))


def run(directory, camera, ear, *tracks):
    with Store.open(directory) as store:
        return Pipeline(camera, PipelineParts(selector=KeepAll(), chains=tracks, hearing=by_recogniser(ear, None)), store).run()


def minutes(directory):
    with Store.open(directory) as store, store.view() as view:
        return [d.text for d in view.documents(kinds=("minutes",))], [s.document.text for s in view.utterances()], view.relations()


@pytest.mark.parametrize("delay_s", [0.0, 0.02])
def test_every_word_is_told_once_to_each_track_however_slow_the_ear(tmp_path, delay_s):
    report = run(
        tmp_path,
        TalkingCamera(40.0),
        Counting(3, 12, 19, 35, delay_s=delay_s),
        Chain(windows(), [Minutes()]),
        Chain(windows(20.0), [Minutes()]),
    )
    written, said, relations = minutes(tmp_path)
    assert said == ["number 03", "number 12", "number 19", "number 35"]
    for text in said:
        assert sum(text in line for line in written) == 2
    assert "said: number 12 number 19" in written
    assert "said: number 03 number 12 number 19" in written
    assert len(relations) == 8
    assert {r.quotes[0].document_id is not None for r in relations} == {True}
    assert report.documents == 4 + 6


def test_a_segment_waits_for_the_words_that_begin_as_it_ends(tmp_path):
    chain = Chain(windows(), [Minutes()])
    with Store.open(tmp_path) as store:
        chains = Chains([chain], store, "camera", FaultIsolation(), None)
        with store.transaction() as tx:
            for second in (15, 19, 20):
                shown = {"stream": "camera", "seq": second, "t_us": T0_US + second * US, "offset_us": second * US}
                new = NewMoment(**shown, width_px=8, height_px=8, sharpness=1.0, jpeg=b"", vectors={}, observations=())
                moment = Moment(id=tx.add_moment(new), **shown, width_px=8, height_px=8, sharpness=1.0, tier="recent")
                mark = Mark(moment_id=moment.id, t_us=moment.t_us, offset_us=moment.offset_us, vector=np.zeros(2, np.float32))
                chains.see(moment, (), mark)
            # heard up to the end of the segment, but not what begins there
            assert not chains.write(tx, 19 * US, 20 * US)
            assert chain.waiting
            chains.hear(said_at(tx, 19 * US))
            chains.write(tx, 19 * US + 1, 20 * US)
    written, _, _ = minutes(tmp_path)
    assert written == ["said: number 19"]


def said_at(tx, offset_us, long_us=0):
    t0_us = T0_US + offset_us
    shared = {
        "kind": "utterance", "text": f"number {offset_us // US}", "stream": "camera", "t0_us": t0_us, "t1_us": t0_us + long_us,
        "offset_us": offset_us, "known_us": t0_us, "origin": "asr",
    }  # fmt: skip
    return Spoken(document=Document(id=tx.add_document(NewDocument(**shared)), **shared), speaker=None, confidence=1.0)


def test_words_alone_wait_a_minute_and_become_paragraphs_of_half_a_minute(tmp_path):
    with Store.open(tmp_path) as store:
        chains = Chains([Chain(windows(), [Minutes()])], store, "camera", FaultIsolation(), None)
        with store.transaction() as tx:
            for offset_us, long_us in ((0, 40 * US), (30 * US - 1, 0), (30 * US, 0)):
                chains.hear(said_at(tx, offset_us, long_us))
            assert not chains.write(tx, 60 * US, 100 * US)
            assert not chains.write(tx, 100 * US, 60 * US)
            assert chains.segments == 0
            chains.write(tx, 100 * US, 60 * US + 1)
        (segment,) = chains.take_closed()
        assert (segment.t0_us, segment.t1_us) == (T0_US, T0_US + 40 * US), "to the end of the longest"
    assert minutes(tmp_path)[0] == ["said: number 0 number 29"]


def test_a_segment_contains_those_of_the_level_below_that_lie_in_it():
    chain = Chain(windows())
    part = Segment(id=1, stream="camera", segmenter="clips", t0_us=10, t1_us=20, offset_us=0)
    early, late, above = (msgspec.structs.replace(part, id=i, **of) for i, of in ((2, {"t0_us": 9}), (3, {"t1_us": 21}), (4, {"level": 1})))
    chain.orphans = [part, early, late, above]
    assert chain.children_of(msgspec.structs.replace(part, id=5, level=1)) == [1]
    assert chain.orphans == [early, late, above], "each has one parent"


def test_two_chains_with_one_kind_of_segmenter_have_names_of_their_own(tmp_path):
    some = [Chain(windows()) for _ in range(3)]
    with Store.open(tmp_path) as store:
        Chains(some, store, "camera", FaultIsolation(), None)
    assert [chain.name for chain in some] == ["segmenter/fixed_window", "segmenter/fixed_window#2", "segmenter/fixed_window#3"]


def test_words_without_pictures_have_segments_too(tmp_path):
    camera = TalkingCamera(5.0)
    camera.sound_s = 200.0
    run(tmp_path, camera, Counting(2, 100, 150), Chain(windows(), [Minutes()]))
    written, said, _ = minutes(tmp_path)
    assert said == ["number 02", "number 100", "number 150"]
    assert written[0] == "said: number 02"
    assert " ".join(written[1:]).count("number") == 2


def test_a_slow_writer_works_beside_and_nothing_of_it_is_lost(tmp_path):
    slow = SlowMinutes()
    run(tmp_path, TalkingCamera(60.0), Counting(5, 55), Chain(windows(2.0), [slow]))
    written, _, _ = minutes(tmp_path)
    assert len(written) == 30
    assert {"said: number 05", "said: number 55"} <= set(written)
    assert threading.main_thread().name not in slow.threads


def test_a_live_stream_leaves_a_slow_writer_behind_and_says_so(tmp_path):
    class Live(TalkingCamera):
        live = True

        def frames(self):
            for frame in super().frames():
                time.sleep(0.01)
                yield frame

    class Stuck(SlowMinutes):
        def write(self, closing):
            time.sleep(0.5)
            yield from Minutes.write(self, closing)

    report = run(tmp_path, Live(200.0), Counting(), Chain(windows(1.0), [Stuck()]))
    assert any("slow_minutes is behind the stream: a segment was left without its words" in line for line in report.notes)

    class Prepared(Stuck):
        """Has words for what it cannot keep up with, and writes them anew later."""

        triggers = frozenset({"segment_closed", "idle"})

        def write_at_once(self, closing):
            document = next(iter(Minutes.write(self, closing)))
            return [msgspec.structs.replace(document, text=f"at once {closing.segment.id}"), Postpone(payload=b"later")]

    report = run(tmp_path / "prepared", Live(200.0), Counting(), Chain(windows(1.0), [Prepared()]))
    assert any("slow_minutes is behind the stream: a segment was written for later" in line for line in report.notes)
    with View.open(tmp_path / "prepared") as view:
        written = view.documents(kinds=("minutes",))
        assert len(written) == len(view.segments()), "no segment is left without its document"
        at_once = [document for document in written if document.text == f"at once {document.segment_id}"]
        assert 0 < len(at_once) == len(view.jobs()), "each of them is to be written anew"


def test_a_stopped_run_goes_on_without_losing_or_repeating_a_word(tmp_path):
    class Stopping(TalkingCamera):
        pipeline = None

        def frames(self):
            for frame in super().frames():
                if frame.seq == 25:
                    self.pipeline.stop()
                yield frame

    camera, ear = Stopping(60.0), Counting(*range(0, 60, 5))
    with Store.open(tmp_path) as store:
        parts = PipelineParts(selector=KeepAll(), chains=[Chain(windows(), [Minutes()])], hearing=by_recogniser(ear, None))
        camera.pipeline = Pipeline(camera, parts, store)
        camera.pipeline.run()
    run(tmp_path, TalkingCamera(60.0), Counting(*range(0, 60, 5)), Chain(windows(), [Minutes()]))
    written, said, _ = minutes(tmp_path)
    assert sorted(said) == [f"number {n:02}" for n in range(0, 60, 5)]
    for text in said:
        assert sum(text in line for line in written) == 1
