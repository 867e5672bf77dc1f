"""Subtitles: a file beside the recording (.srt, .vtt) gives the words, instead of speech recognition.

Byte order marks, both kinds of line end, commas or dots, markup, cue settings and comments are accepted; a cue that cannot be read is
skipped and counted. pysubs2 (1.8.1) is not used, because it changes words: it drops a last line that is a number ("The answer is / 42"), it
adds cue names, comments (WebVTT) and damaged cues to the text before them, and it skips times without hours in .srt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from edgemem import files
from edgemem.errors import SourceError
from edgemem.hear.listen import Heard
from edgemem.records import AFTER_END_US, BEFORE_START_US, US

SUFFIXES = (".srt", ".vtt")
MOST_BYTES = 8 << 20
"""Largest file that is read. Subtitles of a day of talk are about 2 MB."""
MOST_CUE_CHARS = 4000
"""A longer cue is nothing that anybody could read while it is shown: it is skipped and counted."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_TOO_LONG = "too long"
"""Stands for a block, and is no cue."""

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?")
_VOICE = re.compile(r"<v(?:\.[^ >]*)?\s+([^>]+)>")
_MARKUP = re.compile(r"<[^>]*>|\{\\[^}]*\}")
_SPEAKER = re.compile(r"\s*(?:-\s*)?([^\W\d_][\w.'’-]*(?: [\w.'’-]+){0,3}):\s+(?=\S)")
"""`NAME: ` at the beginning of a line: at most four words. See `_is_name`."""
_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&nbsp;": " ", "&lrm;": "", "&rlm;": ""}


class Cue(NamedTuple):
    """One line of one speaker; times in microseconds from the beginning of the recording."""

    t0_us: int
    t1_us: int
    speaker: str
    text: str


def beside(recording: str) -> Path | None:
    """The subtitle file of a recording, with the same name: `film.srt`, `film.vtt`, else `film.en.srt`. None if there is none."""
    path = Path(recording)
    if "://" in recording or not path.is_file():
        return None
    exact = [path.with_suffix(suffix) for suffix in SUFFIXES]
    found = [file for file in path.parent.iterdir() if file.suffix.lower() in SUFFIXES and file.name.startswith(f"{path.stem}.")]
    return next((file for file in (*exact, *sorted(found)) if file.is_file()), None)


def read(path: Path) -> tuple[list[Cue], int]:
    """(cues in the order of time, how many could not be read). Raises SourceError if the file has no cue."""
    try:
        data = files.read_file(path, MOST_BYTES)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror})") from None
    found: list[Cue] = []
    malformed = 0
    for block in _blocks(_decoded(data)):
        cues = _block(block)
        malformed += cues is None
        found += cues or ()
    if not found:
        raise SourceError(f"{path}: contains no subtitles; give a .srt or .vtt file")
    return sorted(found, key=lambda cue: cue[:2]), malformed


def _blocks(text: str) -> Iterator[str]:
    """What stands between empty lines, one after the other. One that is too long is given empty."""
    block, length = list[str](), 0
    for found in _LINE.finditer(text):
        line = found[0].rstrip("\r\n")
        if line.strip(" \t"):
            length += len(line)
            if length <= MOST_CUE_CHARS:
                block.append(line)
        elif length:
            yield "\n".join(block) if length <= MOST_CUE_CHARS else _TOO_LONG
            block, length = [], 0
    if length:
        yield "\n".join(block) if length <= MOST_CUE_CHARS else _TOO_LONG


def _decoded(data: bytes) -> str:
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _block(block: str) -> list[Cue] | None:
    """The cues of one block: none for headers, comments and empty text; None for a damaged cue."""
    lines = [line for line in block.split("\n") if line.strip()]
    if not lines or re.match(r"(WEBVTT|NOTE|STYLE|REGION|X-TIMESTAMP-MAP)\b", lines[0]):
        return []
    at = next((number for number, line in enumerate(lines[:3]) if "-->" in line), None)
    times = _TIMES.fullmatch(lines[at]) if at is not None else None
    if at is None or times is None:
        return None
    t0_us, t1_us = _us(times.groups()[:4]), _us(times.groups()[4:])
    if t1_us <= t0_us:
        return None
    return [Cue(t0_us, t1_us, speaker, text) for speaker, text in _spoken(lines[at + 1 :])]


