"""Torch weights without torch: the speaker encoder compared with the same network in numpy, and files that contain more than tensors."""

from __future__ import annotations

import io
import pickletools
import struct

import numpy as np
import onnxruntime
import pytest
from edgemem_convert import register_converters
from edgemem_convert.torch_file import MAGIC, read_tensors

from edgemem.errors import EngineError

CONVERTERS = {component.name: component for component in register_converters()}


def make(name, **parameters):
    component = CONVERTERS[name]
    return component.factory(component.settings(**parameters), None)


@pytest.fixture(scope="module")
def weights(originals):
    return originals("resemblyzer")["weights"]


def lstm(tensors, mel):
    """The network as its authors wrote it: three LSTM layers, the last state through a linear layer and ReLU, unit length."""

    def squash(x):
        return 1 / (1 + np.exp(-x))

    value = mel
    for layer in range(3):
        inward, back, b1, b2 = (tensors[f"model_state/lstm.{kind}_l{layer}"] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        hidden = cell = np.zeros((len(mel), back.shape[1]))
        states = []
        for t in range(value.shape[1]):
            enter, forget, new, leave = np.split(value[:, t] @ inward.T + hidden @ back.T + b1 + b2, 4, axis=1)
            cell = squash(forget) * cell + squash(enter) * np.tanh(new)
            hidden = squash(leave) * np.tanh(cell)
            states.append(hidden)
        value = np.stack(states, axis=1)
    raw = np.maximum(0, value[:, -1] @ tensors["model_state/linear.weight"].T + tensors["model_state/linear.bias"])
    return raw / np.linalg.norm(raw, axis=1, keepdims=True)


def test_the_speaker_encoder_gives_what_the_original_gives(weights, tmp_path):
    out = tmp_path / "a.onnx"
    make("lstm", prefix="model_state/").convert({"weights": weights}, out)
    again = tmp_path / "b.onnx"
    make("lstm", prefix="model_state/").convert({"weights": weights}, again)
    assert out.read_bytes() == again.read_bytes()
    mel = np.random.default_rng(0).exponential(0.1, (2, 160, 40)).astype(np.float32)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    (found,) = onnxruntime.InferenceSession(str(out), options, providers=["CPUExecutionProvider"]).run(None, {"mel": mel})
    assert np.abs(found - lstm(read_tensors(weights), mel)).max() < 1e-4


def torch_file(tmp_path, program, keys=b"](U\x010e.", storages=b""):
    """A file of the old format around a pickle program for its object."""
    magic = b"\x80\x02\x8a\x0a" + MAGIC.to_bytes(10, "little") + b"."
    path = tmp_path / "a.pt"
    path.write_bytes(magic + b"\x80\x02M\xe9\x03." + b"\x80\x02}." + b"\x80\x02" + program + b"\x80\x02" + keys + storages)
    return path


def tensor(shape, strides, offset=0, count=4):
    """The pickle of {"w": tensor} over storage 0."""

    def number(n):
        return b"J" + struct.pack("<i", n)

    def row(values):
        return b"(" + b"".join(map(number, values)) + b"t"

    def name(text):
        return b"X" + struct.pack("<I", len(text)) + text.encode()

    storage = b"(" + name("storage") + b"ctorch\nFloatStorage\n" + name("0") + name("cpu") + number(count) + b"NtQ"
    arguments = b"(" + storage + number(offset) + row(shape) + row(strides) + b"\x89ccollections\nOrderedDict\n)Rt"
    return b"}" + name("w") + b"ctorch._utils\n_rebuild_tensor_v2\n" + arguments + b"Rs."


KEYS = b"]X\x01\x00\x00\x000a."


def test_a_tensor_is_read_with_its_strides(tmp_path):
    storage = struct.pack("<q4f", 4, 1, 2, 3, 4)
    pickletools.dis(io.BytesIO(b"\x80\x02" + tensor((2, 2), (1, 2))), out=io.StringIO())
    path = torch_file(tmp_path, tensor((2, 2), (1, 2)), KEYS, storage)
    assert read_tensors(path)["w"].tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    "program",
    [
        b"cos\nsystem\n(X\x04\x00\x00\x00echotR.",  # a call
        b"c__builtin__\neval\n.",  # a name, of no use
        b"\x8c\x02os\x8c\x06system\x93.",  # the name of a newer protocol
        tensor((2, 2), (1, 2), offset=2),
        tensor((200, 200), (1, 200)),
        tensor((2, 2), (-1, 2)),
        b"",
        b"0.",
    ],
)
def test_what_is_no_plain_tensor_is_refused_and_never_run(tmp_path, program):
    path = torch_file(tmp_path, program, KEYS, struct.pack("<q4f", 4, 1, 2, 3, 4))
    try:
        found = read_tensors(path)
    except EngineError as error:
        assert "\n" not in str(error)  # noqa: PT017 - a name alone is harmless and gives nothing
    else:
        assert found == {}


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(b"PK\x03\x04 a newer torch file is a zip archive")
    with pytest.raises(EngineError, match=r"a\.pt"):
        read_tensors(path)


def test_parts_are_joined_in_order(tmp_path):
    parts = {}
    for number in range(1, 12):
        parts[f"part{number}"] = tmp_path / f"{number}"
        parts[f"part{number}"].write_bytes(bytes([number]) * number)
    make("join").convert({"config": tmp_path / "none", **parts}, tmp_path / "whole")
    assert (tmp_path / "whole").read_bytes() == b"".join(bytes([n]) * n for n in range(1, 12))
    with pytest.raises(EngineError, match="part1"):
        make("join").convert({"config": tmp_path / "none"}, tmp_path / "whole")
