"""Seeing never stops: whatever comes at once, under the smallest cap it is written in as many transactions as it takes."""

from __future__ import annotations

import wave
from contextlib import contextmanager

import numpy as np
import pytest

from edgemem.extend.testing import FakeJointEmbedder, SyntheticCamera
from edgemem.hear.subtitles import Subtitles
from edgemem.hear.utterances import by_subtitles
from edgemem.records import US, Observation
from edgemem.remember.check import check_memory
from edgemem.remember.disk.directory import disk_bytes
from edgemem.remember.disk.page_budget import MINIMUM_BYTES
from edgemem.remember.entries import NewDocument
from edgemem.remember.store import Store
from edgemem.see.chains import Chain
from edgemem.see.operations import Mentioned, Node, Triple
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.segment import FixedWindow
from edgemem.see.select import Kept
from edgemem.see.sources.opening import open_source
from edgemem.see.write import EventDocument


class Hoard:
    """A selector that holds back so many frames and then keeps all of them at once."""

    name = "hoard"

    def __init__(self, size):
        self._size, self._held = size, []

    def observe(self, candidate):
        self._held.append(Kept(candidate=candidate))
        return self.flush() if len(self._held) >= self._size else []

    def flush(self):
        held, self._held = self._held, []
        return held

    def state(self):
        return b""

    def restore(self, state):
        raise ValueError(state)


class Lines:
    """A reader of so many lines, none twice."""

    def __init__(self, count, length=20):
        self._count, self._length, self._read = count, length, 0

    def read(self, _image):
        self._read += 1
        return [Observation("text", f"{self._read} {i} ".ljust(self._length, "x"), 0.5 + i / 2 / self._count) for i in range(self._count)]


class Talkative:
    """A writer of many edges, on top of a document that each rests on."""

    name = "talkative"

    def __init__(self, edges=60, chars=100):
        self._edges, self._chars = edges, chars

    def write(self, closing):
        segment = closing.segment
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


class Stenographer:
    """A writer of what was said."""

    name = "stenographer"

    def write(self, closing):
        segment = closing.segment
        yield NewDocument(
            kind="event", text=" ".join(spoken.document.text for spoken in closing.utterances), stream=segment.stream, t0_us=segment.t0_us,
            t1_us=segment.t1_us, offset_us=segment.offset_us, known_us=segment.t1_us, origin="system",
        )  # fmt: skip


def parts(**changes):
    given = {"selector": Hoard(1), "chains": [Chain(FixedWindow(), [EventDocument()])], "joint": FakeJointEmbedder()}
    return PipelineParts(**(given | changes))


def see(directory, source, cap=MINIMUM_BYTES, **changes):
    with Store.open(directory, budget_bytes=cap) as store:
        return Pipeline(source, parts(**changes), store).run()


def kept(directory):
    with Store.open(directory) as store, store.view() as view:
        moments = [(m.seq, m.t_us) for m in view.moments()]
        return moments, sorted((d.kind, d.text) for d in view.documents()), len(view.segments())


@contextmanager
def killed(monkeypatch, after):
    """The process ends with the commit that comes after so many."""
    commits, follow = iter(range(10_000)), Store._follow

    class Killed(BaseException):
        """Stands for SIGKILL: nothing after it runs."""

    def stop(self, tx):
        follow(self, tx)
        if next(commits) >= after:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Store, "_follow", stop)
        with pytest.raises(Killed):
            yield


@pytest.mark.parametrize(("hoarded", "lines"), [(40, 0), (1, 45), (40, 20), (200, 3)])
def test_many_pictures_at_once_and_pictures_of_many_words(tmp_path, hoarded, lines):
    changes = {"selector": Hoard(hoarded), "reader": Lines(lines) if lines else None}
    report = see(tmp_path / "m", SyntheticCamera(seconds=200), **changes)
    assert report.notes == ()
    assert report.moments_kept == 200
    assert disk_bytes(tmp_path / "m") <= MINIMUM_BYTES
    assert check_memory(tmp_path / "m") == []


def test_it_is_the_same_as_without_a_cap(tmp_path):
    for name, cap in (("small", MINIMUM_BYTES), ("large", None)):
        see(tmp_path / name, SyntheticCamera(seconds=60), cap, selector=Hoard(20), reader=Lines(10))
    assert kept(tmp_path / "small") == kept(tmp_path / "large")


