"""Subtitle files in their usual forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemem.errors import SourceError
from edgemem.hear.subtitles import Cue, Subtitles, beside, read
from edgemem.records import AFTER_END_US, BEFORE_START_US, US

SRT = """1
00:00:01,000 --> 00:00:02,500
TOMAS: Where is the <i>key</i>?

2
00:00:03,000 --> 00:00:04,000
It is on the table,
next to the lamp.

3
00:00:05,000 --> 00:00:04,000
Backwards.

4
no time at all

5
01:00:06,500 --> 01:00:07,000
ANNA BELL: Here.
BEN: Thanks!
"""
VTT = """WEBVTT - a film

NOTE written by hand

STYLE
::cue { color: lime }

first
00:01.000 --> 00:02.500 align:start position:0%
<v.loud Tomas>Where &amp; when?</v>

00:03.000 --> 00:04.000
At 12: 30 it was.

00:05.000 --> 00:06.000
Remember this: never.
"""


def written(tmp_path, text, name="a.srt", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def test_srt_with_speakers_markup_and_broken_cues(tmp_path):
    cues, malformed = read(written(tmp_path, SRT))
    assert cues == [
        Cue(1 * US, 2_500_000, "Tomas", "Where is the key?"),
        Cue(3 * US, 4 * US, "", "It is on the table, next to the lamp."),
        Cue(3606_500_000, 3607 * US, "Anna Bell", "Here."),
        Cue(3606_500_000, 3607 * US, "Ben", "Thanks!"),
    ]
    assert malformed == 2


def test_vtt_with_settings_comments_and_voices(tmp_path):
    cues, malformed = read(written(tmp_path, VTT, "a.vtt"))
    assert cues == [
        Cue(1 * US, 2_500_000, "Tomas", "Where & when?"),
        Cue(3 * US, 4 * US, "", "At 12: 30 it was."),
        Cue(5 * US, 6 * US, "", "Remember this: never."),
    ]
    assert malformed == 0


def test_me_is_a_speaker_as_the_voice_of_the_wearer_is_named(tmp_path):
    cue = "1\n00:00:01,000 --> 00:00:02,000\n"
    found, _ = read(written(tmp_path, f"{cue}me: Anna, the salt?\nAnna: Here.\nyou: no name\n"))
    assert [one[2:] for one in found] == [("me", "Anna, the salt?"), ("Anna", "Here. you: no name")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_any_usual_encoding_and_line_end(tmp_path, encoding):
    text = "1\r\n00:00:01,000 --> 00:00:02,000\r\nDas Café schließt.\r\n\r\n"
    assert read(written(tmp_path, text, encoding=encoding))[0][0].text == "Das Café schließt."


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    path = written(tmp_path_factory.mktemp("subtitles"), f"00:01.000 --> 00:02.000\n{text}\n\n{text}")
    try:
        cues, _ = read(path)
    except SourceError:
        return
    assert all(cue.t0_us < cue.t1_us and cue.text.strip() for cue in cues)


def test_they_are_found_beside_the_recording(tmp_path):
    film = tmp_path / "film.mp4"
    assert beside(str(film)) is None
    film.write_bytes(b"")
    assert beside(str(film)) is None
    written(tmp_path, SRT, "film 2.srt")
    assert beside(str(film)) is None
    written(tmp_path, SRT, "film.en.srt")
    assert beside(str(film)) == tmp_path / "film.en.srt"
    written(tmp_path, VTT, "film.vtt")
    assert beside(str(film)) == tmp_path / "film.vtt"
    assert beside("https://host/film.mp4") is None


def test_each_is_told_once_when_the_pictures_have_come_to_it_and_after_a_restart(tmp_path):
    path = written(tmp_path, SRT)
    subtitles = Subtitles(path, 100 * US)
    assert subtitles.notes == ("the words come from a.srt: 4 subtitles, 2 that cannot be read were skipped",)
    subtitles.restore(BEFORE_START_US, b"")
    subtitles.seen(2 * US)
    (first,) = subtitles.take()
    assert (first.t0_us, first.offset_us, first.speaker, first.speaker_kind, first.origin) == (101 * US, US, "Tomas", "person", "document")
    assert subtitles.take() == []
    again = Subtitles(path, 100 * US)
    again.restore(subtitles.position_us, b"")
    again.finish()
    assert [heard.text for heard in again.take()] == ["It is on the table, next to the lamp.", "Here.", "Thanks!"]
    assert again.heard_until_us == AFTER_END_US


def test_a_stopped_run_takes_no_more(tmp_path):
    subtitles = Subtitles(written(tmp_path, SRT), 0)
    subtitles.restore(BEFORE_START_US, b"")
    subtitles.seen(2 * US)
    subtitles.stop()
    assert not subtitles.finish()
    assert len(subtitles.take()) == 1
