"""The files of an export, read within bounds: what is too large, too deep or no plain value at all is refused with file and line."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from edgemem import files
from edgemem.errors import UsageError
from edgemem.records import Vector
from edgemem.remember.export import FORMAT, FORMAT_VERSION
from edgemem.remember.import_lines import LINES, About

MOST_LINE_BYTES = 32 << 20
"""Of one line: a session with all that was asked of language models is the longest, some megabytes."""
MOST_ABOUT_BYTES = 1 << 20
MOST_PICTURE_BYTES = 64 << 20
_MOST_DEPTH = 64
_MOST_NUMBER = 2**63 - 1


def read_about(source: Path) -> About:
    """What `memory.json` says. Raises UsageError."""
    path = source / "memory.json"
    try:
        return _about(path)
    except OSError as error:
        raise UsageError(f"{source} is not an export: memory.json cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise UsageError(f"{path}: {_short(error)}") from None


def _about(path: Path) -> About:
    found = loads(files.read_file(path, MOST_ABOUT_BYTES))
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise UsageError(f"{path.parent} is not an export of edgemem: memory.json is of another program")
    about = msgspec.convert(found, About)
    if not 1 <= about.version <= FORMAT_VERSION:
        raise UsageError(f"{path.parent} was exported by a newer edgemem: upgrade edgemem-agent")
    names = [space.name for space in about.spaces]
    if len(set(names)) < len(names):
        raise ValueError("two spaces of vectors have one name")
    return about


def read_lines(source: Path, table: str) -> Iterator[tuple[str, Any]]:
    """(where it stands, record) for each line of a table. Raises UsageError with file and line."""
    path = source / f"{table}.jsonl"
    try:
        with files.read_along(path) as file:
            number = 0
            while line := file.readline(MOST_LINE_BYTES + 1):
                number += 1
                where = f"{path}, line {number}"
                yield where, _record(line, table, where)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _record(line: bytes, table: str, where: str) -> Any:
    if len(line) > MOST_LINE_BYTES:
        raise UsageError(f"{where}: it is longer than {files.size_text(MOST_LINE_BYTES)}")
    try:
        return msgspec.convert(loads(line), LINES[table])
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise UsageError(f"{where}: {_short(error)}") from None


def loads(data: bytes) -> Any:
    """JSON of plain values: no NaN, no number beyond 64 bits, no text that is not Unicode, nothing nested deeply. Raises ValueError."""
    value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if depth > _MOST_DEPTH:
            raise ValueError(f"it is nested more than {_MOST_DEPTH} deep")
        if isinstance(item, dict):
            pending += [(inner, depth + 1) for pair in item.items() for inner in pair]
        elif isinstance(item, list):
            pending += [(inner, depth + 1) for inner in item]
        else:
            _require_plain(item)
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _require_plain(item: Any) -> None:
    if isinstance(item, str):
        if "\0" in item or any("\ud800" <= letter <= "\udfff" for letter in item):
            raise ValueError("it holds text with NUL or half a character")
    elif isinstance(item, float):
        if not math.isfinite(item):
            raise ValueError("it holds a number that is too large")
    elif isinstance(item, int) and abs(item) > _MOST_NUMBER:
        raise ValueError("it holds a number that is too large")


def read_picture(source: Path, name: str) -> bytes:
    """The picture that a moment names, which must lie inside the export. Raises UsageError."""
    root = source.resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        raise UsageError(f"{source}: the picture {name[:80]} lies outside of the export")
    try:
        return files.read_file(path, MOST_PICTURE_BYTES)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def vector(encoded: str) -> Vector:
    """A vector from base64 of little-endian float16. Raises ValueError."""
    try:
        data = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise ValueError(f"a vector is no base64 ({error})") from None
    found: Vector = np.frombuffer(data, "<f2").astype(np.float32)
    if not np.isfinite(found).all():
        raise ValueError("a vector has a component that is no number")
    return found


def _short(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:300]
