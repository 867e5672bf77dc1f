"""CTranslate2 models with int8 weights: the numbers, the file, and what is no such file."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from edgemem_convert.ctranslate import CTranslateInt8Converter, quantised

from edgemem.errors import EngineError

WEIGHT = np.array([[1.0, -2.0, 0.5], [0.0, 0.0, 0.0]], np.float16)
BIAS = np.array([0.25, 4.0], np.float16)
CONVOLUTION = np.ones((2, 1, 2), np.float16)


def name(text: str) -> bytes:
    return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"


def variable(text: str, kind: int, array: np.ndarray) -> bytes:
    shape = struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)
    return name(text) + shape + struct.pack("<BI", kind, array.nbytes) + array.tobytes()


ALIAS = struct.pack("<I", 1) + name("decoder/projection") + name("decoder/embeddings/weight")
MODEL = (
    struct.pack("<I", 6) + name("WhisperSpec") + struct.pack("<II", 3, 4) + variable("a/weight", 4, WEIGHT) + variable("a/bias", 4, BIAS)
    + variable("conv/weight", 4, CONVOLUTION) + variable("b/weight", 0, WEIGHT.astype("<f4")) + ALIAS
)  # fmt: skip


def converted(tmp_path: Path, content: bytes) -> bytes:
    (tmp_path / "part").write_bytes(content)
    CTranslateInt8Converter().convert({"part1": tmp_path / "part"}, tmp_path / "model.bin")
    return (tmp_path / "model.bin").read_bytes()


def test_the_largest_value_of_a_row_becomes_127():
    rows, scales = quantised(WEIGHT)
    assert rows.tolist() == [[64, -127, 32], [0, 0, 0]]  # 63.5 and 31.75, rounded to even
    assert rows.dtype == np.int8
    assert scales.tolist() == [63.5, 1.0]


def test_matrices_of_weights_in_float16_change_and_nothing_else(tmp_path: Path):
    rows, scales = np.array([[64, -127, 32], [0, 0, 0]], np.int8), np.array([63.5, 1.0], "<f4")
    assert converted(tmp_path, MODEL) == (
        struct.pack("<I", 6) + name("WhisperSpec") + struct.pack("<II", 3, 5) + variable("a/weight", 1, rows)
        + variable("a/weight_scale", 0, scales) + variable("a/bias", 4, BIAS) + variable("conv/weight", 4, CONVOLUTION)
        + variable("b/weight", 0, WEIGHT.astype("<f4")) + ALIAS
    )  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.bin", "part"]


@pytest.mark.parametrize("length", range(0, len(MODEL) - len(ALIAS) + 4, 3))
def test_a_file_that_ends_too_early_is_refused(tmp_path: Path, length: int):
    with pytest.raises(EngineError, match="no CTranslate2 model"):
        converted(tmp_path, MODEL[:length])


@pytest.mark.parametrize(
    "content",
    [
        struct.pack("<I", 5) + MODEL[4:],
        struct.pack("<I", 6) + name("W") + struct.pack("<II", 3, 100_001),
        struct.pack("<I", 6) + name("W") + struct.pack("<II", 3, 1) + name("a") + b"\x09" + bytes(100),
        struct.pack("<I", 6) + struct.pack("<H", 2) + b"ab" + bytes(100),
        struct.pack("<I", 6) + struct.pack("<H", 4098) + b"a" * 4097 + b"\0" + bytes(100),
    ],
    ids=["version", "variables", "rank", "name", "length"],
)
def test_a_file_of_another_format_is_refused(tmp_path: Path, content: bytes):
    with pytest.raises(EngineError, match="no CTranslate2 model"):
        converted(tmp_path, content)


def test_the_longest_name_and_the_highest_rank_are_taken(tmp_path: Path):
    deep = np.ones((1,) * 8, np.float32)
    content = struct.pack("<I", 6) + name("a" * 4095) + struct.pack("<II", 3, 1) + variable("x", 0, deep) + struct.pack("<I", 0)
    assert converted(tmp_path, content) == content
