"""The texts and constants in an ONNX file, which runtimes do not tell; read without the library `onnx`, which boards do not have."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from edgemem.errors import EngineError

_METADATA, _GRAPH, _CONSTANT = 14, 7, 5
"""Fields `metadata_props` and `graph` of `ModelProto`, and `initializer` of `GraphProto` (onnx.proto). An entry of the metadata has the
fields key = 1 and value = 2."""
_NAME, _DATA = 8, 9
"""Fields `name` and `raw_data` of a constant."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""Wire types of protocol buffers (protobuf.dev, "Encoding")."""


def onnx_metadata(path: Path) -> dict[str, str]:
    """The model's own texts, such as an alphabet. Raises EngineError if the file is no ONNX file."""
    with _opened(path) as file:
        entries = [
            dict(_fields(file, start, start + size)) for number, start, size in _spans(file, 0, path.stat().st_size) if number == _METADATA
        ]
    return {entry.get(1, b"").decode("utf-8", "replace"): entry.get(2, b"").decode("utf-8", "replace") for entry in entries}


def onnx_constant(path: Path, name: str) -> bytes:
    """The numbers of a constant, row by row, as they are stored. Raises EngineError if the file is no ONNX file or has no such constant."""
    with _opened(path) as file:
        graphs = [(start, size) for number, start, size in _spans(file, 0, path.stat().st_size) if number == _GRAPH]
        for start, size in graphs:
            constants = [(at, at + length) for number, at, length in _spans(file, start, start + size) if number == _CONSTANT]
            for at, end in constants:
                if dict(_fields(file, at, end, {_NAME})).get(_NAME) == name.encode():
                    return dict(_fields(file, at, end, {_DATA})).get(_DATA, b"")
    raise EngineError(f'{path} has no constant "{name}"')


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except (OSError, ValueError) as error:
        raise EngineError(f"{path} cannot be read as ONNX: {error}") from None


def _fields(file: BinaryIO, start: int, end: int, wanted: Container[int] = range(2**29)) -> Iterator[tuple[int, bytes]]:
    """(number, content) of each field that holds bytes, or of those with these numbers."""
    for number, at, size in list(_spans(file, start, end)):
        if number in wanted:
            file.seek(at)
            yield number, file.read(size)


def _spans(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(number, where it starts, length) of each field that holds bytes; what is between is skipped, not read."""
    at = start
    while at < end:
        file.seek(at)
        key = _varint(file)
        number, wire = key >> 3, key & 7
        if wire == _BYTES:
            size = _varint(file)
            at = file.tell() + size
            if at > end:
                raise ValueError("it ends too early")
            yield number, at - size, size
        elif wire == _VARINT:
            _varint(file)
            at = file.tell()
        elif wire in {_FIXED64, _FIXED32}:
            at = file.tell() + (8 if wire == _FIXED64 else 4)
        else:
            raise ValueError("it is not in the format")


def _varint(file: BinaryIO) -> int:
    value = shift = 0
    while shift < 70:
        byte = file.read(1)
        if not byte:
            raise ValueError("it ends too early")
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
        shift += 7
    raise ValueError("a number is too long")
