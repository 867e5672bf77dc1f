"""What leaves the device for a language model: every text without characters that nobody sees, and blackened where a pattern matches.

A server decodes the request before a model reads it, and a model reads through disguises. So patterns are matched on plain strings, before
they are encoded as JSON, and in every reading of them: without invisible characters and with a blank in the place of each, with
compatibility forms folded (NFKC: full width, ligatures, letters in circles), without combining marks, with blanks and line breaks as one
blank, and with JSON's escapes decoded where the text itself is written with them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from edgemem.characters import is_invisible

BLACK = "█"
"""Stands for whatever a pattern matched."""
_UNKNOWN = "\ufffd"
"""Stands for half of a surrogate pair, which no UTF-8 has."""
_ESCAPES = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\"\\/bfnrt])")
_SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ROUNDS = 3
"""So often escapes are decoded: text that was quoted as JSON in a text that was quoted as JSON."""
_SHOWN_KEYS = frozenset({"description", "title", "enum", "const"})
"""Keys of a JSON Schema whose values a model reads as text. Names of properties are the reply's format, and stay."""


class Redaction:
    """Cleans and blackens what leaves. `patterns` are regular expressions that compile."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = tuple(re.compile(unicodedata.normalize("NFKC", pattern)) for pattern in patterns)

    def text(self, text: str) -> str:
        """A text as it may leave."""
        spans = _joined(self._matched(text)) if self._patterns else []
        parts, place = list[str](), 0
        for start, end in spans:
            parts += [_cleaned(text[place:start]), BLACK]
            place = end
        return "".join([*parts, _cleaned(text[place:])])

    def data(self, data: object) -> Any:
        """Records and plain data as plain data that may leave: every string in it, keys too."""
        return self._plain(msgspec.to_builtins(data))

    def schema(self, schema: Any, *, shown: bool = False) -> Any:
        """A JSON Schema whose descriptions and fixed values may leave."""
        if isinstance(schema, dict):
            return {key: self.schema(value, shown=shown or key in _SHOWN_KEYS) for key, value in schema.items()}
        if isinstance(schema, list):
            return [self.schema(item, shown=shown) for item in schema]
        return self.text(schema) if shown and isinstance(schema, str) else schema

    def _plain(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self._plain(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key) if isinstance(key, str) else key: self._plain(item) for key, item in value.items()}
        return value

    def _matched(self, text: str) -> Iterator[tuple[int, int]]:
        """Where `text` holds what a pattern matches in one of its readings. Most texts hold nothing of the kind: that is soon known."""
        if not any(pattern.search(reading) for reading in _quick_readings(text) for pattern in self._patterns):
            return
        for reading in _readings(text):
            for pattern in self._patterns:
                for match in pattern.finditer(reading.text):
                    if match.end() > match.start():
                        yield reading.spans[match.start()][0], reading.spans[match.end() - 1][1]


class _Reading(NamedTuple):
    """One way to read a text: its characters, and where in the text each of them stands."""

    text: str
    spans: tuple[tuple[int, int], ...]


_Change = Callable[[str], str]


class _Table(dict[int, str]):
    """For `str.translate`: every character as `change` makes it, worked out when it is first met."""

    def __init__(self, change: _Change) -> None:
        super().__init__()
        self._change = change

    def __missing__(self, code: int) -> str:
        made = self[code] = self._change(chr(code))
        return made


def _gone(gap: str) -> _Change:
    return lambda one: gap if is_invisible(one) else one


def _unmarked(one: str) -> str:
    return "" if unicodedata.category(one)[0] == "M" else one


_GAPS = {gap: _Table(_gone(gap)) for gap in ("", " ")}
_UNMARKED = _Table(_unmarked)


def _quick_readings(text: str) -> set[str]:
    """The texts of all readings, without where their characters stand."""
    found, written = set[str](), text
    for _ in range(_ROUNDS + 1):
        for table in _GAPS.values():
            seen = written.translate(table)
            bare = unicodedata.normalize("NFKD", seen).translate(_UNMARKED)
            found |= {seen, unicodedata.normalize("NFKC", seen), bare}
        if "\\" not in written:
            break
        written = _ESCAPES.sub(lambda match: _unescaped(match[0]), written)
    return found | {re.sub(r"\s+", " ", reading) for reading in found}


def _cleaned(text: str) -> str:
    """Without what nobody sees. Half of a surrogate pair becomes a mark: nothing could encode it."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_UNKNOWN if "\ud800" <= one <= "\udfff" else one for one in text if not is_invisible(one))