@pytest.mark.parametrize("after", [1, 2, 5, 9, 14])
def test_a_crash_between_its_transactions_loses_and_repeats_nothing(tmp_path, monkeypatch, after):
    see(tmp_path / "whole", SyntheticCamera(seconds=60), selector=Hoard(20), reader=Lines(10))
    with killed(monkeypatch, after):
        see(tmp_path / "killed", SyntheticCamera(seconds=60), selector=Hoard(20), reader=Lines(10))
    see(tmp_path / "killed", SyntheticCamera(seconds=60), selector=Hoard(20), reader=Lines(10))
    moments = kept(tmp_path / "killed")[0]
    assert len(moments) == len(set(moments))
    assert set(moments) <= set(kept(tmp_path / "whole")[0])
    assert len(moments) >= 40  # what the selector held and does not save is gone, no more
    assert check_memory(tmp_path / "killed") == []


def test_of_more_than_fits_the_surest_is_kept_and_that_is_said(tmp_path):
    report = see(tmp_path / "m", SyntheticCamera(seconds=5), reader=Lines(400))
    assert report.moments_kept == 5
    assert any("the surest" in note and "5 times" in note for note in report.notes)
    with Store.open(tmp_path / "m") as store, store.view() as view:
        seen = [o.name.split() for o in view.observations([1])[1] if o.kind == "text"]
        assert [int(line[1]) for line in seen] == list(range(400 - len(seen), 400))
        assert len(seen) > 30


def test_words_that_were_read_once_do_not_fill_the_disk(tmp_path):
    see(tmp_path / "m", SyntheticCamera(seconds=600), reader=Lines(45, 100))
    with Store.open(tmp_path / "m") as store, store.view() as view:
        carried = {o.name for seen in view.observations([m.id for m in view.moments()]).values() for o in seen if o.kind == "text"}
        (names,) = store._connection.execute("SELECT count(*) FROM term WHERE kind = 'text'").fetchone()
    assert names == len(carried) < 600 * 45
    assert disk_bytes(tmp_path / "m") <= MINIMUM_BYTES


def test_a_writer_of_more_than_fits_into_one_transaction(tmp_path):
    report = see(tmp_path / "m", SyntheticCamera(seconds=90), chains=[Chain(FixedWindow(), [Talkative(), EventDocument()])])
    assert report.notes == ()
    with Store.open(tmp_path / "m") as store, store.view() as view:
        segments = len(view.segments())
        assert len(view.relations(limit=10_000)) == 60 * segments > 60
        assert len(view.documents(kinds=["event"])) == 2 * segments


def test_a_document_that_fits_into_no_transaction_is_left_out_with_what_rests_on_it(tmp_path):
    tracks = [Chain(FixedWindow(), [Talkative(chars=400_000), EventDocument()])]
    report = see(tmp_path / "m", SyntheticCamera(seconds=90), chains=tracks)
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
        return see(
            memory,
            source,
            hearing=by_subtitles(Subtitles(folder / "talk.srt", 1_000 * US), None),
            chains=[Chain(FixedWindow(), [Stenographer()])],
        )

    return hear


def heard_and_told(directory):
    with Store.open(directory) as store, store.view() as view:
        told = " ".join(document.text for document in view.documents(kinds=["event"]))
        return [spoken.document.text for spoken in view.utterances()], told.split()


def test_the_subtitles_of_a_long_recording_of_sound(tmp_path):
    report = talk(tmp_path)(tmp_path / "m")
    assert len(report.notes) == 1
    heard, told = heard_and_told(tmp_path / "m")
    assert heard == told == [f"word{i}" for i in range(400) for _ in range(2)]
    assert disk_bytes(tmp_path / "m") <= MINIMUM_BYTES


@pytest.mark.parametrize("after", [1, 3, 40, 120])
def test_a_crash_between_subtitles_loses_and_repeats_none(tmp_path, monkeypatch, after):
    hear = talk(tmp_path)
    with killed(monkeypatch, after):
        hear(tmp_path / "m")
    hear(tmp_path / "m")
    heard, told = heard_and_told(tmp_path / "m")
    assert heard == told == [f"word{i}" for i in range(400) for _ in range(2)]


def test_the_saved_state_of_a_recording_that_ended_shows_nothing(tmp_path):
    see(tmp_path / "m", SyntheticCamera(seconds=20))
    with Store.open(tmp_path / "m") as store:
        assert len(store.state("see/synthetic")) < 1000


class Elephant(Hoard):
    """A selector that never forgets."""

    name = "elephant"

    def state(self):
        return np.random.default_rng(0).bytes(300_000)


def test_of_what_is_saved_for_a_restart_the_largest_part_is_left_out_where_it_does_not_fit(tmp_path):
    report = see(tmp_path / "m", SyntheticCamera(seconds=20), selector=Elephant(1), reader=Lines(20))
    assert report.moments_kept == 20
    (note,) = report.notes
    assert note.startswith("selector/elephant has too much to save under budget.disk")
    large = see(tmp_path / "large", SyntheticCamera(seconds=20), 64 << 20, selector=Elephant(1), reader=Lines(20))
    assert large.notes == ()
