"""From a stream to a real memory: what is kept, what survives a kill, what is reported after failures."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading

import interrupted
import numpy as np
import pytest
from edgemem_vam.dedup import AdaptiveDedup, DedupSettings
from edgemem_vam.events import OtsuEvents
from films import encode, scene, scenes

from edgemem.errors import SourceError
from edgemem.extend.sources import open_source
from edgemem.extend.testing import FakeJointEmbedder, SyntheticCamera
from edgemem.records import US, Observation
from edgemem.remember.store import Store
from edgemem.see.chains import Chain
from edgemem.see.gate import Blur, LocalDifference
from edgemem.see.perceive import JointPerceiver, TextPerceiver
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.resume import seen_as
from edgemem.see.segment import FixedWindow
from edgemem.see.select import KeepAll
from edgemem.see.write import EventDocument


class Signs:
    """A text reader that finds one word in every picture."""

    def read(self, _image):
        return [Observation(kind="text", name="EXIT C", score=0.9)]


def parts(**changes):
    track = Chain(changes.pop("segmenter", None) or OtsuEvents(), changes.pop("writers", [EventDocument()]))
    options = {
        "gates": [Blur(), LocalDifference()],
        "selector": AdaptiveDedup(DedupSettings(local_change=12.0)),
        "chains": [track],
    }
    reading = [TextPerceiver(reader)] if (reader := changes.pop("reader", None)) is not None else []
    joint = changes.pop("joint", FakeJointEmbedder())
    options["perceivers"] = [*([JointPerceiver(joint)] if joint is not None else []), *reading]
    return PipelineParts(**(options | changes))


def ingest(directory, source, **changes):
    with Store.open(directory) as store:
        return Pipeline(source, parts(**changes), store).run()


def stored(directory, stream=None):
    """All data of a stream in a view, without ids and times of writing."""
    with Store.open(directory) as store, store.view() as view:
        moments = view.moments(stream=stream)
        segments = [(s.t0_us, s.t1_us, s.offset_us) for s in view.segments(stream=stream)]
        documents = [(d.kind, d.text, d.t0_us) for d in view.documents(stream=stream)]
        return [(m.seq, m.t_us, m.offset_us, m.role) for m in moments], sorted(segments), sorted(documents)


def test_a_film_becomes_moments_segments_and_documents(tmp_path):
    film = encode(tmp_path / "film.mp4", scenes(4, 8.0))
    report = ingest(tmp_path / "m", open_source(str(film), rate_fps=1, start_us=1_000 * US), reader=Signs())
    assert (report.stream, report.frames_seen, report.notes) == ("film", 32, ())
    assert report.frames_seen == 32
    assert report.seconds_of_video == pytest.approx(32, abs=0.2)
    moments, segments, documents = stored(tmp_path / "m")
    assert len(moments) == report.moments_kept
    assert {0, 8, 16, 24} <= {seq for seq, *_ in moments}
    assert [s[0] // US - 1_000 for s in segments] == [0, 8, 16, 24]
    assert {kind for kind, *_ in documents} == {"event", "text"}
    assert len(documents) == report.documents
    with Store.open(tmp_path / "m") as store, store.view() as view:
        assert view.search_text("exitc", 5)
        newest = view.moments(limit=1, newest_first=True)[0]
        assert len(view.picture(newest.id)) > 1000


class Killed(Exception):
    """Instead of SIGKILL: nothing after it runs."""


def killed_after(directory, source, frames, **changes):
    with Store.open(directory) as store:
        pipeline = Pipeline(source, parts(**changes), store)

        def progress(*_):
            pipeline._commit()
            nonlocal frames
            frames -= 1
            if not frames:
                raise Killed

        with pytest.raises(Killed):
            pipeline.run(progress)


@pytest.mark.parametrize("after", [1, 2, 7, 13, 23])
def test_a_killed_ingest_goes_on_as_if_nothing_had_happened(tmp_path, after):
    def source():
        return SyntheticCamera(seconds=24, scene_s=6, stream="walk")

    ingest(tmp_path / "whole", source(), reader=Signs())
    killed_after(tmp_path / "killed", source(), after, reader=Signs())
    ingest(tmp_path / "killed", source(), reader=Signs())
    assert stored(tmp_path / "killed") == stored(tmp_path / "whole")


def test_a_killed_ingest_of_a_file_goes_on_with_the_wall_time_of_its_first_run(tmp_path):
    film = encode(tmp_path / "film.mp4", scenes(4, 5.0), gop=25)
    ingest(tmp_path / "whole", open_source(str(film), rate_fps=1, start_us=1_000 * US))
    killed_after(tmp_path / "killed", open_source(str(film), rate_fps=1, start_us=1_000 * US), 9)
    ingest(tmp_path / "killed", open_source(str(film), rate_fps=1))
    assert stored(tmp_path / "killed") == stored(tmp_path / "whole")


def test_a_film_seen_twice_is_two_streams_and_another_film_of_that_name_a_third(tmp_path):
    names = [ingest(tmp_path / "m", SyntheticCamera(seconds=5)).stream for _ in range(2)]
    other = SyntheticCamera(seconds=5, seed=1)
    other.identity = "another"
    assert [*names, ingest(tmp_path / "m", other).stream] == ["synthetic", "synthetic-2", "synthetic-3"]


def test_a_film_that_was_seen_is_known_and_a_second_time_that_was_interrupted_goes_on(tmp_path):
    def known():
        with Store.open(tmp_path / "m") as store:
            return seen_as(store, SyntheticCamera(seconds=24))

    assert known() == ""
    killed_after(tmp_path / "m", SyntheticCamera(seconds=24), 9)
    assert known() == ""
    ingest(tmp_path / "m", SyntheticCamera(seconds=24))
    assert known() == "synthetic"
    killed_after(tmp_path / "m", SyntheticCamera(seconds=24), 9)
    assert known() == ""
    ingest(tmp_path / "m", SyntheticCamera(seconds=24))
    assert known() == "synthetic"


def test_results_do_not_depend_on_how_often_is_committed(tmp_path, monkeypatch):
    ingest(tmp_path / "a", SyntheticCamera(seconds=24, scene_s=6))
    monkeypatch.setattr("edgemem.see.commit.COMMIT_S", 0.0)
    ingest(tmp_path / "b", SyntheticCamera(seconds=24, scene_s=6))
    assert stored(tmp_path / "a") == stored(tmp_path / "b")


class Failing:
    """An engine, selector, segmenter, writer and gate of which every call fails."""

    name = "failing"
    space = FakeJointEmbedder.space
    levels, held, triggers, every_n, slow = 1, (), frozenset({"segment_closed"}), 0, False

    def _fail(self, *_):
        raise RuntimeError("out of memory")

    glance = look = read = observe = flush = write = judge = accepted = _fail

    def state(self):
        return b""


def test_a_failing_engine_costs_no_more_than_its_part(tmp_path):
    class Blinking(FakeJointEmbedder):
        calls = 0

        def glance(self, images):
            Blinking.calls += 1
            if Blinking.calls == 3:
                raise RuntimeError("out of memory")
            return super().glance(images)

    report = ingest(tmp_path / "m", SyntheticCamera(seconds=6), joint=Blinking(), selector=KeepAll(), gates=[])
    assert (report.moments_kept, report.dropped) == (5, {"engine": 1})
    assert report.notes == ("embedding: RuntimeError: out of memory",)


@pytest.mark.parametrize("role", ["reader", "selector", "segmenter", "writers", "gates"])
def test_a_component_that_always_fails_never_ends_the_seeing(tmp_path, role):
    broken = [Failing()] if role in {"writers", "gates"} else Failing()
    report = ingest(tmp_path / "m", SyntheticCamera(seconds=12, scene_s=4), **{role: broken})
    assert report.moments_kept >= 3
    assert any("out of memory" in note for note in report.notes)


def test_without_any_engine_pictures_are_still_kept(tmp_path):
    report = ingest(tmp_path / "m", SyntheticCamera(seconds=8), joint=None, selector=KeepAll(), segmenter=FixedWindow())
    assert (report.moments_kept, report.segments) == (8, 1)


def test_a_black_stream_is_said_to_be_black(tmp_path):
    film = encode(tmp_path / "a.mp4", [np.zeros((90, 160, 3), np.uint8)] * 40)
    report = ingest(tmp_path / "m", open_source(str(film), rate_fps=1))
    assert report.dropped == {"black": 4}
    assert report.notes == ("nothing was kept: 4 of 4 frames were dropped as black",)


def test_a_frozen_stream_keeps_its_two_ends(tmp_path):
    film = encode(tmp_path / "a.mp4", [scene(1)] * 400, gop=400)
    report = ingest(tmp_path / "m", open_source(str(film), rate_fps=10))
    assert report.moments_kept == 2
    assert report.dropped["frozen"] > 350


def test_a_source_that_ends_badly_loses_nothing_that_was_seen(tmp_path):
    class Torn(SyntheticCamera):
        def frames(self):
            yield from super().frames()
            raise SourceError("camera 0: gone for 60 s; what was seen before is kept")

    with pytest.raises(SourceError, match="gone for 60 s"):
        ingest(tmp_path / "m", Torn(seconds=10, scene_s=5))
    moments, segments, _ = stored(tmp_path / "m")
    assert moments[-1][0] >= 8  # the last frame that was not like the one before it
    assert segments


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_cleanly_and_the_next_run_goes_on(tmp_path, number):
    command = [sys.executable, interrupted.__file__, str(tmp_path / "m"), str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    notes, stream, frames_seen = json.loads(done.stdout)
    assert notes == ["interrupted; run the same command again to go on"]
    assert frames_seen < 15
    with Store.open(tmp_path / "m") as store:
        again = Pipeline(SyntheticCamera(seconds=interrupted.SECONDS), interrupted.parts(), store).run()
    assert again.stream == stream
    assert frames_seen + again.frames_seen == interrupted.SECONDS


class LiveCamera(SyntheticCamera):
    """The synthetic camera as a live source: it never waits."""

    live = True
    identity = ""


def test_a_live_source_never_waits_and_missed_frames_are_counted(tmp_path):
    gave_all = threading.Event()

    class Slow(KeepAll):
        def observe(self, candidate):
            gave_all.wait(10)
            return super().observe(candidate)

    class Watched(LiveCamera):
        def frames(self):
            yield from super().frames()
            gave_all.set()

    report = ingest(tmp_path / "m", Watched(seconds=20), selector=Slow(), gates=[])
    assert report.frames_seen < 20
    assert report.dropped["busy"] == 20 - report.frames_seen
    assert stored(tmp_path / "m")[0][-1][0] == 19


def test_a_live_stream_goes_on_under_its_name_and_later_even_if_the_clock_was_set_back(tmp_path):
    ingest(tmp_path / "m", LiveCamera(seconds=3), selector=KeepAll(), gates=[])
    ingest(tmp_path / "m", LiveCamera(seconds=3), selector=KeepAll(), gates=[])
    moments, _, _ = stored(tmp_path / "m", "synthetic")
    for column in (0, 1, 2):
        values = [moment[column] for moment in moments]
        assert values == sorted(set(values))


def test_a_segment_outlives_moments_that_fade_before_it_closes(tmp_path):
    class Impatient:
        """Deletes all moments except every third."""

        name = "impatient"

        def apply(self, store, *_):
            with store.view() as view:
                ids = [moment.id for moment in view.moments() if moment.id % 3]
            with store.transaction() as tx:
                for moment_id in ids:
                    tx.drop_moment(moment_id)

    camera = SyntheticCamera(40.0, scene_s=5.0)
    with Store.open(tmp_path / "memory") as store:
        pipeline = Pipeline(camera, parts(selector=KeepAll(), segmenter=FixedWindow(), retainer=Impatient()), store)
        see = pipeline._see

        def see_then_fade(frame):
            see(frame)
            pipeline._commit()
            Impatient().apply(store)

        pipeline._see = see_then_fade
        report = pipeline.run()
    assert report.segments > 0
    assert not report.notes
    with Store.open(tmp_path / "memory") as store, store.view() as view:
        for segment in view.segments():
            assert segment.representative_id is None or view.moment(segment.representative_id) is not None
            assert view.picture(segment.representative_id)
