"""The log of the daemon: one line for each thing worth knowing, with a level and a stream, and without endless repetition."""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal, Protocol, TextIO

import msgspec

from edgemem import clock
from edgemem.extend.output import json_text

Level = Literal["info", "notice", "warning", "error"]
Form = Literal["text", "journal", "json"]

_PRIORITIES: dict[Level, int] = {"info": 6, "notice": 5, "warning": 4, "error": 3}
"""Priorities of syslog(3), as systemd reads them in front of a line (sd-daemon(3))."""
_WINDOW_S = 3600.0
_MOST_TIMES = 5
"""A line is written this often within the window; further ones are counted."""
_MOST_LINES = 1000
"""Lines whose repetitions are counted."""


class Report(Protocol):
    """Takes a message for a person. `stream`: the stream that it is about."""

    def __call__(self, text: str, /, *, level: Level = "info", stream: str = "") -> object: ...


class LogEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the form "json"."""

    t: str
    """ISO 8601 UTC."""
    level: Level
    text: str
    stream: str = ""
    times: int = 1
    """How often it happened since it was last written."""


class AgentLog:
    """A `Report` that writes lines.

    `form`: "text" for a terminal; "journal" with the priority in front, for systemd; "json" with one object a line, for programs. A line
    that came five times within an hour is counted, and written again with its count after that hour.
    """

    def __init__(self, write: Callable[[str], object], form: Form = "text", monotonic: Callable[[], float] = clock.monotonic_s) -> None:
        self.form = form
        self._write = write
        self._monotonic = monotonic
        self._known: OrderedDict[tuple[str, str], _Repetition] = OrderedDict()

    def __call__(self, text: str, *, level: Level = "info", stream: str = "") -> None:
        """Write a line, unless it came too often."""
        flat = " ".join(text.split())
        repetition = self._known.setdefault((stream, flat), _Repetition(self._monotonic()))
        self._known.move_to_end((stream, flat))
        while len(self._known) > _MOST_LINES:
            self._known.popitem(last=False)
        times = repetition.due(self._monotonic())
        if times:
            last = repetition.written == _MOST_TIMES
            self._write(self._line(LogEntry(t=clock.to_iso(clock.now_us()), level=level, text=flat, stream=stream, times=times), last=last))

    def _line(self, entry: LogEntry, *, last: bool) -> str:
        if self.form == "json":
            return json_text(entry)
        often = f" ({entry.times} times)" if entry.times > 1 else ""
        more = " (again and again: not written for an hour)" if last else ""
        line = f"{entry.stream}: {entry.text}{often}{more}" if entry.stream else f"{entry.text}{often}{more}"
        return f"<{_PRIORITIES[entry.level]}>{line}" if self.form == "journal" else line


class _Repetition:
    """How often one line came."""

    def __init__(self, now_s: float) -> None:
        self.written = 0
        self._since_s = now_s
        self._unwritten = 0

    def due(self, now_s: float) -> int:
        """How many times this line stands for if it is written now; 0 = it is not."""
        if now_s - self._since_s >= _WINDOW_S:
            self._since_s, self.written = now_s, 0
        self._unwritten += 1
        if self.written >= _MOST_TIMES:
            return 0
        self.written += 1
        times, self._unwritten = self._unwritten, 0
        return times


class LibraryMessages(logging.Handler):
    """Passes what libraries log on to a `Report`."""

    def __init__(self, report: Report) -> None:
        super().__init__(logging.WARNING)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        """Report one record."""
        self._report(self.format(record), level="error" if record.levelno >= logging.ERROR else "warning")


def form_of(named: Literal["auto", "text", "journal", "json"], stream: TextIO) -> Form:
    """The form of a log on this stream; "auto" is "journal" where systemd reads it, else "text".

    systemd names the device and inode of its stream in JOURNAL_STREAM (systemd.exec(5)), so that a redirected one is told apart.
    """
    if named != "auto":
        return named
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return "text"
    return "journal" if os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}" else "text"
