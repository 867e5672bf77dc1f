"""The cap is never exceeded while much data arrives, and seeing continues: with 64 MiB, the smallest memory."""

from __future__ import annotations

import wave
from contextlib import contextmanager

import numpy as np
import pytest

from edgemem.extend.sources import open_source
from edgemem.extend.testing import FakeJointEmbedder, SyntheticCamera
from edgemem.hear.subtitles import Subtitles
from edgemem.hear.utterances import by_subtitles
from edgemem.records import US, Observation
from edgemem.remember.check import check_memory
from edgemem.remember.disk.directory import disk_bytes
from edgemem.remember.entries import NewDocument
from edgemem.remember.store import Store
from edgemem.see.chains import Chain
from edgemem.see.commit import Committer
from edgemem.see.operations import BaseWriter, Mentioned, Node, Triple
from edgemem.see.perceive import JointPerceiver, TextPerceiver
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.segment import FixedWindow
from edgemem.see.select import BaseSelector, Keep
from edgemem.see.write import EventDocument

CAP_BYTES = 64 << 20


class Hoard(BaseSelector):
    """Holds many frames and then keeps all of them at once."""

    name = "hoard"

    def __init__(self, size):
        self._size, self._held = size, []

    @property
    def held(self):
        return tuple(self._held)

    def observe(self, candidate):
        self._held.append(candidate)
        return self.flush() if len(self._held) >= self._size else []

    def flush(self):
        held, self._held = self._held, []
        return [Keep(candidate=candidate) for candidate in held]

    def give_back(self, candidate):
        self._held.append(candidate)


class NoisyCamera(SyntheticCamera):
    """Pictures that JPEG cannot make small: about 1.2 MB each."""

    def frames(self):
        import msgspec

        for frame in super().frames():
            noise = np.random.default_rng(frame.seq).integers(0, 255, (720, 1280, 3), dtype=np.uint8)
            yield msgspec.structs.replace(frame, image=noise)


class Lines:
    """A text reader that finds many lines, none of them twice."""

    def __init__(self, count, length=20):
        self._count, self._length, self._read = count, length, 0

    def read(self, _image):
        self._read += 1
        return [Observation("text", f"{self._read} {i} ".ljust(self._length, "x"), 0.9) for i in range(self._count)]


class Talkative(BaseWriter):
    """A writer of many relations, with a document as their evidence."""

    name = "talkative"

    def __init__(self, edges=30, chars=100):
        self._edges, self._chars = edges, chars

    def write(self, occasion):
        segment = occasion.segment
        yield NewDocument(
            kind="event", text=f"s{segment.id} ".ljust(self._chars, "y"), stream=segment.stream, t0_us=segment.t0_us, t1_us=segment.t1_us,
            offset_us=segment.offset_us, known_us=segment.t1_us, origin="system",
        )  # fmt: skip
        yield Mentioned(node=Node(kind="object", name="cup"))
        for i in range(self._edges):
            yield Triple(
                source=Node(kind="person", name=f"Tomas {i}"), type="USES", target=Node(kind="object", name="cup"), t0_us=segment.t0_us,
                t1_us=segment.t1_us,
            )  # fmt: skip


class Stenographer(BaseWriter):
    """A writer of what was said."""

    name = "stenographer"

    def write(self, occasion):
        segment = occasion.segment
        yield NewDocument(
            kind="event", text=" ".join(spoken.document.text for spoken in occasion.utterances), stream=segment.stream, t0_us=segment.t0_us,
            t1_us=segment.t1_us, offset_us=segment.offset_us, known_us=segment.t1_us, origin="system",
        )  # fmt: skip


def see(directory, source, cap=CAP_BYTES, reader=None, **changes):
    perceivers = [JointPerceiver(FakeJointEmbedder()), *([TextPerceiver(reader)] if reader is not None else [])]
    given = {"selector": Hoard(1), "chains": [Chain(FixedWindow(), [EventDocument()])], "perceivers": perceivers}
    with Store.open(directory, budget_bytes=cap) as store:
        return Pipeline(source, PipelineParts(**(given | changes)), store).run()


def kept(directory):
    with Store.open(directory) as store, store.view() as view:
        moments = [(m.seq, m.t_us) for m in view.moments()]
        return moments, sorted((d.kind, d.text) for d in view.documents()), len(view.segments())


@contextmanager
def killed(monkeypatch, after):
    """The process ends after a number of commits."""
    commits, follow = iter(range(10_000)), Store._follow

    class Killed(BaseException):
        """Instead of SIGKILL: nothing after it runs."""

    def stop(self, tx):
        follow(self, tx)
        if next(commits) >= after:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Store, "_follow", stop)
        with pytest.raises(Killed):
            yield


