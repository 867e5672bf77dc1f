"""The daemon's log: lines for people, for systemd and for programs; the same line does not fill the disk."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from daemons import PROGRAM, Start, wait_until

from edgemem.device.log import AgentLog, form_of
from edgemem.extend.testing import FakeClock

Pictures = Callable[..., Path]


class Written:
    """A log whose lines are kept, on a clock that is moved by hand."""

    def __init__(self, form="text"):
        self.lines: list[str] = []
        self.clock = FakeClock(0)
        self.log = AgentLog(self.lines.append, form, lambda: self.clock.mono() / 1e6)


def test_a_line_has_its_stream_in_front_and_its_priority_for_systemd():
    text, journal = Written(), Written("journal")
    for one in (text, journal):
        one.log("blind: it is  not\nthere", level="warning", stream="door")
        one.log("remembers door")
        one.log("lost", level="error")
        one.log("sees again", level="notice", stream="door")
    assert text.lines == ["door: blind: it is not there", "remembers door", "lost", "door: sees again"]
    assert journal.lines == ["<4>door: blind: it is not there", "<6>remembers door", "<3>lost", "<5>door: sees again"]


def test_a_program_reads_one_object_a_line_whatever_a_stream_is_called():
    written = Written("json")
    written.log('blind: "x" \x1b[31m', level="warning", stream='do"or')
    written.log("remembers door")
    assert all("\n" not in line and "\x1b" not in line for line in written.lines)
    first, second = map(json.loads, written.lines)
    assert first.pop("t").endswith("Z")
    assert first == {"level": "warning", "text": 'blind: "x" \x1b[31m', "stream": 'do"or'}
    assert {key: value for key, value in second.items() if key != "t"} == {"level": "info", "text": "remembers door"}


def test_what_comes_again_and_again_is_written_five_times_an_hour_and_then_counted():
    written = Written()
    for _ in range(1000):
        written.log("blind", stream="door")
        written.log("blind", stream="yard")
        written.clock.tick(2.0)
    door = [line for line in written.lines if line.startswith("door")]
    often = "door: blind (again and again: not written for an hour)"
    assert door == ["door: blind"] * 4 + [often]
    written.clock.tick(3600)
    written.lines.clear()
    written.log("blind", stream="door")
    written.log("blind", stream="door")
    assert written.lines == ["door: blind (996 times)", "door: blind"]


def test_lines_that_differ_are_all_written_and_do_not_fill_the_memory():
    written = Written()
    for number in range(5000):
        written.log(f"{number} frames seen")
    assert len(written.lines) == 5000
    assert len(written.log._known) == 1000


def test_the_form_follows_the_stream_that_systemd_named(tmp_path, monkeypatch):
    with (tmp_path / "journal").open("w") as journal, (tmp_path / "other").open("w") as other:
        status = os.fstat(journal.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        assert (form_of("auto", journal), form_of("auto", other), form_of("auto", io.StringIO())) == ("journal", "text", "text")
        assert (form_of("json", journal), form_of("text", journal)) == ("json", "text")
        monkeypatch.delenv("JOURNAL_STREAM")
        assert form_of("auto", journal) == "text"


@pytest.mark.parametrize("form", ["json", "journal"])
def test_every_line_of_the_daemon_has_the_form(start: Start, pictures: Pictures, tmp_path: Path, form: str) -> None:
    daemon = start({"door": pictures("a"), "late": tmp_path / "late"}, run=f'log = "{form}"').wait_ready()
    daemon_said = ("frames seen", "blind: ")
    wait_until(lambda: all(part in daemon.said for part in daemon_said))
    assert daemon.stop() == 0
    lines = daemon.said.splitlines()
    assert len(lines) >= 3
    if form == "json":
        entries = [json.loads(line) for line in lines]
        assert {entry["level"] for entry in entries if entry.get("stream") == "late"} == {"warning"}
        assert {entry["text"].partition(":")[0] for entry in entries if entry.get("stream") == "late"} == {"blind"}
    else:
        assert all(line[0] == "<" and line[1] in "3456" and line[2] == ">" for line in lines), lines


def test_a_daemon_of_a_closed_terminal_ends_cleanly(start: Start, pictures: Pictures) -> None:
    """Without a terminal SIGHUP means that settings are read again; with one it means that its user has gone."""
    daemon = start({"door": pictures("a")}).wait_ready().wait_seen()
    assert daemon.stop() == 0
    process, terminal = pty.fork()
    if process == 0:
        os.execv(PROGRAM[0], [*PROGRAM, "run", "--config", str(daemon.settings)])
    try:
        wait_until(lambda: daemon.status)
        os.kill(process, signal.SIGHUP)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    finally:
        os.close(terminal)
