"""Sound of recordings: at its correct time, in bounded pieces, for all containers."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from types import SimpleNamespace

import av
import numpy as np
import pytest
from recordings import beeps, heard_beeps

from edgemem.errors import SourceError
from edgemem.extend.sources import open_source
from edgemem.hear.listen import Heard
from edgemem.hear.utterances import by_recogniser
from edgemem.records import BEFORE_START_US, SOUND_RATE_HZ, US
from edgemem.remember.store import Store
from edgemem.see import commit
from edgemem.see.pipeline import Pipeline, PipelineParts
from edgemem.see.select import KeepAll
from edgemem.see.sources.sound import CHUNK_S, Microphone


def sounds(path, after_us=BEFORE_START_US, **options):
    return list(open_source(str(path), rate_fps=1, **options).sounds(after_us))


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.mov"])
def test_sound_is_where_the_pictures_are(tmp_path, name):
    heard = sounds(beeps(tmp_path / name, [1.0, 3.5]))
    assert heard_beeps(heard) == pytest.approx([1.0, 3.5], abs=0.06)
    assert all(a.end_us == b.offset_us for a, b in pairwise(heard))
    assert all(len(sound.samples) <= CHUNK_S * SOUND_RATE_HZ and sound.samples.dtype == np.float32 for sound in heard)


def test_offsets_count_from_the_first_picture(tmp_path):
    late_pictures = beeps(tmp_path / "a.mkv", [0.5, 2.0], video_from_s=1.0)
    assert heard_beeps(sounds(late_pictures)) == pytest.approx([-0.5, 1.0], abs=0.03)
    late_sound = beeps(tmp_path / "b.mkv", [0.5, 2.0], sound_from_s=1.5)
    assert heard_beeps(sounds(late_sound)) == pytest.approx([2.0, 3.5], abs=0.03)


def test_sound_that_is_missing_leaves_a_gap_and_shifts_nothing(tmp_path):
    heard = sounds(beeps(tmp_path / "a.mkv", [1.0, 4.0], gap=(2.0, 5.0)))
    assert heard_beeps(heard) == pytest.approx([1.0, 9.0], abs=0.03)
    gaps = [(a.end_us, b.offset_us) for a, b in pairwise(heard) if a.end_us != b.offset_us]
    assert len(gaps) == 1
    assert gaps[0][1] - gaps[0][0] == pytest.approx(5 * US, abs=0.05 * US)


def test_wall_time_follows_the_start_that_was_given(tmp_path):
    heard = sounds(beeps(tmp_path / "a.mp4", [1.0]), start_us=1_000_000 * US)
    assert all(sound.t_us - sound.offset_us == 1_000_000 * US for sound in heard)


def test_going_on_gives_exactly_what_was_not_given_yet(tmp_path):
    path = beeps(tmp_path / "a.mp4", [1.0, 3.5])
    after_us = 2_345_678
    later = sounds(path, after_us)
    assert later[0].offset_us == pytest.approx(after_us, abs=100)
    whole = {sound.end_us: sound for sound in sounds(path)}
    assert later[-1].end_us == pytest.approx(max(whole), abs=1000)
    assert heard_beeps(later) == pytest.approx([3.5], abs=0.06)
    assert sounds(path, 10**12) == []


@pytest.mark.parametrize(
    ("name", "codec"), [("a.wav", "pcm_s16le"), ("a.flac", "flac"), ("a.mp3", "mp3"), ("a.m4a", "aac"), ("a.mp4", "aac")]
)
def test_a_recording_of_sound_alone_is_a_source_without_frames(tmp_path, name, codec):
    path = beeps(tmp_path / name, [1.0, 3.5], video_from_s=None, codec=codec) if codec != "mp3" else _mp3(tmp_path / name)
    source = open_source(str(path), rate_fps=1)
    assert source.has_sound
    assert source.duration_us == pytest.approx(6 * US, abs=0.1 * US)
    assert list(source.frames()) == []
    assert source.blind
    assert source.identity
    assert heard_beeps(source.sounds()) == pytest.approx([1.0, 3.5], abs=0.06)
    source.close()
    source.close()


def _mp3(path):
    import av

    plain = beeps(path.with_suffix(".wav"), [1.0, 3.5], video_from_s=None, codec="pcm_s16le")
    with av.open(str(plain)) as reading, av.open(str(path), "w") as out:
        stream = out.add_stream("mp3", rate=44_100, layout="stereo")
        resampler = av.AudioResampler(format=stream.format, layout="stereo", rate=44_100)
        for frame in reading.decode(audio=0):
            for part in resampler.resample(frame):
                out.mux(stream.encode(part))
        out.mux(stream.encode(None))
    return path


def test_a_silent_film_has_no_sound_and_is_no_failure(tmp_path):
    from films import encode, scenes

    assert sounds(encode(tmp_path / "a.mp4", scenes(1, 1.0))) == []


def test_damage_costs_the_damaged_part(tmp_path):
    path = beeps(tmp_path / "a.ts", [1.0, 5.0])
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    path.write_bytes(data)
    found = heard_beeps(sounds(path))
    assert any(abs(t - 5.0) < 0.1 for t in found) or any(abs(t - 1.0) < 0.1 for t in found)


def test_what_holds_no_sound_is_refused_in_one_line(tmp_path):
    text = tmp_path / "a.wav"
    text.write_text("no sound at all")
    with pytest.raises(SourceError) as refused:
        open_source(str(text), rate_fps=1)
    assert "\n" not in str(refused.value)


def test_a_microphone_that_is_not_there_is_said_without_its_password():
    def gone(_spec):
        raise OSError("no such device")

    with pytest.raises(SourceError, match="arecord -L") as refused:
        Microphone("rtsp://user:secret@host/cam", stream="kitchen", opener=gone)
    assert "secret" not in str(refused.value)


def test_a_microphone_goes_with_a_camera_only(tmp_path):
    film = beeps(tmp_path / "a.mp4", [1.0])
    with pytest.raises(SourceError, match="can only be added to a camera"):
        open_source(f"{film}+alsa:default", rate_fps=1)


def test_live_sound_is_counted_on_and_its_loss_noticed(tmp_path):
    """The real decoder with a test clock: sound that arrives in bursts becomes continuous."""
    from edgemem.see.sources.container import open_container

    path = beeps(tmp_path / "a.wav", [1.0, 3.5], video_from_s=None, codec="pcm_s16le")
    microphone = Microphone("alsa:test", stream="kitchen", opener=lambda _spec: open_container(str(path)))
    heard = []
    for sound in microphone.sounds():
        heard.append(sound)
        if sum(len(s.samples) for s in heard) >= 5.5 * SOUND_RATE_HZ:
            microphone.close()
    assert all(sound.live and sound.stream == "kitchen" for sound in heard)
    assert all(a.end_us <= b.offset_us for a, b in pairwise(heard))
    assert abs(heard[0].t_us - heard[0].offset_us - microphone.t0_us) < US


@pytest.mark.parametrize("name", ["a.mp4", "a.wav"])
def test_sound_can_be_heard_to_its_end_after_the_pictures_have_ended(tmp_path, name):
    film = name == "a.mp4"
    path = beeps(tmp_path / name, [1.0, 5.5], video_from_s=0.0 if film else None, codec="aac" if film else "pcm_s16le")
    source = open_source(str(path), rate_fps=1)
    reading = source.sounds()
    first = next(reading)
    source.close()
    assert heard_beeps([first, *reading]) == pytest.approx([1.0, 5.5], abs=0.06)


class Endless:
    """A microphone of PyAV that never ends: a tenth of a second of silence after the other."""

    streams = SimpleNamespace(audio=[1])

    def decode(self, audio: int):
        del audio
        while True:
            time.sleep(0.1)
            frame = av.AudioFrame.from_ndarray(np.zeros((1, SOUND_RATE_HZ // 10), np.float32), format="flt", layout="mono")
            frame.sample_rate = SOUND_RATE_HZ
            yield frame

    def close(self):
        pass


class Ear:
    """Hears a word in every piece of sound."""

    name = "ear"

    def __init__(self):
        self.until_us, self.notes = BEFORE_START_US, {}

    def hear(self, sound):
        self.until_us = sound.end_us
        return [Heard(t0_us=sound.t_us, t1_us=sound.t_us + 1, offset_us=sound.offset_us, text="word")]

    def flush(self):
        return []

    def state(self):
        return b""

    def restore(self, state):
        pass


def test_what_a_microphone_hears_is_stored_while_it_listens(tmp_path, monkeypatch):
    """It has no frames that would bring a commit."""
    monkeypatch.setattr(commit, "SAVE_S", 0.5)
    microphone = Microphone("alsa:test", stream="kitchen", opener=lambda _spec: Endless())
    parts = PipelineParts(gates=[], selector=KeepAll(), chains=[], perceivers=[], hearing=by_recogniser(Ear(), None))
    with Store.open(tmp_path / "memory") as store:
        pipeline = Pipeline(microphone, parts, store)
        running = threading.Thread(target=pipeline.run)
        running.start()
        until = time.monotonic() + 30.0
        stored = []
        while not stored and time.monotonic() < until:
            time.sleep(0.1)
            with store.view() as view:
                stored = view.utterances(stream="kitchen")
        assert stored
        assert running.is_alive()
        pipeline.stop()
        running.join(30.0)
        assert not running.is_alive()