def _us(parts: tuple[str | None, ...]) -> int:
    hours, minutes, seconds, fraction = parts
    return ((int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)) * US + int((fraction or "0").ljust(3, "0")) * 1000


def _spoken(lines: list[str]) -> Iterator[tuple[str, str]]:
    """(speaker, text) for each speaker of a cue; lines without a name belong to the speaker before."""
    speaker, words = "", list[str]()
    for line in lines:
        name, text = _named(line)
        if name and words:
            yield speaker, " ".join(words)
            words = []
        speaker = name or speaker
        words += text.split()
    if words:
        yield speaker, " ".join(words)


def _named(line: str) -> tuple[str, str]:
    voice = _VOICE.search(line)
    text = _MARKUP.sub("", line)
    for entity, plain in _ENTITIES.items():
        text = text.replace(entity, plain)
    if voice is not None:
        return " ".join(voice[1].split()), text
    match = _SPEAKER.match(text)
    if match is None or not _is_name(match[1], text[match.end()]):
        return "", text
    name = match[1]
    return (name.title() if name.isupper() else name), text[match.end() :]


def _is_name(name: str, following: str) -> bool:
    """Whether it is a name: every word begins with a capital ("remember this: ..." is speech), and it is no time ("At 12: 30"). "me" is the
    person who wears the camera.
    """
    return name == "me" or (not any(word[0].islower() for word in name.split()) and not (name[-1].isdigit() and following.isdigit()))


class Subtitles:
    """Implements `hear.listen.UtteranceStream` without a recogniser: returns each cue when the frames have reached its beginning."""

    name = "subtitles"

    def __init__(self, path: Path, t0_us: int) -> None:
        """`t0_us`: wall time of the recording's first frame. Raises SourceError."""
        self._cues, malformed = read(path)
        self._t0_us = t0_us
        self._seen_us = self._taken_us = BEFORE_START_US
        skipped = f", {malformed} that cannot be read were skipped" if malformed else ""
        self.notes = (f"the words come from {path.name}: {len(self._cues)} subtitle{'' if len(self._cues) == 1 else 's'}{skipped}",)
        self.voices = b""
        self._stopped = False

    @property
    def heard_until_us(self) -> int:
        return self._taken_us

    @property
    def position_us(self) -> int:
        return self._taken_us

    def take_new_notes(self) -> tuple[str, ...]:
        """Nothing fails here."""
        return ()

    def restore(self, position_us: int, _voices: bytes) -> None:
        self._taken_us = position_us

    def start(self) -> None:
        """Nothing to start."""

    def seen(self, offset_us: int | None) -> None:
        self._seen_us = AFTER_END_US if offset_us is None else offset_us

    def take(self) -> list[Heard]:
        """Cues that began since the last call."""
        until_us, self._taken_us = self._taken_us, max(self._taken_us, self._seen_us)
        return [
            Heard(
                t0_us=self._t0_us + cue.t0_us, t1_us=self._t0_us + cue.t1_us, offset_us=cue.t0_us, text=cue.text, speaker=cue.speaker,
                speaker_kind="person", origin="document",
            )
            for cue in self._cues if until_us < cue.t0_us <= self._taken_us
        ]  # fmt: skip

    def stop(self) -> None:
        """Later cues than the handled frames are not taken."""
        self._stopped = True

    def finish(self, timeout_s: float | None = None, progress: Callable[[], object] = lambda: None) -> bool:
        """There are no more frames: the next `take` returns all other cues, unless `stop` was called before."""
        del timeout_s, progress
        if not self._stopped:
            self.seen(None)
        return not self._stopped