def test_the_cap_is_never_crossed_while_much_arrives(tmp_path, monkeypatch):
    """150 MB of pictures into 64 MiB, several times as fast as they can be thinned by age: measured after every commit."""
    sizes, commit = [], Committer.commit

    def measured(self, *args, **kwargs):
        sizes.append(disk_bytes(tmp_path / "m"))
        commit(self, *args, **kwargs)
        sizes.append(disk_bytes(tmp_path / "m"))

    monkeypatch.setattr(Committer, "commit", measured)
    report = see(tmp_path / "m", NoisyCamera(seconds=120, side_px=32), reader=Lines(40, 60), selector=Hoard(3))
    assert report.notes == ()
    assert report.moments_kept == 120
    assert max(sizes) <= CAP_BYTES
    assert max(sizes) > CAP_BYTES // 2  # it came near the cap
    assert disk_bytes(tmp_path / "m") <= CAP_BYTES
    assert check_memory(tmp_path / "m") == []


def test_a_selector_that_keeps_much_at_once_loses_nothing(tmp_path):
    for name, cap in (("small", CAP_BYTES), ("large", None)):
        report = see(tmp_path / name, SyntheticCamera(seconds=200), cap, selector=Hoard(200), reader=Lines(10))
        assert report.moments_kept == 200
    assert kept(tmp_path / "small") == kept(tmp_path / "large")


@pytest.mark.parametrize("after", [1, 3, 6])
def test_a_crash_between_its_transactions_loses_and_repeats_nothing(tmp_path, monkeypatch, after):
    monkeypatch.setattr("edgemem.see.commit.MOST_BYTES", 20_000)
    monkeypatch.setattr("edgemem.see.commit.COMMIT_S", 0.0)
    see(tmp_path / "whole", SyntheticCamera(seconds=60), selector=Hoard(20), reader=Lines(10))
    with killed(monkeypatch, after):
        see(tmp_path / "killed", SyntheticCamera(seconds=60), selector=Hoard(20), reader=Lines(10))
    see(tmp_path / "killed", SyntheticCamera(seconds=60), selector=Hoard(20))
    assert kept(tmp_path / "killed")[0] == kept(tmp_path / "whole")[0]
    assert check_memory(tmp_path / "killed") == []


def test_a_writer_of_much_writes_all_of_it(tmp_path):
    report = see(tmp_path / "m", SyntheticCamera(seconds=90), chains=[Chain(FixedWindow(), [Talkative(), EventDocument()])])
    assert report.notes == ()
    with Store.open(tmp_path / "m") as store, store.view() as view:
        segments = len(view.segments())
        assert len(view.relations(limit=10_000)) == 30 * segments > 30
        assert len(view.documents(kinds=["event"])) == 2 * segments


def test_a_document_that_fits_into_no_transaction_is_left_out_with_what_rests_on_it(tmp_path):
    chains = [Chain(FixedWindow(), [Talkative(chars=4_000_000), EventDocument()])]
    report = see(tmp_path / "m", SyntheticCamera(seconds=90), chains=chains)
    assert any("talkative" in note and "budget.disk" in note for note in report.notes)
    with Store.open(tmp_path / "m") as store, store.view() as view:
        assert view.relations() == []
        assert len(view.documents(kinds=["event"])) == len(view.segments()) > 1


def talk(folder):
    """A recording of sound, with 400 subtitles of two people each; opens it."""
    with wave.open(str(folder / "talk.wav"), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(16_000))
    times = [f"00:{i // 60:02}:{i % 60:02}" for i in range(400)]
    cues = [f"{i + 1}\n{at},000 --> {at},900\nTomas: word{i}\nAnna: word{i}" for i, at in enumerate(times)]
    (folder / "talk.srt").write_text("\n\n".join(cues))

    def hear(memory):
        source = open_source(str(folder / "talk.wav"), rate_fps=1, start_us=1_000 * US)
        hearing = by_subtitles(Subtitles(folder / "talk.srt", 1_000 * US), None)
        return see(memory, source, hearing=hearing, chains=[Chain(FixedWindow(), [Stenographer()])])

    return hear


def heard_and_written(directory):
    with Store.open(directory) as store, store.view() as view:
        written = " ".join(document.text for document in view.documents(kinds=["event"]))
        return [spoken.document.text for spoken in view.utterances()], written.split()


def test_the_subtitles_of_a_long_recording_of_sound(tmp_path):
    report = talk(tmp_path)(tmp_path / "m")
    assert len(report.notes) == 1
    heard, written = heard_and_written(tmp_path / "m")
    assert heard == written == [f"word{i}" for i in range(400) for _ in range(2)]


@pytest.mark.parametrize("after", [1, 3, 9])
def test_a_crash_between_subtitles_loses_and_repeats_none(tmp_path, monkeypatch, after):
    hear = talk(tmp_path)
    with killed(monkeypatch, after):
        hear(tmp_path / "m")
    hear(tmp_path / "m")
    heard, written = heard_and_written(tmp_path / "m")
    assert heard == written == [f"word{i}" for i in range(400) for _ in range(2)]


def test_the_saved_state_of_a_recording_that_ended_shows_nothing(tmp_path):
    see(tmp_path / "m", SyntheticCamera(seconds=20))
    with Store.open(tmp_path / "m") as store:
        assert len(store.state("see/synthetic")) < 1000
