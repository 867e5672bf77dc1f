"""CTranslate2 models in float16, rewritten with int8 weights.

CTranslate2 makes the same numbers each time it loads a float16 file with `compute_type = "int8"`, and holds both while it does: for Whisper
base 162 MB more than the model needs afterwards. A file that is int8 already is half as large and loads without that.

Layout of the file (CTranslate2 4.8, python/ctranslate2/specs/model_spec.py, `ModelSpec.save`), all little-endian: uint32 version, name,
uint32 revision, uint32 number of variables; each is a name, uint8 rank, uint32 for each dimension, uint8 type, uint32 bytes, data; then
uint32 number of aliases and two names for each. A name is uint16 length, text, NUL; the length counts the NUL.
"""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from edgemem.errors import EngineError
from edgemem_convert.join import JoinConverter

_VERSION = 6
_FLOAT32, _INT8, _FLOAT16 = 0, 1, 4
"""Numbers of the types."""
_MOST_RANK, _MOST_VARIABLES, _MOST_NAME = 8, 100_000, 4096
"""More is no model: a damaged file must end in an error, not in a long loop."""
_LEVELS = 127.0


class _Variable(NamedTuple):
    """One tensor, as it stands in the file."""

    name: bytes
    shape: tuple[int, ...]
    kind: int
    data: bytes


class CTranslateInt8Converter:
    """Joins `part1`, `part2` ... and gives every matrix of weights in float16 int8 numbers with a scale for each row."""

    def convert(self, members: dict[str, Path], out: Path) -> None:
        """Write the int8 file. Raises EngineError for a file of another format."""
        with tempfile.TemporaryDirectory(dir=out.parent) as folder:
            whole = Path(folder) / "whole"
            JoinConverter().convert(members, whole)
            with whole.open("rb") as file, out.open("wb") as made:
                try:
                    _rewrite(file, made)
                except (struct.error, ValueError) as error:
                    raise EngineError(f"this is no CTranslate2 model of version {_VERSION}: {error}") from None


def _rewrite(file: BinaryIO, made: BinaryIO) -> None:
    if (version := _number(file)) != _VERSION:
        raise ValueError(f"its version is {version}")
    made.write(struct.pack("<I", version))
    _write_name(made, _name(file))
    made.write(struct.pack("<I", _number(file)))
    before = _number(file)
    if before > _MOST_VARIABLES:
        raise ValueError(f"it has {before} variables")
    place, written = made.tell(), 0
    made.write(struct.pack("<I", 0))
    for _ in range(before):
        for variable in _lighter(_read(file)):
            _write(made, variable)
            written += 1
    rest = file.read()
    if len(rest) < struct.calcsize("<I"):
        raise ValueError("it ends too early")
    made.write(rest)
    made.seek(place)
    made.write(struct.pack("<I", written))


def _lighter(variable: _Variable) -> tuple[_Variable, ...]:
    """int8 and its scales for a matrix of weights; anything else as it is. CTranslate2 computes convolutions in float as well."""
    if variable.kind != _FLOAT16 or len(variable.shape) != 2 or not variable.name.endswith(b"weight"):
        return (variable,)
    rows, scales = quantised(np.frombuffer(variable.data, np.dtype("<f2")).reshape(variable.shape))
    return (
        _Variable(variable.name, variable.shape, _INT8, rows.tobytes()),
        _Variable(variable.name + b"_scale", scales.shape, _FLOAT32, scales.astype("<f4").tobytes()),
    )


def quantised(matrix: npt.NDArray[np.float16]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """(int8 [rows, columns], float32 [rows]) with `matrix` = int8 / scale: each row's largest value becomes 127 (symmetric, as
    `model_spec.py` of CTranslate2 does it); a row of zeros has scale 1.
    """
    values = matrix.astype(np.float32)
    largest = np.abs(values).max(axis=1)
    largest[largest == 0] = _LEVELS
    scales = np.float32(_LEVELS) / largest
    return np.rint(values * scales[:, None]).astype(np.int8), scales


def _read(file: BinaryIO) -> _Variable:
    name = _name(file)
    (rank,) = struct.unpack("<B", file.read(1))
    if rank > _MOST_RANK:
        raise ValueError(f"a variable has {rank} dimensions")
    shape = struct.unpack(f"<{rank}I", file.read(4 * rank))
    kind, size = struct.unpack("<BI", file.read(5))
    data = file.read(size)
    if len(data) != size:
        raise ValueError("it ends too early")
    return _Variable(name, shape, kind, data)


def _write(made: BinaryIO, variable: _Variable) -> None:
    _write_name(made, variable.name)
    made.write(struct.pack(f"<B{len(variable.shape)}I", len(variable.shape), *variable.shape))
    made.write(struct.pack("<BI", variable.kind, len(variable.data)))
    made.write(variable.data)


def _number(file: BinaryIO) -> int:
    (number,) = struct.unpack("<I", file.read(4))
    return int(number)


def _name(file: BinaryIO) -> bytes:
    (length,) = struct.unpack("<H", file.read(2))
    name = file.read(length)
    if not 1 <= length <= _MOST_NAME or len(name) != length or name[-1:] != b"\0":
        raise ValueError("a name is damaged")
    return name[:-1]


def _write_name(made: BinaryIO, name: bytes) -> None:
    made.write(struct.pack("<H", len(name) + 1) + name + b"\0")