def _readings(text: str) -> list[_Reading]:
    """All readings of a text, each once."""
    as_it_is = _Reading(text, tuple((place, place + 1) for place in range(len(text))))
    found: dict[str, _Reading] = {}
    for written in _decoded(as_it_is):
        for gap in _GAPS:
            seen = _each(written, _gone(gap))
            for folded in (seen, _folded(seen, "NFKC"), _without_marks(_folded(seen, "NFKD"))):
                found.setdefault(folded.text, folded)
                blanks = _one_blank(folded)
                found.setdefault(blanks.text, blanks)
    return list(found.values())


def _decoded(reading: _Reading) -> Iterator[_Reading]:
    """The reading, and what it is where JSON's escapes in it are decoded, once and again."""
    for _ in range(_ROUNDS):
        yield reading
        parts, place = list[tuple[str, tuple[int, int]]](), 0
        for match in _ESCAPES.finditer(reading.text):
            parts += zip(reading.text[place : match.start()], reading.spans[place : match.start()], strict=True)
            parts.append((_unescaped(match[0]), (reading.spans[match.start()][0], reading.spans[match.end() - 1][1])))
            place = match.end()
        if not place:
            return
        parts += zip(reading.text[place:], reading.spans[place:], strict=True)
        reading = _of(parts)
    yield reading


def _unescaped(escape: str) -> str:
    if escape[1] in "ux":
        units = [int(digits, 16) for digits in re.findall(r"[0-9a-fA-F]{4}|(?<=x)[0-9a-fA-F]{2}", escape)]
        return b"".join(unit.to_bytes(2, "big") for unit in units).decode("utf-16-be", "replace")[:1]
    return _SHORT[escape[1]]


def _each(reading: _Reading, change: _Change) -> _Reading:
    """Every character changed by itself, into any number of characters."""
    if reading.text.isascii() and reading.text.isprintable():
        return reading
    return _of((new, span) for old, span in zip(reading.text, reading.spans, strict=True) for new in change(old))


def _folded(reading: _Reading, form: Literal["NFKC", "NFKD"]) -> _Reading:
    """In a compatibility form, every character together with the marks that follow it."""
    if reading.text.isascii():
        return reading
    parts, place = list[tuple[str, tuple[int, int]]](), 0
    while place < len(reading.text):
        end = place + 1
        while end < len(reading.text) and _continues(reading.text[end]):
            end += 1
        span = (reading.spans[place][0], reading.spans[end - 1][1])
        parts += [(one, span) for one in unicodedata.normalize(form, reading.text[place:end])]
        place = end
    return _of(parts)


def _continues(character: str) -> bool:
    """It belongs to the character before: a combining mark, or a vowel or last consonant of a Hangul syllable."""
    return unicodedata.category(character)[0] == "M" or "\u1160" <= character <= "\u11ff"


def _without_marks(reading: _Reading) -> _Reading:
    return _each(reading, _unmarked)


def _one_blank(reading: _Reading) -> _Reading:
    """Blanks and line breaks after another are one blank."""
    parts = list[tuple[str, tuple[int, int]]]()
    for one, span in zip(reading.text, reading.spans, strict=True):
        if one.isspace() and parts and parts[-1][0] == " ":
            parts[-1] = (" ", (parts[-1][1][0], span[1]))
        else:
            parts.append((" " if one.isspace() else one, span))
    return _of(parts)


def _of(parts: Iterable[tuple[str, tuple[int, int]]]) -> _Reading:
    listed = list(parts)
    return _Reading("".join(one for one, _ in listed), tuple(span for _, span in listed))


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that overlap as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
